package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

func TestPool_DrainRecordsThroughAStoreThatFailsForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			dispatchtest.Wait(ctx, 3*time.Second)
			return dispatchtest.Taken("m")
		})
		r := newRig(t, nil, route("main", p))
		r.start()
		id := r.admit(1, 1, time.Hour)[0]
		gap(time.Second)
		healthy := time.Now().Add(7 * time.Second)
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpFinish && time.Now().Before(healthy) {
				return dispatch.ErrUnavailable
			}
			return nil
		})
		r.mustEnd()
		r.mustBe(id, dispatch.StateSent)
	})
}

func TestPool_DrainGivesUpInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, route("main", scripted(dispatchtest.AlwaysTaken)))
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpFinish {
				return dispatch.ErrUnavailable
			}
			return nil
		})
		r.start()
		id := r.admit(1, 1, time.Hour)[0]
		gap(time.Second)
		before := time.Now()
		err := r.end()
		if took := time.Since(before); took > 15*time.Second {
			t.Errorf("the stop took %v, more than timeout + 5 s", took)
		}
		if err == nil || !strings.Contains(r.log.String(), "was not stored") {
			t.Errorf("a lost result went unsaid: %v", err)
		}
		r.mustBe(id, dispatch.StateDispatching) // and the next start makes it unknown
	})
}

func TestFieldF06_ResultIsKeptThroughAMinuteOfLockedStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locked atomic.Bool
		p := scripted(func(_ context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			locked.Store(n == 1) // right after the provider took it
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 1 }, route("main", p))
		r.store.SetFault(func(op string) error {
			if locked.Load() && op != dispatchtest.OpDue {
				return dispatch.ErrUnavailable
			}
			return nil
		})
		r.start()
		ids := r.admit(2, 1, time.Hour)
		gap(time.Minute)
		if n := len(p.Calls()); n != 1 {
			t.Fatalf("%d calls while no outcome can be recorded, want 1", n)
		}
		if n := r.store.Calls(dispatchtest.OpFinish); n < 60 || n > 150 {
			t.Errorf("%d tries to store the result in a minute, want about one a second", n)
		}
		locked.Store(false)
		gap(2 * time.Second)
		r.mustBe(ids[0], dispatch.StateSent)
		r.mustBe(ids[1], dispatch.StateSent)
		if n := len(p.Calls()); n != 2 {
			t.Errorf("%d calls for two notifications", n)
		}
		r.mustEnd()
	})
}

func TestPool_DoesNotSpinOnAStoreThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 32 }, route("main", scripted(dispatchtest.AlwaysTaken)))
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpClaim && broken.Load() {
				return fmt.Errorf("disk full: %w", dispatch.ErrUnavailable)
			}
			return nil
		})
		r.start()
		r.admit(100, 1, time.Hour)
		gap(30 * time.Second)
		if n := r.store.Calls(dispatchtest.OpClaim); n > 120 {
			t.Errorf("%d claims in half a minute of a store that fails", n)
		}
		if n := strings.Count(r.log.String(), "the store fails"); n != 1 {
			t.Errorf("the trouble was logged %d times, want once", n)
		}
		broken.Store(false)
		gap(2 * time.Second)
		if n := r.store.Count(dispatch.StateSent); n != 100 {
			t.Errorf("%d sent after the store recovered, want 100", n)
		}
		r.mustEnd()
	})
}

func TestPool_ALostClaimIsNormal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(dispatchtest.AlwaysTaken)
		r := newRig(t, nil, route("main", p))
		var first atomic.Bool
		var ids []dispatch.NotificationID
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpClaim && first.CompareAndSwap(false, true) {
				r.store.Withdraw(ids[0])
			}
			return nil
		})
		ids = r.admit(1, 1, time.Hour)
		r.start()
		gap(time.Second)
		r.mustBe(ids[0], dispatch.StateCancelled)
		if len(p.Calls()) != 0 || r.log.String() != "" {
			t.Errorf("calls %v, log %q", p.Calls(), r.log.String())
		}
		if st := r.pool.Status()[0]; st.InFlight != 0 {
			t.Errorf("%d slots are still taken", st.InFlight)
		}
		r.mustEnd()
	})
}

func TestPool_NothingIsHandedOutTwiceWhileItsClaimIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		slow.Store(true)
		r := newRig(t, nil, route("main", scripted(dispatchtest.AlwaysTaken)))
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpClaim && slow.Load() {
				dispatchtest.Wait(t.Context(), 3*time.Second)
			}
			return nil
		})
		r.start()
		first := r.admit(1, 1, time.Hour)[0]
		for range 20 {
			gap(100 * time.Millisecond)
			r.pool.Wake()
		}
		if n := r.store.Calls(dispatchtest.OpClaim); n != 1 {
			t.Errorf("%d claims of one notification", n)
		}
		slow.Store(false) // and it holds nobody else up
		second := r.admit(1, 1, time.Hour)[0]
		synctest.Wait()
		r.mustBe(second, dispatch.StateSent)
		gap(2 * time.Second)
		r.mustBe(first, dispatch.StateSent)
		r.mustEnd()
	})
}

func TestPool_AStoreThatCannotAnswerBeforeTheFirstByteStopsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(dispatchtest.AlwaysTaken)
		r := newRig(t, nil, route("main", p))
		var asked atomic.Int64
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpMayStillSend && asked.Add(1) == 1 {
				return errors.New("locked")
			}
			return nil
		})
		r.start()
		id := r.admit(1, 1, time.Hour)[0]
		gap(5 * time.Second)
		rec := r.store.Record(id)
		if rec.State != dispatch.StateSent || len(rec.Attempts) != 2 || rec.Attempts[0].Rule != dispatch.R2 {
			t.Errorf("%s after %+v", rec.State, rec.Attempts)
		}
		r.mustEnd()
	})
}

func TestPool_ALateAnswerBeforeTheFirstByteIsNoPermission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(dispatchtest.AlwaysTaken)
		r := newRig(t, nil, route("main", p))
		var asked atomic.Int64
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpMayStillSend && asked.Add(1) == 1 {
				dispatchtest.Wait(t.Context(), 2500*time.Millisecond)
			}
			return nil
		})
		r.start()
		id := r.admit(1, 1, time.Hour)[0]
		gap(10 * time.Second)
		if a := r.store.Record(id).Attempts; len(a) != 2 || a[0].Rule != dispatch.R2 || len(p.Calls()) != 1 {
			t.Errorf("%d calls, attempts %+v", len(p.Calls()), a)
		}
		r.mustEnd()
	})
}

func TestPool_PausesReachTheJournalThroughAFailingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(_ context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			if n == 1 {
				return dispatchtest.TryLater(time.Second)
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, nil, route("main", p))
		works := time.Now().Add(30 * time.Second)
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpNote && time.Now().Before(works) {
				return dispatch.ErrUnavailable
			}
			return nil
		})
		r.start()
		began := time.Now()
		id := r.admit(1, 1, time.Hour)[0]
		gap(10 * time.Second)
		r.mustBe(id, dispatch.StateSent) // nobody waits for the journal
		gap(25 * time.Second)
		r.mustEnd()
		r.mustNote("provider_paused main throttled", "provider_resumed main throttled")
		if at := r.store.Notes()[0].At; !at.Equal(began) {
			t.Errorf("the event says %v, want when it happened", at)
		}
	})
}
