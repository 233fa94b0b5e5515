package dispatch

// State is where a notification stands in its lifecycle.
type State string

const (
	// StateAccepted means stored, and waiting for a permit to be spent. A notification enters it at admission with permit 1, and again
	// when an attempt is proven or decided not to have sent (next permit). It leaves by a claim (dispatching), by expiry (expired), by
	// withdrawal (cancelled), when its row cannot be read (failed), or by late evidence that an earlier attempt did send (sent, delivered,
	// undelivered).
	StateAccepted State = "accepted"

	// StateDispatching means that a worker has spent a permit and the attempt's row is on disk: a call to the provider may be under way.
	// Only a claim leads here. It is left by the attempt's outcome, by a receipt that overtakes the answer, or by a restart, which turns
	// the pending attempt into an unknown one.
	StateDispatching State = "dispatching"

	// StateUnknown means that the last call may or may not have sent, and nobody knows yet. An attempt's outcome `unknown` leads here. It is
	// left by a verdict (sent; accepted with a new permit; cancelled), by a receipt, or by expiry (expired, outcome_unknown).
	StateUnknown State = "dispatch_unknown"

	// StateSent means that the provider has taken the message. An accepted answer, a match found by a lookup, a receipt or a person's
	// verdict leads here. A receipt about the handset leads on to delivered or undelivered.
	StateSent State = "sent"

	// StateDelivered means that the provider reported delivery to the handset. It is left only when a receipt for another part of the same
	// message reports a failure (undelivered): half a text is not a delivered one.
	StateDelivered State = "delivered"

	// StateUndelivered means that the provider took the message and reported that it did not arrive. Nothing leaves it: a retry would be
	// a second message, which the storefront must ask for.
	StateUndelivered State = "undelivered"

	// StateFailed means that the provider definitely refused the message, or that its row could not be read. Nothing leaves it.
	StateFailed State = "failed"

	// StateExpired means that the event's life ended, either before a send (expired_before_send, provider_unavailable) or in doubt
	// (outcome_unknown). Nothing leaves it; late evidence is attached to the attempt.
	StateExpired State = "expired"

	// StateCancelled means that somebody stopped it: the client, staff, a newer event, a policy, a restore, or a verdict that closed a
	// doubt. Nothing leaves it; late evidence is attached to the attempt.
	StateCancelled State = "cancelled"
)

// States lists every state in the order of the lifecycle.
func States() []State {
	return []State{StateAccepted, StateDispatching, StateUnknown, StateSent, StateDelivered, StateUndelivered, StateFailed, StateExpired,
		StateCancelled}
}

// Transition is one allowed step of the lifecycle.
type Transition struct{ From, To State }

// Transitions lists every allowed step. The schema repeats the list as a CHECK and a test compares the two; docs/lifecycle.md draws it.
func Transitions() []Transition {
	var all []Transition
	add := func(from State, to ...State) {
		for _, t := range to {
			all = append(all, Transition{from, t})
		}
	}
	add(StateAccepted, StateDispatching, StateSent, StateDelivered, StateUndelivered, StateFailed, StateExpired, StateCancelled)
	add(StateDispatching, StateAccepted, StateUnknown, StateSent, StateDelivered, StateUndelivered, StateFailed, StateExpired, StateCancelled)
	add(StateUnknown, StateAccepted, StateSent, StateDelivered, StateUndelivered, StateExpired, StateCancelled)
	add(StateSent, StateDelivered, StateUndelivered)
	add(StateDelivered, StateUndelivered)
	return all
}

// CanBecome reports whether the lifecycle allows the step.
func (s State) CanBecome(to State) bool {
	for _, t := range Transitions() {
		if t == (Transition{s, to}) {
			return true
		}
	}
	return false
}

// Stopped reports whether nothing can be sent any more: from then on no permit can exist and the text is destroyed.
func (s State) Stopped() bool {
	switch s {
	case StateAccepted, StateDispatching, StateUnknown:
		return false
	}
	return true
}

// AlwaysFinal reports whether the state is final by itself. StateSent becomes final by a receipt, by its absence for 72 h (ReasonNoReceipt),
// or at once where the provider has no receipts.
func (s State) AlwaysFinal() bool { return s.Stopped() && s != StateSent }

// Reason says why a notification stopped. The list is closed.
type Reason string

const (
	ReasonProviderAccepted    Reason = "provider_accepted"    // the provider took it
	ReasonExpiredBeforeSend   Reason = "expired_before_send"  // its life ended, or too little was left, before a call
	ReasonProviderUnavailable Reason = "provider_unavailable" // the same, while every provider was paused or its breaker open
	ReasonWithdrawnByClient   Reason = "withdrawn_by_client"  // the storefront cancelled it
	ReasonWithdrawnByStaff    Reason = "withdrawn_by_staff"   // a member of staff cancelled it
	ReasonSuperseded          Reason = "superseded"           // a newer event for the same subject replaced it
	ReasonRefusedByPolicy     Reason = "refused_by_policy"    // a suppression or a limit of the recipient; told to staff only
	ReasonRestored            Reason = "restored"             // closed by a restore from a backup
	ReasonUnreadable          Reason = "unreadable"           // its row or its sealed text cannot be read
	ReasonProviderRefused     Reason = "provider_refused"     // the provider definitely refused it, for good
	ReasonAttemptsExhausted   Reason = "attempts_exhausted"   // decided not sent, but max_attempts permits are used up
	ReasonClosedNotSent       Reason = "closed_not_sent"      // decided not sent, and closed
	ReasonClosedUndetermined  Reason = "closed_undetermined"  // closed without an answer
	ReasonOutcomeUnknown      Reason = "outcome_unknown"      // its life ended in doubt
	ReasonNoReceipt           Reason = "no_receipt"           // sent, and no receipt within 72 h; makes `sent` final
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{ReasonProviderAccepted, ReasonExpiredBeforeSend, ReasonProviderUnavailable, ReasonWithdrawnByClient,
		ReasonWithdrawnByStaff, ReasonSuperseded, ReasonRefusedByPolicy, ReasonRestored, ReasonUnreadable, ReasonProviderRefused,
		ReasonAttemptsExhausted, ReasonClosedNotSent, ReasonClosedUndetermined, ReasonOutcomeUnknown, ReasonNoReceipt}
}
