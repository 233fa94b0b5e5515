package dispatch

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Random histories of everything that can happen, on up to six notifications, against the truth of a small world. A failure prints the
// shortest history that shows it and how to run that one again.
func TestNoHistoryBreaksTheInvariants(t *testing.T) {
	t.Parallel()
	for part := range 2 { // some hundred histories, some ten thousand steps; -rapid.checks asks for more
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, anyHistory)
		})
	}
}

func anyHistory(t *rapid.T) {
	w := newWorld(t)
	for range 5 {
		t.Repeat(map[string]func(*rapid.T){
			"":          w.check,
			"admit":     w.admit,
			"claim":     w.claim,
			"claim 2":   w.claim, // twice, so that histories get somewhere
			"answer":    w.answer,
			"answer 2":  w.answer,
			"receipt":   w.receipt,
			"lookup":    w.lookup,
			"verdict":   w.verdict,
			"withdraw":  w.withdraw,
			"time":      w.pass,
			"sweep":     w.sweep,
			"crash":     w.crash,
			"set aside": w.setAside,
		})
	}
	w.end(t)
}

func (w *world) claim(t *rapid.T) {
	l, terms := w.pick(t), w.terms(t)
	before := l.rec
	life := before.ExpiresAt.Sub(w.now)
	w.ids++
	c, err := before.Start(Attempt{ID: AttemptID{byte(w.ids), 1}, Provider: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "provider"),
		DeadlineAt: w.now.Add(CallDeadline(10*time.Second, life))}, terms)
	if !l.apply(t, c, err) {
		if before.State == StateAccepted && life >= terms.MinRemaining && life > 0 {
			t.Fatalf("a waiting notification cannot be sent: %v", err)
		}
		return
	}
	l.calls = append(l.calls, &call{id: fmt.Sprintf("SM%d", w.ids), listen: true, named: map[string]bool{}, heard: map[string]bool{}})
}

// pickCall chooses a call; n is 0 when there is none that fits.
func (l *life) pickCall(t *rapid.T, fits func(*call) bool) (n int) {
	var fitting []int
	for i, c := range l.calls {
		if fits(c) {
			fitting = append(fitting, i+1)
		}
	}
	if len(fitting) == 0 {
		return 0
	}
	return rapid.SampledFrom(fitting).Draw(t, "call")
}

func (w *world) answer(t *rapid.T) {
	l := w.pick(t)
	n := l.pickCall(t, func(c *call) bool { return c.listen })
	if n == 0 {
		return
	}
	c, x := l.calls[n-1], anyExchange().Draw(t, "exchange")
	says := word(x)
	if says != fateOpen && !w.settle(t, c, says) {
		x, says = hung(), fateOpen // the truth does not come through
	}
	if says == fateTaken && !w.mistaken(t) {
		x.Answer.MessageID = c.id
	}
	before := l.rec.Attempts[n-1].Outcome
	ch, err := l.rec.Finish(n, x, w.terms(t))
	if !l.apply(t, ch, err) {
		t.Fatalf("an answer is lost: %v", err)
	}
	c.listen = false
	switch {
	case says == fateTaken:
		l.positive(n, x.Answer.MessageID, before)
	case says == fateNotTaken && c.shown:
		l.contradicted = true
	}
	if again, err := l.rec.Finish(n, x, w.terms(t)); err == nil || len(again.Effects) != 0 {
		t.Fatal("a second result was taken")
	}
}

func (w *world) receipt(t *rapid.T) {
	l := w.pick(t)
	n := l.pickCall(t, func(*call) bool { return true })
	if n == 0 || !w.settle(t, l.calls[n-1], fateTaken) {
		return
	}
	c, id := l.calls[n-1], l.calls[n-1].id
	if often(t, "other id", false, true) {
		id = rapid.SampledFrom([]string{"", "SM0"}).Draw(t, "id")
	}
	status := rapid.SampledFrom(append(ReceiptStatuses(), "")).Draw(t, "status")
	key := id + string(status)
	rc := Receipt{Provider: "a", Repeat: c.heard[key], Report: Report{MessageID: id, Status: status, Code: "1"}}
	c.heard[key] = true
	before := l.rec
	ch, err := l.rec.RecordReceipt(n, rc, w.terms(t))
	if !l.apply(t, ch, err) {
		t.Fatalf("a receipt is lost: %v", err)
	}
	if rc.Repeat && (l.rec.Version != before.Version || l.rec.State != before.State) {
		t.Fatal("a repeated receipt moved the notification")
	}
	l.positive(n, id, before.Attempts[n-1].Outcome)
}

func (w *world) lookup(t *rapid.T) {
	l := w.pick(t)
	n := l.pickCall(t, func(*call) bool { return true })
	if n == 0 {
		return
	}
	c, a := l.calls[n-1], l.rec.Attempts[n-1]
	f := Finding{Complete: rapid.Bool().Draw(t, "complete"), LaterSeen: rapid.Bool().Draw(t, "later seen")}
	s := Surroundings{Bound: w.bound(l, n), Rivals: often(t, "rivals", false, true), Age: w.now.Sub(a.StartedAt),
		Can: Capabilities{AbsenceProves: rapid.Bool().Draw(t, "absence proves"), AbsenceLag: 10 * time.Second}}
	switch rapid.SampledFrom([]string{"found", "not found", "failed"}).Draw(t, "answer") {
	case "failed":
		f.Err = ErrUnavailable
	case "found":
		if !w.settle(t, c, fateTaken) {
			return
		}
		f.Candidates = []Candidate{{MessageID: c.id, CreatedAt: w.now}}
		if !w.honest && rapid.Bool().Draw(t, "one more") {
			f.Candidates = append(f.Candidates, Candidate{MessageID: "SM0", CreatedAt: w.now.Add(-1)})
		}
	case "not found":
		if s.Can.AbsenceProves && f.Complete && f.LaterSeen && s.Age >= s.Can.AbsenceLag && a.Outcome != OutcomePending &&
			!w.settle(t, c, fateNotTaken) {
			return
		}
	}
	con := Conclude(f, s)
	ch, err := l.rec.RecordLookup(Lookup{Attempt: n, Provider: a.Provider, By: Worker()}, con, rapid.Bool().Draw(t, "auto resolve"), w.terms(t))
	if !l.apply(t, ch, err) {
		t.Fatalf("a lookup is lost: %v", err)
	}
	if con.Ruling == RulingSent {
		l.positive(n, con.MessageID, a.Outcome)
	}
}

// bound lists the ids that other attempts are bound to.
func (w *world) bound(own *life, n int) map[string]bool {
	ids := map[string]bool{}
	for _, l := range w.lives {
		for _, a := range l.rec.Attempts {
			if l != own || a.Number != n {
				ids[a.MessageID] = true
			}
		}
	}
	return ids
}

func (w *world) verdict(t *rapid.T) {
	l := w.pick(t)
	n := l.pickCall(t, func(*call) bool { return true })
	if n == 0 {
		return
	}
	ruling := often(t, "ruling", RulingNotSent, RulingSent, RulingUndetermined)
	v := personal(n, ruling, often(t, "next", NextSendAgain, NextClose, ""))
	a := l.rec.Attempts[n-1]
	truth := map[Ruling]fate{RulingSent: fateTaken, RulingNotSent: fateNotTaken}[v.Ruling]
	if v.Ruling == RulingNotSent && a.Outcome == OutcomePending {
		truth = fateOpen // the rules must refuse it; it tells nothing
	}
	if truth != fateOpen && !w.settle(t, l.calls[n-1], truth) {
		return
	}
	ch, err := l.rec.Settle(v, w.terms(t))
	applied := l.apply(t, ch, err)
	if may := slices.Contains(outcomeSteps()[a.Outcome], v.Ruling.Outcome()) && (a.Outcome != OutcomePending || v.Ruling == RulingSent); applied != may {
		t.Fatalf("verdict %s on %s: %v", v.Ruling, a.Outcome, err)
	}
	if applied && v.Ruling == RulingSent {
		l.positive(n, "", a.Outcome)
	}
}

func (w *world) withdraw(t *rapid.T) {
	if often(t, "withdraw", false, true) {
		w.withdrawOne(t, w.pick(t))
	}
}

func (w *world) withdrawOne(t *rapid.T, l *life) {
	why := rapid.SampledFrom([]Reason{ReasonWithdrawnByClient, ReasonWithdrawnByStaff, ReasonSuperseded, ReasonRestored}).Draw(t, "why")
	before := l.rec
	l.apply(t, before.Withdraw(why, "other", Actor{ActorClient, "key"}, w.now), nil)
	if idle := before.State.Stopped() || !before.WithdrawnAt.IsZero(); idle != (l.rec.Version == before.Version) {
		t.Fatal("a withdrawal is lost or was taken twice")
	}
}

func (w *world) pass(t *rapid.T) {
	switch often(t, "time", "a little", "to an expiry", "a day") {
	case "a little":
		w.now = w.now.Add(rapid.SampledFrom([]time.Duration{1, time.Second, 20 * time.Second}).Draw(t, "step"))
	case "a day":
		w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Hour, 24 * time.Hour}).Draw(t, "step"))
	default:
		if at := w.pick(t).rec.ExpiresAt; at.After(w.now) {
			w.now = at
		}
	}
}

func (w *world) sweep(t *rapid.T) {
	l := w.pick(t)
	c, err := l.rec.Expire(w.terms(t))
	l.apply(t, c, err)
	if live := l.rec.State == StateAccepted || l.rec.State == StateUnknown; live && !w.now.Before(l.rec.ExpiresAt) {
		t.Fatalf("it is %s at its expiry, after the sweep", l.rec.State)
	}
	c, err = l.rec.Finalise(w.now)
	l.apply(t, c, err)
}

// crash ends the process: no call is listened to any more, and each that is pending becomes a doubt.
func (w *world) crash(t *rapid.T) {
	for _, l := range w.lives {
		for _, c := range l.calls {
			c.listen = false
		}
		c, err := l.rec.Interrupt(w.terms(t))
		l.apply(t, c, err)
		if a, open := l.rec.OpenAttempt(); open && a.Outcome == OutcomePending {
			t.Fatal("an attempt is pending after the restart")
		}
	}
}

func (w *world) setAside(t *rapid.T) {
	if often(t, "unreadable", false, true) {
		l := w.pick(t)
		c, err := l.rec.SetAside(w.now)
		l.apply(t, c, err)
	}
}

// end checks that nothing stays open: after a restart and the expiry every notification has stopped, and no doubt is left.
func (w *world) end(t *rapid.T) {
	w.crash(t)
	w.now = w.now.Add(1000 * time.Hour)
	for _, l := range w.lives {
		for range 2 {
			c, err := l.rec.Expire(w.terms(t))
			l.apply(t, c, err)
			c, err = l.rec.Finalise(w.now)
			l.apply(t, c, err)
		}
		if _, open := l.rec.OpenAttempt(); open || !stopped(l.rec.State) || !l.rec.Final {
			t.Fatalf("after the end: %s, final %t, a doubt left: %t", l.rec.State, l.rec.Final, open)
		}
	}
	w.check(t)
}
