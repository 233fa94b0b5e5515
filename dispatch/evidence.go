package dispatch

import (
	"fmt"
	"time"
)

// RecordReceipt attaches a delivery report to attempt n and draws the conclusions. A report is positive evidence whatever it says: the
// provider had the message.
func (r Record) RecordReceipt(n int, rc Receipt, t Terms) (Change, error) {
	a, err := r.Attempt(n)
	if err != nil {
		return Change{}, fmt.Errorf("receipt for attempt %d: %w", n, err)
	}
	by := Actor{ActorProvider, rc.Provider}
	d := r.draft(t.Now, by)
	rc.Attempt, rc.ReceivedAt = n, t.Now
	news := !rc.Repeat && rc.Status.Outranks(a.Receipt)
	ev := Event{Action: ActionReceiptRecorded, Attempt: n, Provider: rc.Provider, Evidence: EvidenceReceipt, Cause: string(rc.Status)}
	patch := &AttemptPatch{Number: n, MessageID: rc.MessageID}
	if rc.Repeat {
		ev.Action = ActionReceiptRepeated
	}
	if news {
		patch.Receipt, patch.ReceiptCode = rc.Status, rc.Code
	}
	if news || a.binds(rc.MessageID) {
		ev.Version = d.moving()
	}
	settled := a.Outcome == OutcomeAccepted
	if to := rc.Status.State(); news && settled && r.State.CanBecome(to) && r.State.Stopped() && d.follows(n) {
		ev = d.to(ev, to, ReasonProviderAccepted)
	}
	d.add(Effect{Event: ev, Receipt: &rc, Attempt: patch})
	d.otherID(a, rc.MessageID)
	if !settled {
		v := Verdict{Attempt: n, Ruling: RulingSent, Grade: GradeReceipt, Next: NextClose, By: by, At: t.Now, MessageID: rc.MessageID}
		d.ruleSent(a, v, rc.Status.State(), t)
	}
	return d.change(), nil
}

// binds reports whether an id in the evidence is the first that the attempt gets: the status document shows it, so the version moves.
func (a Attempt) binds(id string) bool { return a.MessageID == "" && id != "" }

// otherID opens an incident when evidence names another id than the one that the attempt is bound to. Evidence without an id names none.
func (d *draft) otherID(a Attempt, id string) {
	if a.MessageID != "" && id != "" && id != a.MessageID {
		d.incident(IncidentTwoIDs, a.Number)
	}
}

// follows reports whether the notification's fate hangs on attempt n: it is the last attempt that the provider took.
func (d *draft) follows(n int) bool {
	for _, a := range d.rec.Attempts {
		if a.Number > n && a.Outcome == OutcomeAccepted {
			return false
		}
	}
	return true
}

// Conclusion is what one lookup allows to conclude about an attempt.
type Conclusion struct {
	Result    LookupResult
	Ruling    Ruling // "" : nothing
	MessageID string // of the match
	Proof     bool   // not_sent rests on a proof that the adapter declares
}

// Surroundings are the facts of our own side that a lookup's answer is read against.
type Surroundings struct {
	Bound  map[string]bool // provider ids that belong to other attempts
	Rivals bool            // another unresolved notification with the same number and text could own a candidate
	Age    time.Duration   // since the doubt began
	Can    Capabilities
}

// Conclude reads a lookup's answer. Absence concludes nothing unless the provider's adapter declares that it can be proof; then its lag must
// have passed, every page must have been read, and a later message of ours must be visible in the same answer.
func Conclude(f Finding, s Surroundings) Conclusion {
	if f.Err != nil {
		return Conclusion{Result: LookupFailed}
	}
	var free []Candidate
	for _, c := range f.Candidates {
		if !s.Bound[c.MessageID] {
			free = append(free, c)
		}
	}
	switch {
	case len(free) == 0 && s.Can.AbsenceProves && s.Age >= s.Can.AbsenceLag && f.Complete && f.LaterSeen:
		return Conclusion{Result: LookupAbsent, Ruling: RulingNotSent, Proof: true}
	case len(free) == 0:
		return Conclusion{Result: LookupEmpty}
	case s.Rivals:
		return Conclusion{Result: LookupAmbiguous}
	}
	oldest := free[0]
	for _, c := range free {
		if c.CreatedAt.Before(oldest.CreatedAt) {
			oldest = c
		}
	}
	if len(free) > 1 {
		return Conclusion{Result: LookupSeveral, Ruling: RulingSent, MessageID: oldest.MessageID}
	}
	return Conclusion{Result: LookupMatch, Ruling: RulingSent, MessageID: oldest.MessageID}
}

// RecordLookup attaches a lookup to attempt n, schedules the next one, and settles the attempt where the conclusion allows it. With
// autoResolve off a proof of absence is left to staff: the lookup is on record, and the attempt stays unknown.
func (r Record) RecordLookup(l Lookup, c Conclusion, autoResolve bool, t Terms) (Change, error) {
	a, err := r.Attempt(l.Attempt)
	if err != nil {
		return Change{}, fmt.Errorf("lookup for attempt %d: %w", l.Attempt, err)
	}
	d := r.draft(t.Now, l.By)
	l.Result, l.MessageID = c.Result, c.MessageID
	var next time.Time
	unsettled := a.Outcome == OutcomeUnknown || a.Outcome == OutcomeUndetermined
	if unsettled {
		next = NextLookup(a.UnknownSince, r.ExpiresAt, t)
	}
	ev := Event{Action: ActionLookupRecorded, Attempt: a.Number, Provider: l.Provider, Evidence: EvidenceLookup, Cause: string(c.Result),
		Outcome: a.Outcome}
	patch := &AttemptPatch{Number: a.Number, LookupAt: &next, Asked: true}
	if c.Ruling == RulingSent {
		patch.MessageID = c.MessageID
	}
	if a.binds(patch.MessageID) {
		ev.Version = d.moving()
	}
	d.add(Effect{Event: ev, Lookup: &l, Attempt: patch})
	d.otherID(a, c.MessageID)
	if c.Result == LookupSeveral {
		d.incident(IncidentAmbiguous, a.Number)
	}
	v := Verdict{Attempt: a.Number, Ruling: c.Ruling, By: l.By, At: t.Now, MessageID: c.MessageID}
	switch {
	case c.Ruling == RulingSent && a.Outcome.CanBecome(OutcomeAccepted):
		v.Grade, v.Next = GradeProviderConfirmed, NextClose
		d.ruleSent(a, v, StateSent, t)
	case c.Ruling == RulingNotSent && c.Proof && autoResolve && unsettled:
		v.Grade, v.Next = GradeProviderDenied, NextSendAgain
		d.ruleNotSent(v, t)
	}
	return d.change(), nil
}
