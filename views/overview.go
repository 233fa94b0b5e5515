package views

// Overview is the first page: is anything wrong, and what needs a person?
type Overview struct {
	Headline string // "Nothing needs you." or what does
	Tone     Tone   // of the headline
	Ranges   []Tab  // the span of the charts
	Tiles    []Tile // what needs a person, first
	Live     Live   // of the tiles
	Flow     Chart  // what became of what was accepted
	Doubts   Chart  // doubts opened, settled and open, as lines
	Age      Chart  // of the oldest doubt, as a line
	Latency  Chart  // of the providers' answers
	Wait     Chart  // from the acceptance to the first call
	Settled  []Measure
	Finding  string // of Settled
}

// Tile is one number with its meaning and the list behind it.
type Tile struct {
	Label, Value, Note, Path string
	Tone                     Tone
}
