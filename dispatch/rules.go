package dispatch

import (
	"errors"
	"fmt"
	"time"
)

// Terms are the circumstances that a rule needs beside the record: policy, schedule and what this process knows of its providers.
type Terms struct {
	Now          time.Time
	MinRemaining time.Duration   // less life than this is too little for a call
	MaxAttempts  int             // permits granted after a doubt, the first included
	Delay        time.Duration   // before the next try, drawn by RetryDelay
	Schedule     []time.Duration // ages of a doubt at which the provider is asked
	Elsewhere    bool            // another provider is left that has not refused this message
	NoReceipts   bool            // the provider sends no delivery reports, so that `sent` is final at once
	Unavailable  bool            // every provider is paused or its breaker is open
}

// Start spends the open permit: the claim. The error is ErrStale when the record is not waiting, and ErrStopped when it may not be sent any
// more; then the change stops it.
func (r Record) Start(a Attempt, t Terms) (Change, error) {
	if r.State != StateAccepted || len(r.Permits) == 0 || !r.Permits[len(r.Permits)-1].Open() {
		return Change{}, fmt.Errorf("claim in state %s: %w", r.State, ErrStale)
	}
	for _, earlier := range r.Attempts {
		if earlier.Outcome == OutcomeAccepted || earlier.Outcome.Open() {
			return Change{}, fmt.Errorf("claim after attempt %d, which is %s: %w", earlier.Number, earlier.Outcome, ErrStale)
		}
	}
	d := r.draft(t.Now, Worker())
	if r.Life(t.Now) < t.MinRemaining || r.Life(t.Now) <= 0 {
		d.expireUnsent(t)
		return d.change(), fmt.Errorf("claim with too little life left: %w", ErrStopped)
	}
	a.Number, a.Outcome, a.StartedAt = len(r.Permits), OutcomePending, t.Now
	ev := d.to(Event{Action: ActionDispatchStarted, Attempt: a.Number, Provider: a.Provider, Outcome: OutcomePending}, StateDispatching, "")
	d.add(Effect{Event: ev, Start: &a})
	return d.change(), nil
}

// Finish stores what was seen of attempt n's call. It is guarded by the attempt alone and merges with what came in meanwhile: a receipt that
// overtook the answer, a withdrawal, a stop. The error is ErrStale when the attempt already has its result.
func (r Record) Finish(n int, x Exchange, t Terms) (Change, error) {
	a, err := r.Attempt(n)
	if err != nil {
		return Change{}, fmt.Errorf("finish attempt %d: %w", n, err)
	}
	if !a.FinishedAt.IsZero() {
		return Change{}, fmt.Errorf("finish attempt %d twice: %w", n, ErrStale)
	}
	outcome, rule := Classify(x.Phase, x.Err, x.Answer)
	outcome = settleHere(outcome, rule, t.Elsewhere)
	d := r.draft(t.Now, Worker())
	patch := &AttemptPatch{Number: n, Result: &Result{FinishedAt: t.Now, Phase: x.Phase, Rule: rule,
		HTTPStatus: x.Answer.HTTPStatus, Code: x.Answer.Code, MessageID: x.Answer.MessageID, RequestID: x.Answer.RequestID,
		AnswerSHA: x.Answer.SHA256}}
	ev := Event{Action: ActionAttemptFinished, Attempt: n, Provider: a.Provider, Evidence: EvidenceAttempt, Outcome: outcome,
		By: Worker()}
	if rule.Answered() {
		ev.By, patch.MessageID = Actor{ActorProvider, a.Provider}, x.Answer.MessageID
	}
	if a.Outcome != OutcomePending {
		d.mergeResult(a, outcome, patch, ev)
		return d.change(), nil
	}
	patch.Outcome = outcome
	d.firstResult(a, outcome, patch, ev, t)
	return d.change(), nil
}

// settleHere decides what "refused by this provider only" means: where another provider is left the message is merely not sent, and routing
// moves on; where none is left it is refused.
func settleHere(o Outcome, rule Rule, elsewhere bool) Outcome {
	if rule != R1 && rule != R4 {
		return o
	}
	if rule == R1 && elsewhere {
		return OutcomeNotSent
	}
	if o == OutcomeNotSent && !elsewhere {
		return OutcomeRefused
	}
	return o
}

// mergeResult stores a result that evidence has overtaken: the outcome stands, and a result that says otherwise is a contradiction.
func (d *draft) mergeResult(a Attempt, outcome Outcome, patch *AttemptPatch, ev Event) {
	ev.Outcome, ev.Version = a.Outcome, d.moving()
	d.add(Effect{Event: ev, Attempt: patch})
	switch outcome {
	case OutcomeAccepted:
		d.otherID(a, patch.MessageID)
	case OutcomeRefused, OutcomeNotSent:
		d.incident(IncidentContradiction, a.Number)
	}
}

// firstResult stores the result of a pending attempt and moves the notification on, unless something stopped it meanwhile.
func (d *draft) firstResult(a Attempt, outcome Outcome, patch *AttemptPatch, ev Event, t Terms) {
	live := d.rec.State == StateDispatching
	ev.Version = d.moving()
	switch outcome {
	case OutcomeAccepted:
		if live {
			ev = d.to(ev, StateSent, ReasonProviderAccepted)
			ev.Final = t.NoReceipts
		}
	case OutcomeRefused:
		if live && d.rec.WithdrawnAt.IsZero() {
			ev = d.to(ev, StateFailed, ReasonProviderRefused)
		} else if live {
			ev = d.to(ev, StateCancelled, d.rec.WithdrawnReason)
		}
	case OutcomeUnknown:
		at := firstLookup(t)
		patch.UnknownSince, patch.LookupAt = t.Now, &at
		if live {
			ev = d.to(ev, StateUnknown, "")
		}
	}
	d.add(Effect{Event: ev, Attempt: patch})
	if outcome == OutcomeAccepted {
		d.secondSend(a.Number)
	}
	if outcome == OutcomeNotSent {
		d.ruleNotSent(Verdict{Attempt: a.Number, Ruling: RulingNotSent, Grade: GradeWire, Next: NextSendAgain, By: Worker(), At: t.Now}, t)
	}
}

// Interrupt turns the pending attempt into an unknown one after a restart (R8): the process died, so the call may or may not have gone out.
func (r Record) Interrupt(t Terms) (Change, error) {
	a, ok := r.OpenAttempt()
	if !ok || a.Outcome != OutcomePending {
		return Change{}, fmt.Errorf("interrupt without a pending attempt: %w", ErrStale)
	}
	d := r.draft(t.Now, Worker())
	at := firstLookup(t)
	ev := Event{Action: ActionAttemptInterrupt, Attempt: a.Number, Provider: a.Provider, Evidence: EvidenceAttempt, Outcome: OutcomeUnknown,
		Version: d.moving()}
	if r.State == StateDispatching {
		ev = d.to(ev, StateUnknown, "")
	}
	d.add(Effect{Event: ev, Attempt: &AttemptPatch{Number: a.Number, Outcome: OutcomeUnknown, UnknownSince: t.Now, LookupAt: &at,
		Result: &Result{FinishedAt: t.Now, Rule: R8}}})
	return d.change(), nil
}

// Settle records a verdict on an attempt: by a lookup, a receipt, a person or the expiry. Positive evidence settles any attempt at any time;
// the other rulings need an attempt that is in doubt (or, after the stop, undetermined). The error is ErrStale otherwise.
func (r Record) Settle(v Verdict, t Terms) (Change, error) {
	a, err := r.Attempt(v.Attempt)
	if err != nil {
		return Change{}, fmt.Errorf("verdict on attempt %d: %w", v.Attempt, err)
	}
	if a.Outcome == v.Ruling.Outcome() || !a.Outcome.CanBecome(v.Ruling.Outcome()) || a.Outcome == OutcomePending && v.Ruling != RulingSent {
		return Change{}, fmt.Errorf("verdict %s on an attempt that is %s: %w", v.Ruling, a.Outcome, ErrStale)
	}
	d := r.draft(t.Now, v.By)
	v.At = t.Now
	switch v.Ruling {
	case RulingSent:
		d.ruleSent(a, v, StateSent, t)
	case RulingNotSent:
		d.ruleNotSent(v, t)
	default:
		d.ruleUndetermined(v)
	}
	return d.change(), nil
}

// ruleSent settles an attempt as sent and moves the notification to state `to` (sent, or what a receipt says): a live one in any case, one
// that an earlier attempt has stopped as sent where the receipt says more.
func (d *draft) ruleSent(a Attempt, v Verdict, to State, t Terms) {
	ev := d.verdictEvent(a, v)
	contradicts := a.Outcome == OutcomeNotSent || a.Outcome == OutcomeRefused
	reported := to != StateSent && d.rec.State.CanBecome(to) && d.follows(a.Number)
	if !d.rec.State.Stopped() || reported {
		ev = d.to(ev, to, ReasonProviderAccepted)
		ev.Final = ev.Final || t.NoReceipts
	}
	d.add(Effect{Event: ev, Verdict: &v, Attempt: &AttemptPatch{Number: a.Number, Outcome: OutcomeAccepted, MessageID: v.MessageID,
		LookupAt: &time.Time{}}})
	if contradicts {
		d.incident(IncidentContradiction, a.Number)
	}
	d.secondSend(a.Number)
}

// secondSend opens an incident when attempt n turns out sent and another call was made that may have sent, too.
func (d *draft) secondSend(n int) {
	for _, other := range d.rec.Attempts {
		if other.Number != n && other.Outcome == OutcomeAccepted {
			d.incident(IncidentSecondSend, min(n, other.Number))
			return
		}
		if other.Number > n && (other.Outcome.Open() || other.Outcome == OutcomeUndetermined) {
			d.incident(IncidentSecondSend, n)
			return
		}
	}
}

// ruleNotSent settles an attempt as not sent and decides what follows: withdrawn, expired, exhausted, closed, or the next permit.
func (d *draft) ruleNotSent(v Verdict, t Terms) {
	a := d.rec.Attempts[v.Attempt-1]
	ev := d.verdictEvent(a, v)
	patch := &AttemptPatch{Number: a.Number, LookupAt: &time.Time{}}
	if a.Outcome != OutcomeNotSent {
		patch.Outcome = OutcomeNotSent
	}
	e := Effect{Verdict: &v, Attempt: patch}
	r := d.rec
	switch {
	case r.State.Stopped() || r.State == StateAccepted:
	case !r.WithdrawnAt.IsZero():
		ev = d.to(ev, StateCancelled, r.WithdrawnReason)
	case v.Next != NextSendAgain:
		ev = d.to(ev, StateCancelled, ReasonClosedNotSent)
	case r.Life(t.Now) < t.MinRemaining || r.Life(t.Now) <= 0:
		ev = d.to(ev, StateExpired, expiryReason(t))
	case !a.UnknownSince.IsZero() && r.Doubts() >= t.MaxAttempts:
		ev = d.to(ev, StateCancelled, ReasonAttemptsExhausted)
	default:
		ev = d.to(ev, StateAccepted, "")
		e.Grant = &Permit{Number: len(r.Permits) + 1, GrantedAt: t.Now}
		e.DueAt = t.Now.Add(t.Delay)
	}
	e.Event = ev
	d.add(e)
}

func (d *draft) ruleUndetermined(v Verdict) {
	a := d.rec.Attempts[v.Attempt-1]
	ev := d.verdictEvent(a, v)
	if d.rec.State == StateUnknown {
		why := ReasonClosedUndetermined
		if !d.rec.WithdrawnAt.IsZero() {
			why = d.rec.WithdrawnReason
		}
		ev = d.to(ev, StateCancelled, why)
	}
	d.add(Effect{Event: ev, Verdict: &v, Attempt: &AttemptPatch{Number: a.Number, Outcome: OutcomeUndetermined}})
}

func (d *draft) verdictEvent(a Attempt, v Verdict) Event {
	return Event{Action: ActionVerdictRecorded, Attempt: a.Number, Provider: a.Provider, Outcome: v.Ruling.Outcome(), Grade: v.Grade,
		Cause: v.ReasonCode, Evidence: EvidenceVerdict, Version: d.moving()}
}

// Expire ends the life of a notification: before a send, or in doubt. Where evidence on an earlier attempt has stopped it while a later
// one was in doubt, it ends that doubt alone. The error is ErrStale when there is nothing to end.
func (r Record) Expire(t Terms) (Change, error) {
	d := r.draft(t.Now, Worker())
	a, open := r.OpenAttempt()
	doubt := open && a.Outcome == OutcomeUnknown
	switch over := r.Life(t.Now) <= 0; {
	case r.State == StateAccepted && r.Life(t.Now) < max(t.MinRemaining, 1):
		d.expireUnsent(t)
	case r.State == StateUnknown && over && !doubt:
		return Change{}, fmt.Errorf("expiry of a doubt without an open attempt: %w", ErrUnreadable)
	case (r.State == StateUnknown || r.State.Stopped()) && over && doubt:
		v := Verdict{Attempt: a.Number, Ruling: RulingUndetermined, Grade: GradeExpiry, Next: NextClose, By: Worker(), At: t.Now}
		ev := d.verdictEvent(a, v)
		if r.State == StateUnknown {
			ev = d.to(ev, StateExpired, ReasonOutcomeUnknown)
		}
		d.add(Effect{Event: ev, Verdict: &v, Attempt: &AttemptPatch{Number: a.Number, Outcome: OutcomeUndetermined}})
	default:
		return Change{}, fmt.Errorf("expiry in state %s: %w", r.State, ErrStale)
	}
	return d.change(), nil
}

func (d *draft) expireUnsent(t Terms) {
	d.add(Effect{Event: d.to(Event{Action: ActionExpired}, StateExpired, expiryReason(t))})
}

func expiryReason(t Terms) Reason {
	if t.Unavailable {
		return ReasonProviderUnavailable
	}
	return ReasonExpiredBeforeSend
}

// Withdraw stops what is not yet sent; during a call or a doubt it forbids any further permit and takes effect when the outcome is known.
// What has stopped or is withdrawn already stays as it is: the change is empty.
func (r Record) Withdraw(why Reason, cause string, by Actor, now time.Time) Change {
	d := r.draft(now, by)
	if r.State.Stopped() || !r.WithdrawnAt.IsZero() {
		return d.change()
	}
	ev := Event{Action: ActionWithdrawn, Cause: cause, Version: d.moving(), Reason: why}
	if r.State == StateAccepted {
		ev = d.to(ev, StateCancelled, why)
	}
	d.add(Effect{Event: ev, Withdraw: why})
	return d.change()
}

// SetAside stops a notification whose row or text cannot be read, once. The error is ErrStale unless it is waiting.
func (r Record) SetAside(now time.Time) (Change, error) {
	if r.State != StateAccepted {
		return Change{}, fmt.Errorf("set aside in state %s: %w", r.State, ErrStale)
	}
	d := r.draft(now, Worker())
	d.add(Effect{Event: d.to(Event{Action: ActionSetAside}, StateFailed, ReasonUnreadable)})
	return d.change(), nil
}

// ReceiptPatience is how long a sent notification waits for a delivery report before it is final without one.
const ReceiptPatience = 72 * time.Hour

// Finalise makes a sent notification final when its report has not come for ReceiptPatience. The error is ErrStale otherwise.
func (r Record) Finalise(now time.Time) (Change, error) {
	if r.State != StateSent || r.Final || now.Sub(r.StoppedAt) < ReceiptPatience {
		return Change{}, fmt.Errorf("finalise in state %s: %w", r.State, ErrStale)
	}
	d := r.draft(now, Worker())
	d.add(Effect{Event: Event{Action: ActionFinalised, Version: d.moving(), Final: true, Reason: ReasonNoReceipt}})
	return d.change(), nil
}

// MayStillSend reports whether the call that is about to write its first byte is still wanted (I5). The error is ErrStopped.
func (r Record) MayStillSend(n int, t Terms) error {
	a, err := r.Attempt(n)
	if err != nil {
		return errors.Join(ErrStopped, err)
	}
	switch {
	case a.Outcome != OutcomePending || r.State != StateDispatching:
		return fmt.Errorf("no longer dispatching: %w", ErrStopped)
	case !r.WithdrawnAt.IsZero():
		return fmt.Errorf("withdrawn: %w", ErrStopped)
	case !t.Now.Before(a.DeadlineAt): // the validity told to the provider counts from here
		return fmt.Errorf("the time for the call is over: %w", ErrStopped)
	case r.Life(t.Now) < t.MinRemaining || r.Life(t.Now) <= 0:
		return fmt.Errorf("too little life left: %w", ErrStopped)
	}
	return nil
}

// Accept is the admission of a new record: permit 1, and the event from which everything follows. The record has no permit yet and version 0.
func (r Record) Accept(by Actor, requestID string, now time.Time) Change {
	d := r.draft(now, by)
	d.add(Effect{
		Event: Event{Action: ActionAccepted, To: StateAccepted, Version: 1, RequestID: requestID},
		Grant: &Permit{Number: 1, GrantedAt: now},
	})
	return d.change()
}
