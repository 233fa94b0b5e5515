package dispatch

import "time"

// Ruling is what a verdict says became of an attempt.
type Ruling string

const (
	RulingSent         Ruling = "sent"
	RulingNotSent      Ruling = "not_sent"
	RulingUndetermined Ruling = "undetermined"
)

// Rulings lists every ruling.
func Rulings() []Ruling { return []Ruling{RulingSent, RulingNotSent, RulingUndetermined} }

// Outcome is the attempt's outcome under the ruling.
func (r Ruling) Outcome() Outcome {
	switch r {
	case RulingSent:
		return OutcomeAccepted
	case RulingNotSent:
		return OutcomeNotSent
	}
	return OutcomeUndetermined
}

// Grade says what a verdict rests on.
type Grade string

const (
	GradeWire              Grade = "wire"               // the exchange itself proves it (R2, R4, R5, R11)
	GradeProviderConfirmed Grade = "provider_confirmed" // the provider shows the message
	GradeProviderDenied    Grade = "provider_denied"    // the provider's silence is proof, by its declared capability
	GradeReceipt           Grade = "receipt"            // a delivery report
	GradeHuman             Grade = "human"              // a named person decided
	GradeExpiry            Grade = "expiry"             // the event's life ended the doubt
)

// Grades lists every grade.
func Grades() []Grade {
	return []Grade{GradeWire, GradeProviderConfirmed, GradeProviderDenied, GradeReceipt, GradeHuman, GradeExpiry}
}

// Next is what follows a verdict not_sent.
type Next string

const (
	NextClose     Next = "close"
	NextSendAgain Next = "send_again"
)

// Verdict is the recorded decision what became of an attempt.
type Verdict struct {
	ID           VerdictID
	Attempt      int
	Ruling       Ruling
	Grade        Grade
	Next         Next
	ReasonCode   string // a person's: provider_log, provider_statement, recipient_confirmed, provider_has_no_record, incident, other
	EvidenceKind string // a person's: provider_log, provider_statement, receipt, recipient, ticket, none
	EvidenceRef  string
	Note         string
	By           Actor
	ApprovedBy   Actor
	At           time.Time
	MessageID    string // the provider's id, where the evidence has one; it is bound to the attempt
}

// Lookup is one question to the provider about an attempt, as recorded.
type Lookup struct {
	ID         LookupID
	Attempt    int
	Provider   string
	AskedAt    time.Time
	By         Actor
	Result     LookupResult
	Candidates int
	Pages      int
	Complete   bool
	LaterSeen  bool
	HTTPStatus int
	SHA256     [32]byte
	MessageID  string // of the match
}

// LookupResult is what a lookup showed.
type LookupResult string

const (
	LookupMatch     LookupResult = "match"     // exactly this attempt's message
	LookupSeveral   LookupResult = "several"   // more than one candidate
	LookupAmbiguous LookupResult = "ambiguous" // a candidate that another unresolved notification could own
	LookupEmpty     LookupResult = "empty"     // no candidate
	LookupAbsent    LookupResult = "absent"    // no candidate, and the adapter's conditions for proof are met
	LookupFailed    LookupResult = "failed"    // the question could not be answered: says nothing
)

// LookupResults lists every result.
func LookupResults() []LookupResult {
	return []LookupResult{LookupMatch, LookupSeveral, LookupAmbiguous, LookupEmpty, LookupAbsent, LookupFailed}
}

// Receipt is one delivery report, as recorded.
type Receipt struct {
	ID         ReceiptID
	Attempt    int // 0: unmatched
	Provider   string
	ReceivedAt time.Time
	Report
	Repeat bool // the same report had come before
}
