package dispatch

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// history is everything that was ever recorded about one notification in a test. It applies changes effect by effect and holds each of them
// against the invariants of the lifecycle, which are written here without the help of the code under test.
type history struct {
	events   []Event
	verdicts []Verdict
	starts   int
}

// admit accepts a new record and begins its history.
func admit(blank Record) (Record, *history) {
	c := blank.Accept(Actor{ActorClient, "key"}, "req-1", blank.AcceptedAt)
	h := &history{}
	for _, e := range c.Effects {
		h.record(e)
	}
	return blank.Apply(c), h
}

// apply returns the record after the change, or what is wrong with it.
func (h *history) apply(before Record, c Change) (Record, error) {
	kept := before
	kept.Permits, kept.Attempts, kept.Incidents = slices.Clone(before.Permits), slices.Clone(before.Attempts), slices.Clone(before.Incidents)
	r := before
	for i, e := range c.Effects {
		h.record(e)
		next := r.Apply(Change{[]Effect{e}})
		err := errors.Join(checkEvent(r, e, next), checkStop(r, e.Event, next), checkAttempts(r, e, next), h.checkPermits(r, e, next))
		if err != nil {
			return next, fmt.Errorf("effect %d, %s: %w", i, e.Event.Action, err)
		}
		r = next
	}
	if whole := before.Apply(c); !reflect.DeepEqual(whole, r) {
		return r, errors.New("a change applied as a whole differs from the same change applied effect by effect")
	}
	if !reflect.DeepEqual(kept, before) {
		return r, errors.New("a rule or Apply wrote into the record that it was given")
	}
	return r, h.checkRecord(r)
}

func (h *history) record(e Effect) {
	h.events = append(h.events, e.Event)
	if e.Verdict != nil {
		h.verdicts = append(h.verdicts, *e.Verdict)
	}
	if e.Start != nil {
		h.starts++
	}
}

func (h *history) ruled(attempt int, ruling Ruling) bool {
	return slices.ContainsFunc(h.verdicts, func(v Verdict) bool { return v.Ruling == ruling && (attempt == 0 || v.Attempt == attempt) })
}

// checkEvent: one event per effect says truthfully what moved, by a listed step, and moves the version by one exactly when there is news.
func checkEvent(before Record, e Effect, after Record) error {
	ev := e.Event
	switch {
	case ev.Notification != before.ID || ev.Client != before.Client || ev.At.IsZero() || ev.By == (Actor{}):
		return fmt.Errorf("an event without its notification, client, time or actor: %+v", ev)
	case ev.To == "" && (after.State != before.State || ev.From != ""):
		return errors.New("the state moved without an event that says so")
	case ev.To != "" && (ev.From != before.State || ev.To != after.State):
		return fmt.Errorf("the event says %s→%s, the record went %s→%s", ev.From, ev.To, before.State, after.State)
	case ev.To != "" && !slices.Contains(stateSteps()[before.State], after.State):
		return fmt.Errorf("the lifecycle has no step %s→%s", before.State, after.State)
	case ev.Version != 0 && (ev.Version != before.Version+1 || after.Version != ev.Version):
		return fmt.Errorf("version %d→%d with an event that says %d", before.Version, after.Version, ev.Version)
	case ev.Version == 0 && after.Version != before.Version:
		return errors.New("the version moved without an event that says so")
	}
	must := !reflect.DeepEqual(shown(before), shown(after)) || ev.To != "" || e.Withdraw != "" || e.Verdict != nil || e.Incident != nil || ev.Action == ActionFinalised ||
		e.Attempt != nil && (e.Attempt.Receipt != "" || e.Attempt.Outcome != "")
	if must != (ev.Version != 0) {
		return fmt.Errorf("version moved: %t; news: %t", ev.Version != 0, must)
	}
	return nil
}

// shown is what the status document says: it may not change without the version, on which its ETag rests.
func shown(r Record) []any {
	doc := []any{r.State, r.Reason, r.Final, r.WithdrawnAt, r.StoppedAt, len(r.Incidents)}
	for _, a := range r.Attempts {
		doc = append(doc, a.Outcome, a.Rule, a.Phase, a.HTTPStatus, a.Code, a.MessageID, a.FinishedAt)
	}
	return doc
}

// checkStop: a stop happens once, has a reason, and leaves no permit to spend; final means stopped, for good.
func checkStop(before Record, ev Event, after Record) error {
	open := slices.ContainsFunc(after.Permits, Permit.Open)
	final := after.State != StateSent && stopped(after.State)
	switch {
	case !stopped(after.State) && (after.Reason != "" || !after.StoppedAt.IsZero() || after.Final):
		return errors.New("a stop without a stopped state")
	case stopped(before.State) && !stopped(after.State):
		return fmt.Errorf("it went on after the stop: %s→%s", before.State, after.State)
	case stopped(before.State) && (after.Reason != before.Reason || !after.StoppedAt.Equal(before.StoppedAt) || after.StoppedBy != before.StoppedBy):
		return errors.New("a stop was rewritten")
	case !stopped(before.State) && stopped(after.State) && (!after.StoppedAt.Equal(ev.At) || after.StoppedBy == (Actor{}) || after.Reason == ""):
		return errors.New("a stop without time, actor or reason")
	case stopped(after.State) && open:
		return errors.New("a permit can still be spent after the stop")
	case after.Reason != "" && !slices.Contains(Reasons(), after.Reason):
		return fmt.Errorf("reason %q is not on the list", after.Reason)
	case before.Final && !after.Final || final && !after.Final:
		return fmt.Errorf("state %s, final %t after %t", after.State, after.Final, before.Final)
	}
	return nil
}

// checkAttempts: outcomes move along the list, a result is stored once, an id is bound once.
func checkAttempts(before Record, e Effect, after Record) error {
	for i, b := range before.Attempts {
		a := after.Attempts[i]
		resultOf := func(a Attempt) []any {
			return []any{a.FinishedAt, a.Phase, a.Rule, a.HTTPStatus, a.Code, a.AnswerID, a.RequestID, a.AnswerSHA}
		}
		switch {
		case a.Outcome != b.Outcome && !slices.Contains(outcomeSteps()[b.Outcome], a.Outcome):
			return fmt.Errorf("attempt %d: no step %s→%s", a.Number, b.Outcome, a.Outcome)
		case !b.FinishedAt.IsZero() && !reflect.DeepEqual(resultOf(a), resultOf(b)):
			return fmt.Errorf("attempt %d took a second result", a.Number)
		case b.MessageID != "" && a.MessageID != b.MessageID:
			return fmt.Errorf("attempt %d was bound to a second id", a.Number)
		case !b.UnknownSince.IsZero() && !a.UnknownSince.Equal(b.UnknownSince):
			return fmt.Errorf("attempt %d: the doubt began twice", a.Number)
		}
	}
	if v := e.Verdict; v != nil && after.Attempts[v.Attempt-1].Outcome != v.Ruling.Outcome() {
		return fmt.Errorf("a verdict %s left the attempt %s", v.Ruling, after.Attempts[v.Attempt-1].Outcome)
	}
	return nil
}

// checkPermits: the two moments that must never be wrong, the claim and the next permit.
func (h *history) checkPermits(before Record, e Effect, after Record) error {
	_, open := before.OpenAttempt()
	if s := e.Start; s != nil {
		switch {
		case open || !before.WithdrawnAt.IsZero() || before.State != StateAccepted:
			return errors.New("a call was started in doubt, after a withdrawal, or out of turn")
		case !s.StartedAt.Before(before.ExpiresAt):
			return errors.New("a call was started after the expiry")
		case s.Number != len(before.Permits) || !before.Permits[s.Number-1].Open() || s.Outcome != OutcomePending:
			return errors.New("a call was started without its permit")
		}
	}
	if g := e.Grant; g != nil {
		took := slices.ContainsFunc(before.Attempts, func(a Attempt) bool { return a.Outcome == OutcomeAccepted })
		switch {
		case g.Number != len(before.Permits)+1 || !h.ruled(g.Number-1, RulingNotSent):
			return errors.New("a permit without a verdict not_sent on the attempt before it")
		case h.ruled(0, RulingSent) || took || !before.WithdrawnAt.IsZero():
			return errors.New("a permit although a call is known to have sent, or after a withdrawal")
		case e.Verdict == nil || e.Verdict.Next != NextSendAgain || !e.Event.At.Before(before.ExpiresAt):
			return errors.New("a permit that nobody asked for, or after the expiry")
		}
	} else if len(after.Permits) != len(before.Permits) {
		return errors.New("a permit came from nowhere")
	}
	return nil
}

// checkRecord: what must hold between any two transactions.
func (h *history) checkRecord(r Record) error {
	var open, accepted, notSent int
	for _, a := range r.Attempts {
		if a.Outcome == OutcomePending || a.Outcome == OutcomeUnknown {
			open++
		}
		if a.Outcome == OutcomeAccepted {
			accepted++
		}
	}
	for _, v := range h.verdicts {
		if v.Ruling == RulingNotSent {
			notSent++
		}
	}
	var last Outcome
	if n := len(r.Attempts); n > 0 {
		last = r.Attempts[n-1].Outcome
	}
	switch {
	case open > 1:
		return errors.New("two attempts are open")
	case h.starts > 1+notSent:
		return fmt.Errorf("%d calls on %d verdicts not_sent", h.starts, notSent)
	case accepted > 0 && !stopped(r.State):
		return fmt.Errorf("state %s although a call is known to have sent", r.State)
	case accepted > 1 && !hasIncident(r, IncidentSecondSend):
		return errors.New("two accepted attempts without an incident")
	case r.State == StateDispatching && last != OutcomePending, r.State == StateUnknown && last != OutcomeUnknown:
		return fmt.Errorf("state %s with a last attempt that is %q", r.State, last)
	case r.State == StateAccepted && (open != 0 || !r.Permits[len(r.Permits)-1].Open()):
		return errors.New("waiting without a permit, or in doubt")
	}
	seen := map[string]bool{}
	for _, i := range r.Incidents {
		key := fmt.Sprint(i.Kind, i.Attempt)
		if seen[key] {
			return fmt.Errorf("incident %s opened twice", key)
		}
		seen[key] = true
	}
	stored := projection{r.State, r.Reason, r.Version, r.Final, r.StoppedAt, r.StoppedBy, r.WithdrawnAt}
	if folded := foldEvents(h.events); folded != stored {
		return fmt.Errorf("the events give %+v, stored is %+v", folded, stored)
	}
	return nil
}

func hasIncident(r Record, kind IncidentKind) bool {
	return slices.ContainsFunc(r.Incidents, func(i Incident) bool { return i.Kind == kind })
}

// projection is the part of a notification that is nothing but a fold of its events.
type projection struct {
	State       State
	Reason      Reason
	Version     int
	Final       bool
	StoppedAt   time.Time
	StoppedBy   Actor
	WithdrawnAt time.Time
}

func foldEvents(events []Event) projection {
	var p projection
	for _, ev := range events {
		if ev.Version == 0 {
			continue
		}
		p.Version = ev.Version
		p.Final = p.Final || ev.Final
		if ev.Action == ActionWithdrawn && p.WithdrawnAt.IsZero() {
			p.WithdrawnAt = ev.At
		}
		if ev.To == "" {
			continue
		}
		if p.StoppedAt.IsZero() && stopped(ev.To) {
			p.Reason, p.StoppedAt, p.StoppedBy = ev.Reason, ev.At, ev.By
		}
		p.State = ev.To
	}
	return p
}
