package dispatch

import "errors"

// Classify turns what was seen of one exchange into what is known, and names the rule. It is the only place where that is decided.
//
//	R1   the message cannot be built for this provider                     refused (not_sent where another provider may build it: see R4)
//	R2   failed before a byte of the request was written                   not_sent
//	R3   complete, the provider's own shape: taken, with its id            accepted
//	R4   complete, own shape: not taken, for good                          refused; only by this provider: not_sent
//	R5   complete, own shape: not taken, temporary (429 and the like)      not_sent, and the provider pauses
//	R6   bytes written, then time-out, reset, EOF or a cut answer          unknown
//	R7   an answer that is not the provider's, or not documented           unknown
//	R8   the process died while pending (given by recovery, not from here) unknown
//	R10  the provider has seen this reference                              accepted
//	R11  complete, own shape: the provider refuses us                      not_sent, the provider is paused and alarmed
//
// An exchange in which a byte may have left is never R1 or R2, whatever the error says.
func Classify(phase Phase, err error, answer Answer) (Outcome, Rule) {
	if !phase.BytesMayHaveLeft() {
		if errors.Is(err, ErrUnbuildable) {
			return OutcomeRefused, R1
		}
		return OutcomeNotSent, R2
	}
	if err != nil || phase != PhaseAnswered {
		return OutcomeUnknown, R6
	}
	switch answer.Meaning {
	case MeaningTaken:
		return OutcomeAccepted, R3
	case MeaningSeenBefore:
		return OutcomeAccepted, R10
	case MeaningRefused:
		return OutcomeRefused, R4
	case MeaningRefusedHere:
		return OutcomeNotSent, R4
	case MeaningTryLater:
		return OutcomeNotSent, R5
	case MeaningAccountRefusing:
		return OutcomeNotSent, R11
	}
	return OutcomeUnknown, R7
}
