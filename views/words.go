package views

import "sentonce/dispatch"

// Tone is the third channel of a status, after its shape and its word.
type Tone string

// The tones; each is a class tone-… of the style sheet.
const (
	ToneNeutral Tone = "neutral"
	ToneInfo    Tone = "info"
	ToneGood    Tone = "good"
	ToneWarn    Tone = "warn"
	ToneBad     Tone = "bad"
	ToneMuted   Tone = "muted"
)

// Status is how a state is shown: shape, word and tone, and one sentence for the page of the item.
type Status struct {
	Glyph    Glyph
	Word     string
	Tone     Tone
	Sentence string
}

// StatusOf gives the words for a state. An unknown state is shown as it is written, never as another one.
func StatusOf(s dispatch.State) Status {
	switch s {
	case dispatch.StateAccepted:
		return Status{GlyphAccepted, "Accepted", ToneNeutral, "Accepted and stored; it waits to be sent."}
	case dispatch.StateDispatching:
		return Status{GlyphSending, "Sending", ToneInfo, "A call to the provider has begun; there is no answer yet."}
	case dispatch.StateUnknown:
		return Status{GlyphUnknown, "Outcome unknown", ToneWarn, "It may or may not have been sent. Nothing is sent again while this is open."}
	case dispatch.StateSent:
		return Status{GlyphSent, "Sent to provider", ToneGood, "The provider has the message. Whether the phone has it is not known."}
	case dispatch.StateDelivered:
		return Status{GlyphDelivered, "Delivered", ToneGood, "The provider reported that the phone has it."}
	case dispatch.StateUndelivered:
		return Status{GlyphUndelivered, "Not delivered", ToneBad, "The provider took the message and reported that it did not arrive."}
	case dispatch.StateFailed:
		return Status{GlyphRefused, "Refused", ToneBad, "It was definitely refused. Nothing was sent."}
	case dispatch.StateExpired:
		return Status{GlyphExpired, "Expired", ToneMuted, "Its lifetime ended; no further send is possible."}
	case dispatch.StateCancelled:
		return Status{GlyphCancelled, "Withdrawn", ToneMuted, "It was stopped; no further send is possible."}
	}
	return Status{GlyphAccepted, string(s), ToneNeutral, ""}
}

// OutcomeOf gives the words for what is known of one attempt.
func OutcomeOf(o dispatch.Outcome) Status {
	switch o {
	case dispatch.OutcomePending:
		return Status{GlyphSending, "Under way", ToneInfo, "The call is under way."}
	case dispatch.OutcomeAccepted:
		return Status{GlyphSent, "Sent", ToneGood, "The provider has the message."}
	case dispatch.OutcomeRefused:
		return Status{GlyphRefused, "Refused", ToneBad, "The provider definitely did not take it."}
	case dispatch.OutcomeNotSent:
		return Status{GlyphNotSent, "Not sent", ToneNeutral, "It was not sent, so another call is safe."}
	case dispatch.OutcomeUnknown:
		return Status{GlyphUnknown, "Unknown", ToneWarn, "It may or may not have been sent."}
	case dispatch.OutcomeUndetermined:
		return Status{GlyphFlag, "Never known", ToneMuted, "The doubt ended without an answer."}
	}
	return Status{GlyphAccepted, string(o), ToneNeutral, ""}
}

// RuleWords says what a classification rule saw and what follows from it.
func RuleWords(r dispatch.Rule) string {
	switch r {
	case dispatch.R1:
		return "The message cannot be put into this provider's form, so nothing was sent."
	case dispatch.R2:
		return "The call failed before a single byte of the request was written, so it was not sent."
	case dispatch.R3:
		return "The provider answered in full that it took the message."
	case dispatch.R4:
		return "The provider answered in full that it does not take this message, for good."
	case dispatch.R5:
		return "The provider answered in full that it does not take it now, so it was not sent; the provider is given a pause."
	case dispatch.R6:
		return "The request, or a part of it, was written, and then no complete answer came. It may or may not have been sent."
	case dispatch.R7:
		return "An answer came that is not the provider's own, or whose meaning is not documented. It may or may not have been sent."
	case dispatch.R8:
		return "This service stopped while the call was under way, and nobody saw how far it got. It may or may not have been sent."
	case dispatch.R10:
		return "The provider answered that it already had this reference, so the message had been taken."
	case dispatch.R11:
		return "The provider refused our account, not the message, so it was not sent; the provider is paused."
	}
	return string(r)
}

// ReasonWords says why a notification stopped.
func ReasonWords(r dispatch.Reason) string {
	switch r {
	case dispatch.ReasonProviderAccepted:
		return "the provider took it"
	case dispatch.ReasonExpiredBeforeSend:
		return "its lifetime ended before it could be sent"
	case dispatch.ReasonProviderUnavailable:
		return "its lifetime ended while no provider could take a call"
	case dispatch.ReasonWithdrawnByClient:
		return "the storefront withdrew it"
	case dispatch.ReasonWithdrawnByStaff:
		return "a member of staff withdrew it"
	case dispatch.ReasonSuperseded:
		return "a newer request for the same account replaced it"
	case dispatch.ReasonRefusedByPolicy:
		return "a limit or a block for this recipient stopped it"
	case dispatch.ReasonRestored:
		return "the database was restored from a backup"
	case dispatch.ReasonUnreadable:
		return "its record could not be read"
	case dispatch.ReasonProviderRefused:
		return "the provider refused it for good"
	case dispatch.ReasonAttemptsExhausted:
		return "it was not sent, and no further send is allowed"
	case dispatch.ReasonClosedNotSent:
		return "it was decided that it was not sent, and it was closed"
	case dispatch.ReasonClosedUndetermined:
		return "it was closed without knowing whether it was sent"
	case dispatch.ReasonOutcomeUnknown:
		return "its lifetime ended while it was not known whether it was sent"
	case dispatch.ReasonNoReceipt:
		return "no delivery report came within 72 hours"
	}
	return string(r)
}

// GradeWords says what a verdict rests on.
func GradeWords(g dispatch.Grade) string {
	switch g {
	case dispatch.GradeWire:
		return "proven by the call itself"
	case dispatch.GradeProviderConfirmed:
		return "the provider shows the message"
	case dispatch.GradeProviderDenied:
		return "the provider proves that it has no such message"
	case dispatch.GradeReceipt:
		return "a delivery report"
	case dispatch.GradeHuman:
		return "decided by a person"
	case dispatch.GradeExpiry:
		return "ended by the expiry"
	}
	return string(g)
}

// RulingWords says what a verdict decided.
func RulingWords(r dispatch.Ruling) string {
	switch r {
	case dispatch.RulingSent:
		return "Sent"
	case dispatch.RulingNotSent:
		return "Not sent"
	case dispatch.RulingUndetermined:
		return "Cannot be determined"
	}
	return string(r)
}

// PhaseWords says how far a call got, in a column's width.
func PhaseWords(p dispatch.Phase) string {
	switch p {
	case dispatch.PhaseNone:
		return "no connection"
	case dispatch.PhaseConnecting:
		return "still connecting"
	case dispatch.PhaseConnected:
		return "connected, nothing written"
	case dispatch.PhaseWriting:
		return "request partly written"
	case dispatch.PhaseWritten:
		return "request written"
	case dispatch.PhaseResponding:
		return "answer begun"
	case dispatch.PhaseAnswered:
		return "answer complete"
	case "":
		return "not seen"
	}
	return string(p)
}

// LookupWords says what a question to the provider showed.
func LookupWords(r dispatch.LookupResult) string {
	switch r {
	case dispatch.LookupMatch:
		return "found the message"
	case dispatch.LookupSeveral:
		return "found more than one message that could be this one"
	case dispatch.LookupAmbiguous:
		return "found a message that another open item could own"
	case dispatch.LookupEmpty:
		return "found nothing; that proves nothing here"
	case dispatch.LookupAbsent:
		return "found nothing, and this provider's silence is proof"
	case dispatch.LookupFailed:
		return "could not be answered; that says nothing"
	}
	return string(r)
}

// ReceiptWords says what a delivery report means.
func ReceiptWords(s dispatch.ReceiptStatus) string {
	switch s {
	case dispatch.ReceiptTaken:
		return "the provider has it"
	case dispatch.ReceiptDelivered:
		return "the phone has it"
	case dispatch.ReceiptUndelivered:
		return "it did not arrive"
	}
	return string(s)
}

// IncidentWords says what was contradicted.
func IncidentWords(k dispatch.IncidentKind) string {
	switch k {
	case dispatch.IncidentSecondSend:
		return "A second call was made, and the first one turned out to have sent: the customer may have two codes."
	case dispatch.IncidentTwoIDs:
		return "The provider names two messages for one attempt."
	case dispatch.IncidentContradiction:
		return "Evidence contradicts what was decided or answered before."
	case dispatch.IncidentAmbiguous:
		return "The provider shows several messages that could be this one: the customer may have more than one code."
	}
	return string(k)
}
