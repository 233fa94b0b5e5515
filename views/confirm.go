package views

// Confirm is the page before something that cannot be taken back, or that needs a reason: it names the object and the effect, and its button
// carries the verb.
type Confirm struct {
	Title   string
	Object  string // what it is done to
	Effects []string
	Action  string // the address of the form
	Hidden  []Hide
	Selects []Choosing
	Inputs  []Input
	Button  string
	Danger  bool
	Back    string
	Errors  FieldErrors
}

// Hide is a value that goes with a form unseen.
type Hide struct{ Name, Value string }

// Choosing is a field with its closed list.
type Choosing struct {
	Input
	Choices []Choice
}

func toneWords(t Tone) string {
	switch t {
	case ToneGood:
		return "Good:"
	case ToneWarn:
		return "Look at this:"
	case ToneBad:
		return "Wrong:"
	}
	return ""
}

func primary(danger bool) string {
	if danger {
		return "primary danger"
	}
	return "primary"
}
