package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

// rig is a pool over a store in memory, inside a bubble.
type rig struct {
	t     *testing.T
	store *dispatchtest.MemoryStore
	pool  *dispatch.Pool
	log   *lockedBuffer
	stop  context.CancelFunc
	ended chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func scripted(s dispatchtest.Script) *dispatchtest.ScriptedProvider {
	return &dispatchtest.ScriptedProvider{Script: s, Can: dispatch.Capabilities{Receipts: true}}
}

func route(name string, p dispatch.Provider) dispatch.Route {
	return dispatch.Route{Name: name, Provider: p, Timeout: 10 * time.Second}
}

// newRig makes a rig that does not run yet; with may change the configuration.
func newRig(t *testing.T, with func(*dispatch.PoolConfig), routes ...dispatch.Route) *rig {
	t.Helper()
	r := &rig{t: t, store: dispatchtest.NewMemoryStore(dispatch.SystemClock{}), log: &lockedBuffer{}, ended: make(chan error, 1)}
	cfg := dispatch.PoolConfig{Queue: r.store, Journal: r.store, Clock: dispatch.SystemClock{}, Workers: 4, Routes: routes,
		Logger: slog.New(slog.NewTextHandler(r.log, nil)), Random: func() float64 { return 0.5 }, MinRemaining: time.Millisecond}
	if with != nil {
		with(&cfg)
	}
	pool, err := dispatch.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.pool = pool
	return r
}

func (r *rig) start() {
	ctx, stop := context.WithCancel(r.t.Context())
	r.stop = stop
	go func() { r.ended <- r.pool.Run(ctx) }()
	synctest.Wait()
}

// end stops the pool and returns what Run said.
func (r *rig) end() error {
	r.stop()
	return <-r.ended
}

func (r *rig) mustEnd() {
	r.t.Helper()
	if err := r.end(); err != nil {
		r.t.Errorf("Run ended with %v", err)
	}
}

func (r *rig) admit(n int, client byte, life time.Duration) (ids []dispatch.NotificationID) {
	for range n {
		ids = append(ids, r.store.Admit(dispatchtest.Client(client), life))
	}
	r.pool.Wake()
	return ids
}

func (r *rig) mustBe(id dispatch.NotificationID, want dispatch.State) {
	r.t.Helper()
	if got := r.store.Record(id).State; got != want {
		r.t.Errorf("the notification is %s, want %s", got, want)
	}
}

// gap lets d pass in the bubble.
func gap(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

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
			if c.ID == other && i <= 1 {
				r.mustEnd()
				return
			}
		}
		t.Errorf("the other client's event was not among the next two hand-outs")
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

func TestPool_APanickingAdapterMakesADoubtAndNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(_ context.Context, n int, m dispatch.Message) dispatch.Exchange {
			if n <= 2 {
				panic("boom " + m.Text.Reveal())
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 1 }, route("main", p))
		r.start()
		ids := r.admit(4, 1, time.Hour)
		gap(time.Second)
		r.mustBe(ids[0], dispatch.StateUnknown)
		r.mustBe(ids[1], dispatch.StateUnknown)
		r.mustBe(ids[2], dispatch.StateSent)
		r.mustBe(ids[3], dispatch.StateSent)
		if n := strings.Count(r.log.String(), "an adapter panicked"); n != 2 {
			t.Errorf("two panics were logged %d times", n)
		}
		if strings.Contains(r.log.String(), "493817") {
			t.Error("the log holds the text")
		}
		r.mustEnd()
	})
}

func TestPool_APanicInTheClaimLosesNoWorkerAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var claims atomic.Int64
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 1 }, route("main", scripted(dispatchtest.AlwaysTaken)))
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpClaim && claims.Add(1) <= 2 {
				panic("no such row")
			}
			return nil
		})
		r.start()
		ids := r.admit(4, 1, time.Hour)
		gap(time.Second)
		r.mustBe(ids[2], dispatch.StateSent)
		r.mustBe(ids[3], dispatch.StateSent)
		gap(time.Minute) // then their turn comes again
		r.mustBe(ids[0], dispatch.StateSent)
		r.mustEnd()
	})
}

func TestPool_AHangingAdapterDoesNotCostTheWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := scripted(func(_ context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			if n == 1 {
				<-release // deaf to its deadline
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 1 }, route("main", p))
		r.start()
		ids := r.admit(2, 1, time.Hour)
		gap(13 * time.Second)
		r.mustBe(ids[0], dispatch.StateUnknown)
		r.mustBe(ids[1], dispatch.StateSent)
		close(release)
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
