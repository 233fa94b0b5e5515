package dispatch

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Message is what a provider is asked to send: one attempt's worth.
type Message struct {
	Reference Reference // ours; goes into every field that the provider echoes
	Recipient Secret    // E.164, with the plus sign
	Text      Secret
	// ReceiptURL is the address for delivery reports with the signed reference in its query; empty when the service has no public address.
	ReceiptURL string
	// Validity is how long the provider may keep trying; the adapter rounds it down to its unit.
	Validity time.Duration
	// BeforeFirstByte is asked once, when the connection is there and before the first byte of the request is written. An error stops the
	// attempt: Send returns PhaseConnected and an error that wraps it (rule R2).
	BeforeFirstByte func(context.Context) error
}

// Exchange is what was seen of one attempt: all that Classify needs and all that is kept of an answer. It holds no text and no number.
type Exchange struct {
	Phase  Phase
	Err    error  // why there is no complete answer; nil when there is one
	Answer Answer // zero when there is none
}

// Answer is a provider's answer, reduced to what may be kept.
type Answer struct {
	Meaning    Meaning
	HTTPStatus int           // 0 when not HTTP or none came
	Code       string        // the provider's own code, e.g. "21211"; [A-Za-z0-9._-]{0,64}
	MessageID  string        // the provider's id of the message; [A-Za-z0-9._-]{0,128}
	RequestID  string        // the provider's id of the exchange, for its support; same alphabet
	RetryAfter time.Duration // 0 when the provider did not say; capped by the reader
	SHA256     [32]byte      // of the answer's body as received
}

// Meaning is how an adapter reads a complete answer. Only an answer in the provider's own documented shape has a meaning other than
// MeaningForeign.
type Meaning string

const (
	MeaningNone            Meaning = ""                 // there was no complete answer
	MeaningForeign         Meaning = "foreign"          // not the provider's own shape, or not documented as conclusive
	MeaningTaken           Meaning = "taken"            // the message was taken; MessageID is set
	MeaningSeenBefore      Meaning = "seen_before"      // this reference was taken earlier
	MeaningRefused         Meaning = "refused"          // this message is not taken, for good, by any provider
	MeaningRefusedHere     Meaning = "refused_here"     // this message is not taken by this provider; another one may
	MeaningTryLater        Meaning = "try_later"        // not taken, temporary: the provider, not only the item, pauses
	MeaningAccountRefusing Meaning = "account_refusing" // the provider refuses us (credential, account, balance, sender), not the message
)

// Provider sends. An implementation makes exactly one exchange per Send: no retry, no redirect, no replay. The context carries the call's
// deadline and nothing else cancels it. Send never panics on any answer and keeps no reference to the message.
type Provider interface {
	Send(ctx context.Context, m Message) Exchange
	Capabilities() Capabilities
}

// Capabilities is what a provider can do and prove; the providers page says it in words.
type Capabilities struct {
	Lookup            LookupKind
	AbsenceProves     bool          // absence can be proof that nothing was sent
	AbsenceLag        time.Duration // after that long, where AbsenceProves
	Receipts          bool          // it sends delivery reports
	ReceiptsEcho      bool          // they carry our reference
	ValidityUnit      time.Duration // the granularity of the validity; 0: it has none
	ValidityMin       time.Duration
	ValidityMax       time.Duration
	DuplicatesRefused bool // a second send with one reference is refused
	Cancel            bool
}

// LookupKind is how a provider can be asked about an attempt.
type LookupKind string

const (
	LookupNone        LookupKind = "none"
	LookupByReference LookupKind = "reference"  // by our own reference
	LookupByRecipient LookupKind = "recipient"  // by recipient and window; the match is ours to make
	LookupByMessageID LookupKind = "message_id" // by the provider's id only
)

// Finder is implemented by providers that can be asked what became of an attempt.
type Finder interface {
	// Find asks once. A network failure or an answer that cannot be read is in Finding.Err, not a conclusion.
	Find(ctx context.Context, q Question) Finding
}

// Question is one lookup.
type Question struct {
	Reference Reference
	Recipient Secret
	StartedAt time.Time // when the attempt began
	Until     time.Time // no message of the attempt can have been made later
	MessageID string    // the provider's id, when it is known
	// SameText reports whether a text is the attempt's: it compares keyed MACs in memory, so that neither text is kept.
	SameText func(text string) bool
}

// Finding is the answer to one lookup. It is evidence and holds no text and no number.
type Finding struct {
	Err        error // the question could not be answered; says nothing about the attempt
	HTTPStatus int
	Candidates []Candidate // messages that match recipient, sender, text and time
	Pages      int         // pages read
	Complete   bool        // every page was read to its end
	LaterSeen  bool        // a later message of ours is visible in the same answer (a watermark)
	SHA256     [32]byte    // over the bodies of the pages, in order
}

// Candidate is a message at the provider that could be the attempt's.
type Candidate struct {
	MessageID string
	CreatedAt time.Time
	Status    ReceiptStatus
	Code      string // the provider's error code, if any
}

// ReceiptReader is implemented by providers that send delivery reports.
type ReceiptReader interface {
	// ReadReceipt authenticates and parses one call-back. The errors are ErrForged and ErrBadReceipt.
	ReadReceipt(c Callback) (Report, error)
}

// Callback is one HTTP request to /receipts/{provider}, with the URL as the provider saw it (public_url, never a forwarded header).
type Callback struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// Report is what an authentic delivery report says.
type Report struct {
	MessageID string        // the provider's id
	Status    ReceiptStatus // our reading
	Raw       string        // the provider's own word; [A-Za-z0-9._-]{0,64}
	Code      string        // the provider's error code, "" when none
	Reference string        // the signed reference from the URL, unverified; "" when none
	SHA256    [32]byte      // of the body
}

// ReceiptStatus ranks what reports say; a later report of a lower rank changes nothing.
type ReceiptStatus string

const (
	ReceiptTaken       ReceiptStatus = "taken"       // the provider has it (queued, accepted, sending, sent): positive evidence
	ReceiptDelivered   ReceiptStatus = "delivered"   // the handset has it
	ReceiptUndelivered ReceiptStatus = "undelivered" // the provider took it and it did not arrive
)

// ReceiptStatuses lists the statuses in the order of their rank: a report of a failed part outranks the delivered ones.
func ReceiptStatuses() []ReceiptStatus {
	return []ReceiptStatus{ReceiptTaken, ReceiptDelivered, ReceiptUndelivered}
}

// Outranks reports whether s replaces old ("" for none yet).
func (s ReceiptStatus) Outranks(old ReceiptStatus) bool { return s.rank() > old.rank() }

func (s ReceiptStatus) rank() int {
	for i, v := range ReceiptStatuses() {
		if v == s {
			return i + 1
		}
	}
	return 0
}

// State is the state that a report of this status leads a sent notification to.
func (s ReceiptStatus) State() State {
	switch s {
	case ReceiptDelivered:
		return StateDelivered
	case ReceiptUndelivered:
		return StateUndelivered
	}
	return StateSent
}
