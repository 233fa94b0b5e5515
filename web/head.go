package web

import (
	"fmt"
	"strings"
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

// headOf says in one sentence what is known of a notification, in words for people who talk to customers, and what happens next and when. A
// doubt is never called a failure, and nothing is promised that the record does not show.
func headOf(r dispatch.Record, now time.Time) views.Head {
	h := views.Head{State: r.State, Next: nextOf(r, now)}
	parts := []string{whatIsKnown(r)}
	if !r.WithdrawnAt.IsZero() && !r.State.Stopped() {
		parts = append(parts, "It was withdrawn meanwhile, so that no further call is made.")
	}
	if late := lateKnowledge(r); late != "" {
		parts = append(parts, late)
	}
	if r.State.Stopped() {
		parts = append(parts, codesWords(r))
	}
	h.Sentence = strings.Join(parts, " ")
	return h
}

// whatIsKnown is what the state and its reason say.
func whatIsKnown(r dispatch.Record) string {
	last, _ := r.Attempt(len(r.Attempts))
	switch r.State {
	case dispatch.StateAccepted:
		if len(r.Attempts) == 0 {
			return "It is stored and waits to be sent. Nothing has been sent yet."
		}
		return fmt.Sprintf("The last call, to %s, did not send it. It waits for the next call; the customer has no code from it yet.", last.Provider)
	case dispatch.StateDispatching:
		return fmt.Sprintf("A call to %s is under way. There is no answer yet.", last.Provider)
	case dispatch.StateUnknown:
		return fmt.Sprintf("It is not known whether the call to %s sent it. The customer may have the code, or not; nothing is sent again while this is open.",
			last.Provider)
	case dispatch.StateSent:
		return sentWords(r)
	case dispatch.StateDelivered:
		return fmt.Sprintf("%s reported that the phone has it.", reporter(r))
	case dispatch.StateUndelivered:
		return fmt.Sprintf("%s took it and reported that it did not arrive. It is not sent again; the customer has to ask for a new code.", reporter(r))
	case dispatch.StateFailed:
		return failedWords(r, last)
	case dispatch.StateExpired:
		return expiredWords(r, last)
	case dispatch.StateCancelled:
		return cancelledWords(r)
	}
	return "Its state is " + string(r.State) + "."
}

// taken are the attempts that the provider took.
func taken(r dispatch.Record) (all []dispatch.Attempt) {
	for _, a := range r.Attempts {
		if a.Outcome == dispatch.OutcomeAccepted {
			all = append(all, a)
		}
	}
	return all
}

// doubtful counts the attempts of which nobody knows.
func doubtful(r dispatch.Record) (n int) {
	for _, a := range r.Attempts {
		if a.Outcome.Open() || a.Outcome == dispatch.OutcomeUndetermined {
			n++
		}
	}
	return n
}

func sentWords(r dispatch.Record) string {
	all := taken(r)
	if len(all) == 0 {
		return "The provider has it. Whether the phone has it is not known."
	}
	a := all[len(all)-1]
	text := fmt.Sprintf("%s has it. Whether the phone has it is not known", a.Provider)
	if r.Final {
		return text + ", and no report about that is expected any more."
	}
	return text + " yet."
}

// reporter is the provider whose report led to the state.
func reporter(r dispatch.Record) string {
	for _, a := range r.Attempts {
		if a.Receipt.State() == r.State {
			return a.Provider
		}
	}
	return "The provider"
}

func failedWords(r dispatch.Record, last dispatch.Attempt) string {
	if r.Reason == dispatch.ReasonUnreadable {
		return "Its record or its text cannot be read, so it was set aside. No further call is made; the customer has to ask for a new code."
	}
	code := ""
	if last.Code != "" {
		code = " (code " + last.Code + ")"
	}
	return fmt.Sprintf("%s definitely refused it%s. It is not sent; the customer has to ask for a new code, or the number has to be mended.", last.Provider, code)
}

func expiredWords(r dispatch.Record, last dispatch.Attempt) string {
	switch r.Reason {
	case dispatch.ReasonOutcomeUnknown:
		return fmt.Sprintf("Its lifetime ended while it was not known whether the call to %s sent it. Nothing more is sent; the customer has to ask for a new code.",
			last.Provider)
	case dispatch.ReasonProviderUnavailable:
		return "Its lifetime ended while no provider could take a call. Nothing more is sent; the customer has to ask for a new code."
	}
	return "Its lifetime ended before it could be sent. Nothing more is sent; the customer has to ask for a new code."
}

func cancelledWords(r dispatch.Record) string {
	switch r.Reason {
	case dispatch.ReasonWithdrawnByClient:
		return "The storefront withdrew it, so that nothing more is sent."
	case dispatch.ReasonWithdrawnByStaff:
		return "A member of staff withdrew it, so that nothing more is sent."
	case dispatch.ReasonSuperseded:
		return "A newer request for the same account replaced it; that one is sent instead."
	case dispatch.ReasonRefusedByPolicy:
		return "A limit or a block for this recipient stopped it. The storefront is not told why."
	case dispatch.ReasonRestored:
		return "The database was restored from a backup, and everything that was not finished then was closed. Nothing more is sent."
	case dispatch.ReasonAttemptsExhausted:
		return "It was not sent, and no further call is allowed. The customer has to ask for a new code."
	case dispatch.ReasonClosedNotSent:
		return "It was decided that it was not sent, and it was closed. The customer has to ask for a new code."
	case dispatch.ReasonClosedUndetermined:
		return "It was closed without knowing whether it was sent. Nothing more is sent; the customer has to ask for a new code."
	}
	return "It was stopped because " + views.ReasonWords(r.Reason) + ". Nothing more is sent."
}

// lateKnowledge says what became known of a call after the stop, where that differs from what the stop says.
func lateKnowledge(r dispatch.Record) string {
	if !r.State.Stopped() || r.State == dispatch.StateSent || r.State == dispatch.StateDelivered || r.State == dispatch.StateUndelivered {
		return ""
	}
	if len(taken(r)) > 0 {
		return "Evidence that came later shows that it was sent all the same."
	}
	if r.Reason == dispatch.ReasonOutcomeUnknown && doubtful(r) == 0 {
		return "It was found out later that it was not sent."
	}
	return ""
}

// codesWords answers how many codes the customer got from this notification.
func codesWords(r dispatch.Record) string {
	sent, doubt := len(taken(r)), doubtful(r)
	if sent == 0 && (r.State == dispatch.StateSent || r.State == dispatch.StateDelivered || r.State == dispatch.StateUndelivered) {
		sent = 1
	}
	undelivered := r.State == dispatch.StateUndelivered
	switch {
	case sent == 0 && doubt == 0:
		return "The customer got no code from it."
	case sent == 0:
		return "The customer may have one code from it, or none."
	case sent == 1 && doubt == 0 && undelivered:
		return "One code was sent, and none arrived as far as the provider knows."
	case sent == 1 && doubt == 0:
		return "One code was sent to the customer."
	case doubt == 0:
		return fmt.Sprintf("%d codes were sent to the customer.", sent)
	}
	return fmt.Sprintf("At least %d of %d calls sent a code to the customer.", sent, sent+doubt)
}

// nextOf lists what will happen by itself, the nearest first.
func nextOf(r dispatch.Record, now time.Time) (next []views.Upcoming) {
	add := func(what string, at time.Time) {
		if at.After(now) {
			next = append(next, views.Upcoming{What: what, At: at})
		}
	}
	switch r.State {
	case dispatch.StateAccepted:
		add("The next call may be made", r.DueAt)
		add("Its lifetime ends, and it is not sent any more", r.ExpiresAt)
	case dispatch.StateDispatching:
		if a, ok := r.OpenAttempt(); ok {
			add("The call is given up at the latest", a.DeadlineAt)
		}
	case dispatch.StateUnknown:
		if a, ok := r.OpenAttempt(); ok {
			add(a.Provider+" is asked about it again", a.LookupAt)
		}
		add("Its lifetime ends, and it cannot be sent again", r.ExpiresAt)
	case dispatch.StateSent:
		if !r.Final {
			add("Without a report by then, nothing more is expected", r.StoppedAt.Add(dispatch.ReceiptPatience))
		}
	}
	if r.State.Stopped() {
		for _, a := range r.Attempts {
			if a.Outcome == dispatch.OutcomeUndetermined || a.Outcome == dispatch.OutcomeUnknown {
				add(a.Provider+" is still asked what became of it", a.LookupAt)
			}
		}
	}
	return next
}
