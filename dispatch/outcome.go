package dispatch

// Outcome is what is known of one attempt.
type Outcome string

const (
	// OutcomePending means that the call may be under way. Every attempt starts here, and a restart finds none that stays.
	OutcomePending Outcome = "pending"
	// OutcomeAccepted means that the provider has the message: by its answer, a lookup, a receipt, or a person's word.
	OutcomeAccepted Outcome = "accepted"
	// OutcomeRefused means that the provider said, in its own words, that it did not take the message and never will.
	OutcomeRefused Outcome = "refused"
	// OutcomeNotSent means that the message was not sent: proven by the wire or the provider, or decided by a person.
	OutcomeNotSent Outcome = "not_sent"
	// OutcomeUnknown means that the message may have been sent. Nothing may be sent again while an attempt is unknown.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeUndetermined means that the doubt ended without an answer: by expiry, or because a person closed it.
	OutcomeUndetermined Outcome = "undetermined"
)

// Outcomes lists every outcome.
func Outcomes() []Outcome {
	return []Outcome{OutcomePending, OutcomeAccepted, OutcomeRefused, OutcomeNotSent, OutcomeUnknown, OutcomeUndetermined}
}

// OutcomeStep is one allowed change of what is known.
type OutcomeStep struct{ From, To Outcome }

// OutcomeSteps lists the allowed changes; the schema repeats them. Positive evidence wins over everything (the last two steps contradict an
// earlier conclusion and open an incident); nothing ever leads away from accepted.
func OutcomeSteps() []OutcomeStep {
	return []OutcomeStep{
		{OutcomePending, OutcomeAccepted}, {OutcomePending, OutcomeRefused}, {OutcomePending, OutcomeNotSent}, {OutcomePending, OutcomeUnknown},
		{OutcomeUnknown, OutcomeAccepted}, {OutcomeUnknown, OutcomeNotSent}, {OutcomeUnknown, OutcomeUndetermined},
		{OutcomeUndetermined, OutcomeAccepted}, {OutcomeUndetermined, OutcomeNotSent},
		{OutcomeNotSent, OutcomeAccepted}, {OutcomeRefused, OutcomeAccepted},
	}
}

// CanBecome reports whether the step is allowed.
func (o Outcome) CanBecome(to Outcome) bool {
	for _, s := range OutcomeSteps() {
		if s == (OutcomeStep{o, to}) {
			return true
		}
	}
	return false
}

// Open reports whether the attempt may still turn out either way, so that no other call is possible (I3, I12).
func (o Outcome) Open() bool { return o == OutcomePending || o == OutcomeUnknown }

// Phase is how far an attempt got on the wire. It only ever grows.
type Phase string

const (
	PhaseNone       Phase = "none"       // no connection was asked for
	PhaseConnecting Phase = "connecting" // name look-up, dial or TLS handshake
	PhaseConnected  Phase = "connected"  // a connection is there; no byte of the request has been handed to it
	PhaseWriting    Phase = "writing"    // the first write was started: from here on bytes may have left
	PhaseWritten    Phase = "written"    // the whole request was written
	PhaseResponding Phase = "responding" // the first byte of an answer came
	PhaseAnswered   Phase = "answered"   // the answer was read to its end
)

// Phases lists the phases in their order.
func Phases() []Phase {
	return []Phase{PhaseNone, PhaseConnecting, PhaseConnected, PhaseWriting, PhaseWritten, PhaseResponding, PhaseAnswered}
}

// BytesMayHaveLeft reports whether the provider may have seen any of the request.
func (p Phase) BytesMayHaveLeft() bool {
	switch p {
	case PhaseNone, PhaseConnecting, PhaseConnected:
		return false
	}
	return true
}

// Rule is the classification rule that turned what was seen into an outcome; Classify documents each.
type Rule string

// The rules of Classify. R9 was never given out.
const (
	R1  Rule = "R1"  // the message cannot be built for this provider
	R2  Rule = "R2"  // failed before a single byte of the request was written
	R3  Rule = "R3"  // complete answer of the provider: taken
	R4  Rule = "R4"  // complete answer of the provider: this message is not taken, for good
	R5  Rule = "R5"  // complete answer of the provider: not taken, temporary
	R6  Rule = "R6"  // bytes written, then no complete answer
	R7  Rule = "R7"  // an answer that is not the provider's
	R8  Rule = "R8"  // the process died while pending
	R10 Rule = "R10" // the provider says that it has seen this reference
	R11 Rule = "R11" // complete answer of the provider: it refuses us, not the message
)

// Answered reports whether the rule rests on a complete answer in the provider's own shape. Only such an answer speaks for the provider and
// binds the id that it names.
func (r Rule) Answered() bool {
	switch r {
	case R3, R4, R5, R10, R11:
		return true
	}
	return false
}

// Rules lists every rule.
func Rules() []Rule { return []Rule{R1, R2, R3, R4, R5, R6, R7, R8, R10, R11} }
