package views

import (
	"time"

	"sentonce/dispatch"
)

// Notification is the page of one notification: /notifications/{id}.
type Notification struct {
	ID      string
	Version int
	Head    Head
	Facts   []Fact // the overview strip
	Entries []Entry
	Newest  bool   // the timeline is shown newest first
	Order   string // the address of the other order
	Only    []Tab  // everything; calls and decisions only
	Live    Live
	Never   []Shown // what is shown and what never is

	Recipient Masked
	Revealed  string        // the number, once, for the person who asked
	HideAfter time.Duration // then it hides again
	MayReveal bool

	Incidents []Incident
	Claim     *Claim
	Proposal  *Proposal
	Verdict   *VerdictForm
	Evidence  []EvidenceLine // beside the form: what is known so far
	Ask       *AskNow

	MayWithdraw bool
	Related     []Link
	Newer       string // the neighbours within the filter that the reader came from
	Older       string
	Back        Link
}

// Head says what is known, in one sentence, and what happens next and when.
type Head struct {
	State    dispatch.State
	Sentence string
	Next     []Upcoming
}

// Upcoming is something that will happen: "The provider is asked again" at a time.
type Upcoming struct {
	What string
	At   time.Time
}

// Shown is one line on what of the message can be seen here.
type Shown struct {
	Yes  bool
	Text string
}

// Entry is one event of the timeline, in the order of the log.
type Entry struct {
	Seq   int64
	At    time.Time
	Since string // since the entry before, from Elapsed
	Glyph Glyph
	Tone  Tone
	Word  string // what happened, e.g. "Accepted"
	By    string // who did it, e.g. "shop backend, API key “live 2”"
	Text  string
	Facts []Fact
	Call  *Attempt
}

// Attempt is one call to a provider.
type Attempt struct {
	ID         string
	Number     int
	Trigger    string // why it was made, e.g. "first send"
	Provider   string
	Outcome    dispatch.Outcome
	Rule       dispatch.Rule
	Phase      dispatch.Phase
	StartedAt  time.Time
	FinishedAt time.Time
	Timeout    time.Duration // it ended then at the latest
	Validity   time.Duration // what the provider was told that the message is worth
	Answer     Answer
	MessageID  string
	RequestID  string
	Verdict    string // "Sent – the provider shows the message", "" when there is none
	NextLookup time.Time
	Lookups    int
}

// Answer is a provider's answer in three levels.
type Answer struct {
	Status string // e.g. "HTTP 400, in the provider's own form"; "" when none came
	Reason string // in our words
	Code   string // the provider's code
	Who    string // who said it
}

// PhaseMark is one step of a call on the wire.
type PhaseMark struct {
	Word string
	Done bool
	Last bool // the call got so far and no further
}

// PhaseMarks are the steps of a call that got as far as p. Where nobody saw how far it got, no step is marked.
func PhaseMarks(p dispatch.Phase) []PhaseMark {
	words := []string{"Connecting", "Connected", "Writing", "Written", "Answer begun", "Answer complete"}
	reached := -1
	for i, each := range dispatch.Phases() {
		if each == p {
			reached = i - 1 // PhaseNone has no mark
		}
	}
	marks := make([]PhaseMark, len(words))
	for i, w := range words {
		marks[i] = PhaseMark{Word: w, Done: i <= reached, Last: i == reached}
	}
	return marks
}

// Incident is a contradiction that a person has to look at.
type Incident struct {
	ID       string
	Kind     dispatch.IncidentKind
	OpenedAt time.Time
	ClosedAt time.Time
	ClosedBy string
	Why      string
	MayClose bool
}

// Claim says who is working on an item.
type Claim struct {
	By       string // "" when nobody is
	Mine     bool
	Until    time.Time
	MayClaim bool
}

// AskNow is the button that asks the provider once more.
type AskNow struct {
	Provider string
	Why      string // why it cannot be asked now; "" when it can
}

// EvidenceLine is one thing that is known about an open attempt.
type EvidenceLine struct {
	Glyph Glyph
	Text  string
	At    time.Time
}

// VerdictForm is the form in which a person records what became of an attempt. Fields: attempt, verdict, next, reason, evidence_kind,
// evidence_ref, note, version.
type VerdictForm struct {
	Notification, Attempt string
	Number                int
	Version               int
	Late                  bool      // its life is over: what became of it can be recorded, and nothing is sent
	SendAgainUntil        time.Time // the life ends then
	SendAgainOff          string    // why it cannot be sent again; "" when it can
	SecondPerson          bool      // sending again needs another person
	Person                string    // who signs
	Verdict, Next         string
	Reason                string
	EvidenceKind          string
	EvidenceRef           string
	Note                  string
	Errors                FieldErrors
}

// rulings are the choices of a verdict, none chosen beforehand.
func (f VerdictForm) rulings() []Choice {
	return []Choice{
		{Value: "sent", Label: "Sent", Hint: "The provider has the message: you saw it in its log, or the customer has the code. It is not sent again."},
		{Value: "not_sent", Label: "Not sent", Hint: "The provider shows that it never had it, for the whole time in question."},
		{Value: "undetermined", Label: "Cannot be determined", Hint: "It is closed, and nothing is sent again."},
	}
}

func (f VerdictForm) nexts() []Choice {
	again := Choice{Value: "send_again", Label: "Send it again", Off: f.SendAgainOff,
		Hint: "One more call is allowed, with the same text."}
	if f.SecondPerson {
		again.Hint = "A second person has to approve; then one more call is made, with the same text."
	}
	return []Choice{{Value: "close", Label: "Close it", Hint: "Nothing more is sent; the storefront is told to ask the customer again."}, again}
}

func (f VerdictForm) next() string {
	if f.Next == "" {
		return "close"
	}
	return f.Next
}

// Proposal is a decision to send again that waits for a second person. Its form has the fields note and version.
type Proposal struct {
	ID, Notification string
	Version          int
	By               string
	At, LapsesAt     time.Time
	Reason, Evidence string // codes of ReasonCodes and EvidenceKinds
	EvidenceRef      string
	Note             string
	MayDecide        bool
	WhyNot           string // why this person may not decide
	Errors           FieldErrors
	OwnNote          string // what the person has typed
}

// Reveal is the page that asks why a number is to be shown: GET /notifications/{id}/reveal.
type Reveal struct {
	ID        string
	Recipient Masked
	Reason    string
	Note      string
	HideAfter time.Duration
	Errors    FieldErrors
}

// RevealReasons are the reasons for showing a number.
func RevealReasons() []Choice {
	return []Choice{
		{Value: "customer_on_the_line", Label: "The customer is on the line"},
		{Value: "provider_asks", Label: "The provider's support asks for it"},
		{Value: "legal_request", Label: "A legal request"},
		{Value: "other", Label: "Another reason, in the note"},
	}
}
