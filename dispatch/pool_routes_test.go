package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

func TestPool_RoutesInOrderAroundWhatIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := scripted(func(_ context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			if n == 2 {
				return dispatchtest.TryLater(time.Hour)
			}
			return dispatchtest.Taken("m")
		})
		second := scripted(dispatchtest.AlwaysTaken)
		r := newRig(t, nil, route("first", first), route("second", second))
		r.start()
		a := r.admit(1, 1, time.Hour)[0]
		gap(time.Second)
		b := r.admit(1, 1, 30*time.Minute)[0]
		gap(time.Second) // the second provider is open, so that it does not wait for the first one's hour
		c := r.admit(1, 1, time.Hour)[0]
		gap(time.Second)
		for id, want := range map[dispatch.NotificationID]string{a: "first", b: "second", c: "second"} {
			rec := r.store.Record(id)
			if got := rec.Attempts[len(rec.Attempts)-1].Provider; got != want || rec.State != dispatch.StateSent {
				t.Errorf("%s through %s, want sent through %s", rec.State, got, want)
			}
		}
		if r.pool.Unavailable() {
			t.Error("unavailable with a provider open")
		}
		r.mustEnd()
	})
}

func TestPool_ARefusalByOneProviderMovesOnToTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context, int, dispatch.Message) dispatch.Exchange {
			return dispatchtest.Answered(dispatch.MeaningRefusedHere)
		}
		unbuildable := func(context.Context, int, dispatch.Message) dispatch.Exchange {
			return dispatch.Exchange{Phase: dispatch.PhaseNone, Err: dispatch.ErrUnbuildable}
		}
		a, b, c := scripted(refuse), scripted(unbuildable), scripted(refuse)
		r := newRig(t, nil, route("a", a), route("b", b), route("c", c))
		r.start()
		id := r.admit(1, 1, time.Hour)[0]
		gap(time.Minute)
		rec := r.store.Record(id)
		if rec.State != dispatch.StateFailed || len(rec.Attempts) != 3 {
			t.Errorf("%s after %d attempts, want failed after one per provider", rec.State, len(rec.Attempts))
		}
		if st := r.pool.Status()[0]; st.Breaker != "closed" || st.Cause != "" {
			t.Errorf("a refused message says nothing about its provider: %+v", st)
		}
		r.mustEnd()
	})
}

func TestPool_WhatCanGoNowhereHoldsNobodyUpAndDoesNotSpin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(dispatchtest.AlwaysTaken)
		p.Can.ValidityUnit, p.Can.ValidityMin = time.Minute, time.Minute
		r := newRig(t, nil, route("main", p))
		sweeper := r.sweep()
		stuck := r.admit(300, 1, 50*time.Second) // a provider that counts in minutes cannot express that
		r.start()
		gap(time.Second)
		fine := r.admit(20, 1, time.Hour)
		other := r.admit(1, 2, time.Hour)
		synctest.Wait()
		for _, id := range append(fine, other...) {
			r.mustBe(id, dispatch.StateSent)
		}
		looks := r.store.Calls(dispatchtest.OpDue)
		gap(45 * time.Second)
		if n := r.store.Calls(dispatchtest.OpDue) - looks; n > 20 {
			t.Errorf("%d looks in 45 s in which nothing happened", n)
		}
		for _, id := range stuck {
			r.mustBe(id, dispatch.StateAccepted)
		}
		gap(10 * time.Second)
		for _, id := range stuck {
			r.mustBe(id, dispatch.StateExpired)
		}
		sweeper()
		r.mustEnd()
	})
}

func TestPool_FinishFactsOfTheRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(context.Context, int, dispatch.Message) dispatch.Exchange { return dispatchtest.Cut() })
		p.Can.Lookup = dispatch.LookupByRecipient
		silent := route("silent", p) // declares lookups, but is no Finder
		silent.Schedule = []time.Duration{time.Second}
		r := newRig(t, func(c *dispatch.PoolConfig) {
			c.ReceiptURL = func(route string, ref dispatch.Reference) string { return "https://x/receipts/" + route }
		}, silent)
		r.start()
		id := r.admit(1, 1, time.Hour)[0]
		gap(time.Second)
		if a := r.store.Record(id).Attempts[0]; !a.LookupAt.IsZero() {
			t.Errorf("a lookup is planned at %v with nobody to ask", a.LookupAt)
		}
		if got := p.Calls()[0].Receipt; got != "https://x/receipts/silent" {
			t.Errorf("receipt URL %q", got)
		}
		r.mustEnd()
	})
}

func TestPool_AHeldProviderGetsNothingUntilItIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, route("main", scripted(dispatchtest.AlwaysTaken)))
		r.start()
		if r.pool.Hold("nobody", true) || !r.pool.Hold("main", true) {
			t.Error("Hold does not know its providers")
		}
		id := r.admit(1, 1, time.Hour)[0]
		gap(time.Minute)
		r.mustBe(id, dispatch.StateAccepted)
		if !r.pool.Unavailable() {
			t.Error("held, and yet available")
		}
		r.pool.Hold("main", false)
		synctest.Wait()
		r.mustBe(id, dispatch.StateSent)
		r.mustEnd()
	})
}
