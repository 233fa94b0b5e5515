package dispatch

import "time"

// DefaultPurpose is the purpose of an event that names none.
const DefaultPurpose = "password_reset"

// Admission is a client's command to send one message, after parsing and normalisation. Times have millisecond precision.
type Admission struct {
	Client         ClientID
	EventID        string
	IdempotencyKey string
	Purpose        string
	Subject        Secret // the storefront's account reference; zero: none
	Recipient      Secret // E.164 with the plus sign
	Country        string // ISO 3166-1 alpha-2 of the number, "" when it has none
	Text           Secret
	ExpiresAt      time.Time
	OccurredAt     time.Time // when it happened at the storefront; zero: not said
	By             Actor
	RequestID      string
}

// Notification is the one logical message for an event. It holds neither the text nor the number: those are sealed beside it.
type Notification struct {
	ID             NotificationID
	Client         ClientID
	EventID        string // the client's, 1–128 visible ASCII characters
	IdempotencyKey string // the client's, the same form
	Purpose        string
	Subject        SubjectRef   // zero: none
	Recipient      RecipientRef // pseudonym of the number
	Country        string
	Hint           string   // the number's last two digits
	TextMAC        [32]byte // keyed MAC of the exact text: content comparison and lookups
	Encoding       Encoding // that the text needs
	Segments       int      // messages that carry the text
	AcceptedAt     time.Time
	ExpiresAt      time.Time // nothing is sent at or after this instant
	OccurredAt     time.Time // zero: not said

	State     State
	Reason    Reason    // "" until it stops
	Version   int       // from 1; moves on state, outcome, withdrawal, positive or contradicting evidence
	Final     bool      // nothing more is expected
	DueAt     time.Time // the next try, while accepted
	StoppedAt time.Time // zero until it stops; from then on no permit can exist
	StoppedBy Actor

	WithdrawnAt     time.Time // zero: not withdrawn
	WithdrawnReason Reason    // the reason it will carry if it stops unsent
	Replays         int       // how often the client repeated the admission
	LastSeq         int64     // the last event that moved it
}

// Life is what remains until the expiry; negative afterwards.
func (n Notification) Life(now time.Time) time.Duration { return n.ExpiresAt.Sub(now) }

// Advice tells the storefront what to do next.
type Advice string

const (
	AdviceWait       Advice = "wait"        // it may still be sent, or the doubt may still be settled
	AdviceRequestNew Advice = "request_new" // it stopped without a send, or it will never be known
	AdviceNone       Advice = "none"        // it was sent
)

// Advice follows from the state alone.
func (n Notification) Advice() Advice {
	switch n.State {
	case StateAccepted, StateDispatching, StateUnknown:
		return AdviceWait
	case StateSent, StateDelivered:
		return AdviceNone
	}
	return AdviceRequestNew
}

// Permit is the right to call a provider once. Number 1 is granted at admission, number n+1 only with a verdict not_sent on attempt n.
type Permit struct {
	Number    int
	GrantedAt time.Time
	SpentAt   time.Time // zero: not spent
	VoidAt    time.Time // zero: not void; a stop voids what is unspent
}

// Open reports whether the permit may still be spent.
func (p Permit) Open() bool { return p.SpentAt.IsZero() && p.VoidAt.IsZero() }

// Attempt is one call to one provider, made by spending one permit. Its row is on disk before the first byte leaves.
type Attempt struct {
	ID         AttemptID
	Number     int // the permit's number
	Provider   string
	Outcome    Outcome
	StartedAt  time.Time
	DeadlineAt time.Time     // the call ends here at the latest
	Validity   time.Duration // what the provider was told

	// The result, set once by Finish or Recover.
	FinishedAt time.Time // zero while pending
	Phase      Phase     // "" while pending and after a crash (R8): nobody saw how far it got
	Rule       Rule
	HTTPStatus int    // 0: none
	Code       string // the provider's
	AnswerID   string // the provider's id of the message as its answer named it
	RequestID  string
	AnswerSHA  [32]byte

	MessageID string // the provider's id that the attempt is bound to: from its answer, a lookup or a receipt, the first one

	UnknownSince time.Time     // when the doubt began; zero: never in doubt
	LookupAt     time.Time     // the next question to the provider; zero: none
	Lookups      int           // questions asked
	Receipt      ReceiptStatus // the highest-ranking report, "" when none
	ReceiptCode  string
}

// Ref names the attempt towards its provider.
func (a Attempt) Ref(n NotificationID) Reference { return Reference{n, a.ID, a.Number} }

// IncidentKind says what was contradicted.
type IncidentKind string

const (
	IncidentSecondSend    IncidentKind = "second_send"            // a second call was made and the first turns out sent
	IncidentTwoIDs        IncidentKind = "two_provider_ids"       // two provider ids claim one attempt
	IncidentContradiction IncidentKind = "evidence_contradiction" // evidence contradicts a verdict or an answer
	IncidentAmbiguous     IncidentKind = "several_candidates"     // a lookup found several messages for one attempt
)

// IncidentKinds lists every kind.
func IncidentKinds() []IncidentKind {
	return []IncidentKind{IncidentSecondSend, IncidentTwoIDs, IncidentContradiction, IncidentAmbiguous}
}

// Incident is a contradiction that a person has to look at.
type Incident struct {
	ID       IncidentID
	Kind     IncidentKind
	Attempt  int // the attempt whose evidence opened it
	OpenedAt time.Time
	ClosedAt time.Time // zero while open
	ClosedBy Actor
	Why      string
}

// Record is all that the rules look at: a notification with its permits, attempts and incidents, as stored.
type Record struct {
	Notification
	Permits   []Permit   // by number
	Attempts  []Attempt  // by number
	Incidents []Incident // by opening
}

// Attempt returns attempt number n. The error is ErrNotFound.
func (r Record) Attempt(n int) (Attempt, error) {
	if n < 1 || n > len(r.Attempts) {
		return Attempt{}, ErrNotFound
	}
	return r.Attempts[n-1], nil
}

// OpenAttempt returns the attempt that is pending or unknown, if there is one; there is never more than one (I3).
func (r Record) OpenAttempt() (Attempt, bool) {
	for _, a := range r.Attempts {
		if a.Outcome.Open() {
			return a, true
		}
	}
	return Attempt{}, false
}

// Doubts counts the attempts that were ever in doubt: max_attempts limits these, not the proven unsent ones.
func (r Record) Doubts() int {
	n := 0
	for _, a := range r.Attempts {
		if !a.UnknownSince.IsZero() {
			n++
		}
	}
	return n
}

// RefusedBy lists the providers that refused this message for themselves (rules R1 and R4 with outcome not_sent); routing avoids them.
func (r Record) RefusedBy() []string {
	var names []string
	for _, a := range r.Attempts {
		if a.Outcome == OutcomeNotSent && (a.Rule == R1 || a.Rule == R4) {
			names = append(names, a.Provider)
		}
	}
	return names
}
