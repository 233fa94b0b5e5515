package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sentonce/dispatch"
	"sentonce/store/storetest"
)

// Random histories through the real store. Each step is drawn by the rules of the domain on what was stored before; what is stored after it
// has to be exactly that. In between everything is held against the log, and copies of the files against everything.
func TestStoreIsTheProjectionOfItsEvents(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	histories := 0
	rapid.Check(t, func(rt *rapid.T) {
		if histories++; histories > atMost(1_000_000, 4) {
			return
		}
		w := &world{T: rt, s: s, ctx: t.Context(), heard: map[string]bool{}}
		w.admit(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"":          w.check,
			"admit":     w.admit,
			"claim":     w.claim,
			"claim 2":   w.claim,
			"finish":    w.finish,
			"finish 2":  w.finish,
			"receipt":   w.receipt,
			"lookup":    w.lookup,
			"withdraw":  w.withdraw,
			"time":      w.pass,
			"sweep":     w.sweep,
			"interrupt": w.interrupt,
			"crash": func(rt *rapid.T) {
				if w.T = rt; rapid.IntRange(0, 2).Draw(rt, "now") == 0 {
					crashed(t, rt, w)
				}
			},
		})
	})
	c := checker{t, s.Readers()}
	c.log()
}

// world is a few notifications of one store.
type world struct {
	*rapid.T
	s     *storetest.Store
	ctx   context.Context
	ids   []dispatch.NotificationID
	heard map[string]bool // reports about an attempt that came already
}

func (w *world) admit(rt *rapid.T) {
	w.T = rt
	if len(w.ids) == 3 {
		return
	}
	a := w.s.Admission()
	a.ExpiresAt = w.s.Clock.Now().Add(time.Duration(rapid.IntRange(2, 600).Draw(rt, "life in seconds")) * time.Second)
	if rapid.IntRange(0, 2).Draw(rt, "subject") == 0 {
		a.Subject = dispatch.NewSecret(fmt.Sprintf("of %v", w.ids))
	}
	r, replayed, err := w.s.Admit(w.ctx, a)
	if err != nil || replayed {
		rt.Fatalf("admission: %v, replayed %t", err, replayed)
	}
	w.ids = append(w.ids, r.ID)
	again, replayed, err := w.s.Admit(w.ctx, a)
	if err != nil || !replayed || again.ID != r.ID {
		rt.Fatalf("its repeat: %v, replayed %t", err, replayed)
	}
}

// pick chooses a notification as it is stored.
func (w *world) pick(rt *rapid.T) dispatch.Record {
	w.T = rt
	return w.get(rapid.SampledFrom(w.ids).Draw(rt, "notification"))
}

func (w *world) get(id dispatch.NotificationID) dispatch.Record {
	r, err := w.s.Notification(w.ctx, w.s.Client, id)
	if err != nil {
		w.Fatalf("read %s: %v", id, err)
	}
	return r
}

// attempt chooses an attempt; 0: there is none.
func (w *world) attempt(r dispatch.Record) int {
	if len(r.Attempts) == 0 {
		return 0
	}
	return rapid.IntRange(1, len(r.Attempts)).Draw(w.T, "attempt")
}

func (w *world) terms() dispatch.Terms {
	return dispatch.Terms{Now: w.s.Clock.Now(), MinRemaining: w.s.Policy.MinRemaining, MaxAttempts: w.s.Policy.MaxAttempts}
}

// became compares what is stored with what the rules make of what was stored before.
func (w *world) became(before dispatch.Record, c dispatch.Change, ruled, err error) {
	if !errors.Is(err, ruled) || (ruled == nil) != (err == nil) {
		w.Fatalf("the rules say %v, the store %v", ruled, err)
	}
	want, got := rendered(before.Apply(c)), rendered(w.get(before.ID))
	if want != got {
		w.Fatalf("stored is\n%s\nthe rules give\n%s", got, want)
	}
}

// rendered is a record as text, without what only the store can know: new ids and the number of the last event.
func rendered(r dispatch.Record) string {
	r.LastSeq = 0
	r.Attempts, r.Incidents = slices.Clone(r.Attempts), slices.Clone(r.Incidents)
	for i := range r.Attempts {
		r.Attempts[i].ID = dispatch.AttemptID{}
	}
	for i := range r.Incidents {
		r.Incidents[i].ID = dispatch.IncidentID{}
	}
	slices.SortFunc(r.Incidents, func(a, b dispatch.Incident) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v", r.Notification, r.Permits, r.Attempts, r.Incidents)
}

func (w *world) claim(rt *rapid.T) {
	r := w.pick(rt)
	o := storetest.Order(r.ID)
	o.Provider = rapid.SampledFrom([]string{"main", "spare"}).Draw(rt, "provider")
	life := r.Life(w.s.Clock.Now())
	validity, fits := dispatch.Validity(o.Timeout, life, o.Can)
	timeout := dispatch.CallDeadline(o.Timeout, life).Truncate(time.Millisecond)
	a := dispatch.Attempt{Provider: o.Provider, DeadlineAt: w.s.Clock.Now().Add(timeout), Validity: validity}
	c, ruled := r.Start(a, w.terms())
	if ruled == nil && !fits {
		c, ruled = dispatch.Change{}, dispatch.ErrStale // the provider cannot express so short a life
	}
	_, err := w.s.Claim(w.ctx, o)
	w.became(r, c, sentinel(ruled), err)
}

// sentinel is the error that callers tell apart.
func sentinel(err error) error {
	for _, known := range []error{dispatch.ErrStale, dispatch.ErrStopped} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}

func (w *world) exchange() dispatch.Exchange {
	x := rapid.SampledFrom([]dispatch.Exchange{storetest.Taken("SM-" + w.ids[0].String()), storetest.Taken("SM-other"), storetest.TimedOut(),
		storetest.TimedOut(), storetest.NotConnected(), storetest.Refused(),
		{Phase: dispatch.PhaseAnswered, Answer: dispatch.Answer{Meaning: dispatch.MeaningTryLater, HTTPStatus: 429, Code: "20429", RequestID: "RQ1"}},
		{Phase: dispatch.PhaseAnswered, Answer: dispatch.Answer{Meaning: dispatch.MeaningRefusedHere, HTTPStatus: 400, SHA256: [32]byte{1}}},
		{Phase: dispatch.PhaseAnswered, Answer: dispatch.Answer{Meaning: dispatch.MeaningForeign, HTTPStatus: 502, MessageID: "SM-foreign"}},
	}).Draw(w.T, "exchange")
	return x
}

func (w *world) finish(rt *rapid.T) {
	r := w.pick(rt)
	n := w.attempt(r)
	if n == 0 {
		return
	}
	x, t := w.exchange(), w.terms()
	t.Delay, t.Schedule = time.Second, storetest.Schedule()
	t.Elsewhere, t.NoReceipts = rapid.Bool().Draw(rt, "elsewhere"), rapid.IntRange(0, 5).Draw(rt, "no receipts") == 0
	c, ruled := r.Finish(n, x, t)
	err := w.s.Finish(w.ctx, r.Attempts[n-1].Ref(r.ID), x, dispatch.FinishFacts{Delay: t.Delay, Schedule: t.Schedule, Elsewhere: t.Elsewhere,
		NoReceipts: t.NoReceipts})
	w.became(r, c, sentinel(ruled), err)
}

func (w *world) receipt(rt *rapid.T) {
	r := w.pick(rt)
	n := w.attempt(r)
	if n == 0 {
		return
	}
	a := r.Attempts[n-1]
	status := rapid.SampledFrom(dispatch.ReceiptStatuses()).Draw(rt, "status")
	rep := dispatch.Report{MessageID: rapid.SampledFrom([]string{"SM-" + r.ID.String(), "SM-other", ""}).Draw(rt, "id"), Status: status,
		Raw: string(status), Code: rapid.SampledFrom([]string{"", "30005"}).Draw(rt, "code")}
	key := fmt.Sprint(r.ID, n, rep, a.Provider)
	c, ruled := r.RecordReceipt(n, dispatch.Receipt{Provider: a.Provider, Report: rep, Repeat: w.heard[key]}, w.terms())
	ref := a.Ref(r.ID)
	_, err := w.s.RecordReceipt(w.ctx, a.Provider, rep, &ref)
	w.heard[key] = true
	w.became(r, c, ruled, err)
}

func (w *world) lookup(rt *rapid.T) {
	r := w.pick(rt)
	n := w.attempt(r)
	if n == 0 {
		return
	}
	a := r.Attempts[n-1]
	f := dispatch.Finding{Complete: rapid.Bool().Draw(rt, "complete"), LaterSeen: rapid.Bool().Draw(rt, "later seen"), Pages: 1, HTTPStatus: 200}
	for i := range rapid.IntRange(0, 2).Draw(rt, "candidates") {
		f.Candidates = append(f.Candidates, dispatch.Candidate{MessageID: fmt.Sprintf("SM-%s-%d-%d", r.ID, n, i), CreatedAt: a.StartedAt.Add(time.Duration(i))})
	}
	if rapid.IntRange(0, 3).Draw(rt, "failed") == 0 {
		f.Err = dispatch.ErrUnavailable
	}
	rep := dispatch.LookupReport{Job: dispatch.LookupJob{Reference: a.Ref(r.ID), Provider: a.Provider}, AskedAt: w.s.Clock.Now(), By: dispatch.Worker(),
		Finding: f, Can: dispatch.Capabilities{AbsenceProves: rapid.Bool().Draw(rt, "absence proves"), AbsenceLag: 10 * time.Second},
		AutoResolve: rapid.Bool().Draw(rt, "auto resolve"), Schedule: storetest.Schedule(), Delay: time.Second}
	t := w.terms()
	t.Schedule, t.Delay = rep.Schedule, rep.Delay
	con := dispatch.Conclude(f, dispatch.Surroundings{Age: t.Now.Sub(a.UnknownSince), Can: rep.Can})
	c, ruled := r.RecordLookup(dispatch.Lookup{Attempt: n, Provider: a.Provider, By: rep.By}, con, rep.AutoResolve, t)
	result, err := w.s.RecordLookup(w.ctx, rep)
	w.became(r, c, ruled, err)
	if result != con.Result {
		rt.Fatalf("the lookup's result is %s, want %s", result, con.Result)
	}
}

func (w *world) withdraw(rt *rapid.T) {
	r := w.pick(rt)
	by := dispatch.Actor{Kind: dispatch.ActorClient, ID: "k"}
	c := r.Withdraw(dispatch.ReasonWithdrawnByClient, "other", by, w.s.Clock.Now())
	_, err := w.s.Withdraw(w.ctx, dispatch.Withdrawal{Client: w.s.Client, ID: r.ID, Cause: dispatch.CauseOther, By: by})
	w.became(r, c, nil, err)
}

func (w *world) pass(rt *rapid.T) {
	steps := []time.Duration{time.Millisecond, time.Second, 20 * time.Second, 5 * time.Minute, 80 * time.Hour}
	w.s.Clock.Add(rapid.SampledFrom(steps).Draw(rt, "step"))
}

// sweep ends what is over, round after round as the sweeper does, until nothing moves.
func (w *world) sweep(rt *rapid.T) {
	w.T = rt
	var before []dispatch.Record
	for _, id := range w.ids {
		before = append(before, w.get(id))
	}
	for moved := 1; moved > 0; {
		var err error
		if moved, err = w.s.EndLives(w.ctx, false, 1000); err != nil {
			rt.Fatal(err)
		}
	}
	for _, r := range before {
		expired, err1 := r.Expire(w.terms())
		final, err2 := r.Apply(expired).Finalise(w.s.Clock.Now())
		for _, err := range []error{err1, err2} {
			if err != nil && !errors.Is(err, dispatch.ErrStale) {
				rt.Fatal(err)
			}
		}
		w.became(r, dispatch.Change{Effects: slices.Concat(expired.Effects, final.Effects)}, nil, nil)
	}
}

// interrupt is what a restart does to the calls that were open.
func (w *world) interrupt(rt *rapid.T) {
	w.T = rt
	t := w.terms()
	t.Schedule = storetest.Schedule()
	changes := map[dispatch.NotificationID]dispatch.Change{}
	before := map[dispatch.NotificationID]dispatch.Record{}
	for _, id := range w.ids {
		before[id] = w.get(id)
		c, err := before[id].Interrupt(t)
		if err != nil && !errors.Is(err, dispatch.ErrStale) {
			rt.Fatal(err)
		}
		changes[id] = c
	}
	if _, err := w.s.Recover(w.ctx, func(string) []time.Duration { return storetest.Schedule() }); err != nil {
		rt.Fatal(err)
	}
	for _, id := range w.ids {
		w.became(before[id], changes[id], nil, nil)
	}
}
