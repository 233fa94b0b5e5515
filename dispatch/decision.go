package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrForbidden says that the person may not do that, whatever the record says.
var ErrForbidden = errors.New("not allowed for this person")

// Decision is what a person says became of an attempt: the form of a verdict.
type Decision struct {
	Attempt      AttemptID
	Version      int // of the record that the person saw
	Ruling       Ruling
	Next         Next
	Reason       string // one of ReasonCodes
	EvidenceKind string // one of HumanEvidenceKinds
	EvidenceRef  string
	Note         string
}

// NoEvidence is the kind of evidence that may stand only behind `undetermined`.
const NoEvidence = "none"

// ReasonCodes lists the reasons that a person's verdict may give.
func ReasonCodes() []string {
	return []string{"provider_log", "provider_statement", "recipient_confirmed", "provider_has_no_record", "incident", "other"}
}

// HumanEvidenceKinds lists the kinds of evidence that a person's verdict may rest on.
func HumanEvidenceKinds() []string {
	return []string{"provider_log", "provider_statement", "receipt", "recipient", "ticket", NoEvidence}
}

// Bounds of what a person types, in characters.
const (
	MaxNote        = 500
	MaxEvidenceRef = 200
)

// Fault is what is wrong with one field of a form, in words that say how to mend it. It repeats nothing of what was typed.
type Fault struct{ Field, Text string }

// FormError says that a form is incomplete or holds what must not be kept: the person can mend it.
type FormError struct{ Faults []Fault }

func (e *FormError) Error() string {
	fields := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		fields[i] = f.Field
	}
	return "the form is not complete: " + strings.Join(fields, ", ")
}

// NotNowError says why the record does not allow a decision (any more). It is ErrStale.
type NotNowError struct{ Why string }

func (e *NotNowError) Error() string { return "not allowed now: " + e.Why }

// Unwrap makes it ErrStale.
func (e *NotNowError) Unwrap() error { return ErrStale }

func notNow(why string) error { return &NotNowError{why} }

// Roles that take part in decisions; the staff accounts' roles have the same names.
const (
	RoleSupport    = "support"
	RoleCompliance = "compliance"
)

// Person is a member of staff as the rules see one.
type Person struct {
	ID    StaffID
	Email string
	Role  string
}

// Actor is the person in the log.
func (p Person) Actor() Actor { return Actor{ActorStaff, p.ID.String()} }

// MayDecide reports whether the person's role settles doubts.
func (p Person) MayDecide() bool { return p.Role == RoleSupport || p.Role == RoleCompliance }

// Is reports whether two accounts belong to one person: the same account, or the same mailbox, where letter case and a "+tag" in front of the
// @ make no difference.
func (p Person) Is(o Person) bool {
	return p.ID == o.ID || p.Email != "" && mailbox(p.Email) == mailbox(o.Email)
}

func mailbox(address string) string {
	name, host, _ := strings.Cut(strings.ToLower(strings.TrimSpace(address)), "@")
	name, _, _ = strings.Cut(name, "+")
	return name + "@" + host
}

// DecisionPolicy are the settings of decisions.
type DecisionPolicy struct {
	FourEyes        bool // to send again takes a second person
	SupportApproves bool // support may be that second person
}

// DefaultDecisionPolicy is what holds until somebody changes the settings.
func DefaultDecisionPolicy() DecisionPolicy { return DecisionPolicy{FourEyes: true} }

// MayApprove reports whether the person's role is one of second persons.
func (p DecisionPolicy) MayApprove(by Person) bool {
	return by.Role == RoleCompliance || by.Role == RoleSupport && p.SupportApproves
}

// Circumstances are what a decision needs to know beside the record.
type Circumstances struct {
	Terms    Terms
	Policy   DecisionPolicy
	TextKept bool      // the sealed text is still there
	Open     *Proposal // the one that waits for the same attempt
}

// Faults lists what is wrong with the form by itself; none is nil. The words in known (ids that the record names) may stand in the texts.
func (d Decision) Faults(known ...string) (faults []Fault) {
	add := func(field, text string) { faults = append(faults, Fault{field, text}) }
	if d.Attempt.IsZero() {
		add("attempt", "Say which attempt it is about.")
	}
	if d.Version <= 0 {
		add("version", "The form lacks the version of the page.")
	}
	if !slices.Contains(Rulings(), d.Ruling) {
		add("verdict", "Choose a verdict.")
	}
	switch {
	case d.Next != NextClose && d.Next != NextSendAgain:
		add("next", "Choose what happens next.")
	case d.Next == NextSendAgain && d.Ruling != RulingNotSent:
		add("next", "Only what was not sent can be sent again.")
	}
	if !slices.Contains(ReasonCodes(), d.Reason) {
		add("reason", "Choose a reason.")
	}
	switch {
	case !slices.Contains(HumanEvidenceKinds(), d.EvidenceKind):
		add("evidence_kind", "Choose a kind of evidence.")
	case d.EvidenceKind == NoEvidence && d.Ruling != RulingUndetermined:
		add("evidence_kind", "This verdict needs evidence. Without any, only “cannot be determined” is possible.")
	case d.EvidenceKind != NoEvidence && strings.TrimSpace(d.EvidenceRef) == "":
		add("evidence_ref", "Name the evidence: a log line, a ticket, a message id.")
	}
	if why := TextFault(d.EvidenceRef, MaxEvidenceRef, known...); why != "" {
		add("evidence_ref", why)
	}
	return append(faults, noteFaults(d.Note, known...)...)
}

// noteFaults checks a mandatory note.
func noteFaults(note string, known ...string) []Fault {
	if strings.TrimSpace(note) == "" {
		return []Fault{{"note", "Write a note: what you looked at and what you saw."}}
	}
	if why := TextFault(note, MaxNote, known...); why != "" {
		return []Fault{{"note", why}}
	}
	return nil
}

func formError(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &FormError{faults}
}

// KnownWords are the ids of a record that may stand in notes although they look like tokens.
func (r Record) KnownWords() []string {
	words := []string{r.ID.String(), r.Recipient.String(), r.EventID, r.IdempotencyKey}
	for _, a := range r.Attempts {
		words = append(words, a.ID.String(), a.MessageID, a.AnswerID, a.RequestID)
	}
	return words
}

// Ruled is what a decision comes to: a change of the record, a proposal for a second person, or both where none is needed.
type Ruled struct {
	Change   Change
	Proposal *Proposal // new, without an id; state open or single
}

// Decide is the one way by which a person's word becomes a verdict: page, command and bulk decision all pass it, and it knows no exception.
// The errors are ErrForbidden, *FormError (mend the form), ErrNotFound (no such attempt) and ErrStale, as *NotNowError where words can say why.
func (r Record) Decide(d Decision, by Person, c Circumstances) (Ruled, error) {
	if !by.MayDecide() {
		return Ruled{}, fmt.Errorf("decide with the role %s: %w", by.Role, ErrForbidden)
	}
	if err := formError(d.Faults(r.KnownWords()...)); err != nil {
		return Ruled{}, err
	}
	a, ok := r.attemptByID(d.Attempt)
	if !ok {
		return Ruled{}, fmt.Errorf("decide on attempt %s: %w", d.Attempt, ErrNotFound)
	}
	if err := r.mayBeRuled(a, d); err != nil {
		return Ruled{}, err
	}
	v := d.verdict(a, by)
	if d.Next == NextSendAgain {
		if why := r.SendAgainOff(a, c); why != "" {
			return Ruled{}, notNow(why)
		}
		if c.Open != nil && c.Open.Status(r, c.Terms) == ProposalOpen {
			return Ruled{}, notNow("a proposal to send it again waits already")
		}
		p := r.propose(a, d, by, c)
		if c.Policy.FourEyes {
			return Ruled{Proposal: &p}, nil
		}
		p.State, p.EndedAt = ProposalSingle, c.Terms.Now
		change, err := r.Settle(v, c.Terms)
		return Ruled{change, &p}, err
	}
	change, err := r.Settle(v, c.Terms)
	return Ruled{Change: change}, err
}

// mayBeRuled says whether the record is where the person saw it and allows the ruling.
func (r Record) mayBeRuled(a Attempt, d Decision) error {
	switch {
	case d.Version != r.Version:
		return notNow("the record has changed since the page was made")
	case a.Outcome == OutcomePending:
		return notNow("the call is still under way")
	case a.Outcome == d.Ruling.Outcome() || !a.Outcome.CanBecome(d.Ruling.Outcome()):
		return notNow("the attempt is settled")
	}
	return nil
}

func (d Decision) verdict(a Attempt, by Person) Verdict {
	return Verdict{Attempt: a.Number, Ruling: d.Ruling, Grade: GradeHuman, Next: d.Next, ReasonCode: d.Reason, EvidenceKind: d.EvidenceKind,
		EvidenceRef: d.EvidenceRef, Note: d.Note, By: by.Actor()}
}

func (r Record) attemptByID(id AttemptID) (Attempt, bool) {
	for _, a := range r.Attempts {
		if a.ID == id {
			return a, true
		}
	}
	return Attempt{}, false
}

// SendAgainOff says why an attempt cannot be decided as “not sent, send it again” now; "" when it can.
func (r Record) SendAgainOff(a Attempt, c Circumstances) string {
	switch {
	case a.Outcome != OutcomeUnknown || r.State != StateUnknown:
		return "it is not open any more"
	case !r.WithdrawnAt.IsZero():
		return "it was withdrawn"
	case r.Life(c.Terms.Now) < max(c.Terms.MinRemaining, 1):
		return "too little of its lifetime is left"
	case r.Doubts() >= c.Terms.MaxAttempts:
		return "no further call is allowed for it"
	case !c.TextKept:
		return "its text is no longer there"
	}
	return ""
}

// trimmed is a text without surrounding blanks and with one kind of line end.
func trimmed(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }

// Trimmed is the form as it is kept.
func (d Decision) Trimmed() Decision {
	d.EvidenceRef, d.Note = trimmed(d.EvidenceRef), trimmed(d.Note)
	return d
}

func length(s string) int { return utf8.RuneCountInString(s) }
