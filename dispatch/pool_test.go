package dispatch_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

func TestPool_WakeLeadsToTheCallWithoutAnyTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(dispatchtest.AlwaysTaken)
		r := newRig(t, nil, route("main", p))
		r.start()
		gap(time.Second)
		before := time.Now()
		id := r.admit(1, 1, time.Minute)[0]
		synctest.Wait()
		if calls := p.Calls(); len(calls) != 1 || !calls[0].At.Equal(before) {
			t.Fatalf("the call came at %v, the wake-up at %v", calls, before)
		}
		r.mustBe(id, dispatch.StateSent)
		r.mustEnd()
	})
}

func TestPool_NoClaimWithoutAFreeSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			dispatchtest.Wait(ctx, time.Second)
			return dispatchtest.Taken("m")
		})
		slow := route("main", p)
		slow.Concurrency = 3
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 8 }, slow)
		r.start()
		r.admit(50, 1, time.Hour)
		for range 10 {
			gap(100 * time.Millisecond)
			if n := r.store.Count(dispatch.StateDispatching); n > 3 {
				t.Fatalf("%d notifications are claimed, and only 3 calls are possible", n)
			}
		}
		if claims := len(r.store.Claims()); claims < 3 || claims > 6 {
			t.Errorf("%d claims after a second of three slots", claims)
		}
		r.mustEnd()
		if p.Most() > 3 {
			t.Errorf("%d calls at once, want at most 3", p.Most())
		}
	})
}

func TestPool_WorkersLimitCallsOverAllRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			dispatchtest.Wait(ctx, time.Second)
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 2 }, route("main", p))
		r.start()
		r.admit(10, 1, time.Hour)
		gap(4500 * time.Millisecond)
		if p.Most() != 2 {
			t.Errorf("%d calls at once, want 2", p.Most())
		}
		if n := len(r.store.Claims()); n != 10 {
			t.Errorf("%d claims after 4.5 s, want 10", n)
		}
		r.mustEnd()
	})
}

func TestPool_OneClientsQueueDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			dispatchtest.Wait(ctx, 100*time.Millisecond)
			return dispatchtest.Taken("m")
		})
		r := newRig(t, nil, route("main", p))
		r.admit(10_000, 1, time.Hour)
		r.start()
		gap(time.Second)
		already := len(r.store.Claims())
		other := r.admit(1, 2, time.Hour)[0]
		gap(time.Second)
		for i, c := range r.store.Claims()[already:] {
			if c.ID == other && i < 4 { // the four workers claim at once
				r.mustEnd()
				return
			}
		}
		t.Errorf("the other client's event was not among the next four hand-outs")
		r.mustEnd()
	})
}

func TestPool_DrainWaitsForTheCallAndRecordsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			dispatchtest.Wait(ctx, 3*time.Second)
			if ctx.Err() != nil {
				return dispatchtest.Cut()
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, nil, route("main", p))
		r.start()
		ids := r.admit(5, 1, time.Hour) // four calls at once, the fifth waits
		gap(time.Second)
		before := time.Now()
		r.mustEnd()
		if took := time.Since(before); took != 2*time.Second {
			t.Errorf("the stop took %v, want the 2 s that the calls had left", took)
		}
		for _, id := range ids[:4] {
			r.mustBe(id, dispatch.StateSent)
		}
		r.mustBe(ids[4], dispatch.StateAccepted)
	})
}

func TestPool_WithdrawnBetweenClaimAndFirstByteIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(dispatchtest.AlwaysTaken)
		r := newRig(t, nil, route("main", p))
		var id dispatch.NotificationID
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpMayStillSend {
				r.store.Withdraw(id)
			}
			return nil
		})
		for range 8 { // as often as would open a breaker, were it the provider's fault
			id = r.admit(1, 1, time.Hour)[0]
			r.start()
			gap(time.Second)
			r.mustBe(id, dispatch.StateCancelled)
			r.mustEnd()
		}
		if len(p.Calls()) != 0 {
			t.Errorf("%d calls", len(p.Calls()))
		}
		if st := r.pool.Status()[0]; st.Breaker != "closed" {
			t.Errorf("our own stops opened the breaker: %+v", st)
		}
	})
}

func TestPool_ASecondRunIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, route("main", scripted(dispatchtest.AlwaysTaken)))
		r.start()
		if err := r.pool.Run(t.Context()); !errors.Is(err, dispatch.ErrRunning) {
			t.Errorf("the second Run says %v", err)
		}
		r.mustEnd()
	})
}

func TestPool_StartAndStopStress(t *testing.T) {
	t.Parallel()
	p := scripted(dispatchtest.AlwaysTaken)
	r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 16 }, route("main", p))
	var wakers sync.WaitGroup
	for i := range 4 {
		wakers.Go(func() {
			for range 100 {
				r.store.Admit(dispatchtest.Client(byte(i+1)), time.Hour)
				r.pool.Wake()
			}
		})
	}
	for range 50 {
		ctx, stop := context.WithCancel(t.Context())
		go stop()
		if err := r.pool.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wakers.Wait()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	go func() {
		defer stop()
		for ctx.Err() == nil && r.store.Count(dispatch.StateSent) < 400 {
			dispatchtest.Wait(ctx, 5*time.Millisecond)
		}
	}()
	if err := r.pool.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := r.store.Count(dispatch.StateSent); n != 400 || len(p.Calls()) != 400 {
		t.Errorf("%d sent by %d calls, want 400 by 400", n, len(p.Calls()))
	}
}

func TestPool_ClaimsNothingWhilePaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var paused atomic.Bool
		paused.Store(true)
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Paused = paused.Load }, route("main", scripted(dispatchtest.AlwaysTaken)))
		r.start()
		id := r.admit(1, 1, time.Hour)[0]
		gap(time.Minute)
		r.mustBe(id, dispatch.StateAccepted)
		paused.Store(false)
		r.pool.Wake()
		synctest.Wait()
		r.mustBe(id, dispatch.StateSent)
		r.mustEnd()
	})
}

func TestNewPool_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	store := dispatchtest.NewMemoryStore(dispatch.SystemClock{})
	good := func() dispatch.PoolConfig {
		return dispatch.PoolConfig{Queue: store, Journal: store, Clock: dispatch.SystemClock{}, Workers: 1,
			Routes: []dispatch.Route{route("main", scripted(dispatchtest.AlwaysTaken))}}
	}
	if _, err := dispatch.NewPool(good()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*dispatch.PoolConfig){
		"no queue":      func(c *dispatch.PoolConfig) { c.Queue = nil },
		"no workers":    func(c *dispatch.PoolConfig) { c.Workers = 0 },
		"no routes":     func(c *dispatch.PoolConfig) { c.Routes = nil },
		"no timeout":    func(c *dispatch.PoolConfig) { c.Routes[0].Timeout = 0 },
		"twice a name":  func(c *dispatch.PoolConfig) { c.Routes = append(c.Routes, c.Routes[0]) },
		"no name":       func(c *dispatch.PoolConfig) { c.Routes[0].Name = "" },
		"negative rate": func(c *dispatch.PoolConfig) { c.Routes[0].RatePerSecond = -1 },
	} {
		cfg := good()
		spoil(&cfg)
		if _, err := dispatch.NewPool(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
