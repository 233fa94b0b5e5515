package dispatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

func TestFieldF29_RetryAfterHoldsBackEveryWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(_ context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			if n == 1 {
				return dispatchtest.TryLater(7 * time.Second)
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 32 }, route("main", p))
		r.start()
		first := r.admit(1, 1, time.Hour)[0]
		synctest.Wait()
		r.admit(100, 2, time.Hour)
		gap(6999 * time.Millisecond)
		if n := len(p.Calls()); n != 1 {
			t.Fatalf("%d calls within the provider's seven seconds", n)
		}
		if !r.pool.Unavailable() || r.pool.Status()[0].PausedUntil.IsZero() {
			t.Errorf("the pause does not show: %+v", r.pool.Status())
		}
		gap(10 * time.Second)
		if n := r.store.Count(dispatch.StateSent); n != 101 {
			t.Errorf("%d sent, want 101", n)
		}
		calls := p.Calls()
		if d := calls[1].At.Sub(calls[0].At); d != 7*time.Second {
			t.Errorf("the next call came after %v", d)
		}
		if a := r.store.Record(first).Attempts; a[0].Outcome != dispatch.OutcomeNotSent || a[0].Rule != dispatch.R5 {
			t.Errorf("the throttled attempt is %+v", a[0])
		}
		r.mustEnd()
		r.mustNote("provider_paused main throttled", "provider_resumed main throttled")
	})
}

func TestFieldF29_AWaitBeyondTheLifeEndsWithoutASend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(context.Context, int, dispatch.Message) dispatch.Exchange {
			return dispatchtest.TryLater(24 * time.Hour)
		})
		r := newRig(t, nil, route("main", p))
		r.start()
		sweeper := r.sweep()
		id := r.admit(1, 1, time.Minute)[0]
		gap(2 * time.Minute)
		rec := r.store.Record(id)
		if rec.State != dispatch.StateExpired || rec.Reason != dispatch.ReasonProviderUnavailable || len(p.Calls()) != 1 {
			t.Errorf("%s %s after %d calls", rec.State, rec.Reason, len(p.Calls()))
		}
		sweeper()
		r.mustEnd()
	})
}

func TestPool_UnnamedThrottleGrowsAndIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(20 * time.Second)
		p := scripted(func(context.Context, int, dispatch.Message) dispatch.Exchange {
			if time.Now().Before(until) {
				return dispatchtest.TryLater(0)
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, nil, route("main", p))
		r.start()
		r.admit(40, 1, time.Hour)
		gap(20 * time.Second)
		// four at once, then single probes, further and further apart
		calls := p.Calls()
		if len(calls) < 6 || len(calls) > 12 {
			t.Errorf("%d calls in 20 s of throttling", len(calls))
		}
		for i := 5; i < len(calls); i++ {
			if d := calls[i].At.Sub(calls[i-1].At); d < time.Second {
				t.Errorf("call %d came only %v after the one before", i+1, d)
			}
		}
		gap(time.Minute)
		if n := r.store.Count(dispatch.StateSent); n != 40 {
			t.Errorf("%d sent, want 40", n)
		}
		r.mustEnd()
		r.mustNote("provider_paused main throttled", "provider_resumed main throttled")
	})
}

func TestPool_AFlappingProviderDoesNotFloodTheJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(_ context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			if n%3 == 0 {
				return dispatchtest.TryLater(0)
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, nil, route("main", p))
		r.start()
		r.admit(400, 1, time.Hour)
		gap(2 * time.Minute)
		if n := len(r.store.Notes()); n < 2 || n > 10 {
			t.Errorf("%d events in two minutes", n)
		}
		r.mustEnd()
	})
}

func TestPool_ARefusingAccountPausesAndIsProbedByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(70 * time.Second)
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			if time.Now().Before(until) {
				return dispatchtest.Answered(dispatch.MeaningAccountRefusing)
			}
			dispatchtest.Wait(ctx, time.Second)
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 16 }, route("main", p))
		r.start()
		r.admit(1, 1, time.Hour)
		synctest.Wait()
		r.admit(20, 1, time.Hour)
		gap(29 * time.Second)
		if n := len(p.Calls()); n != 1 {
			t.Fatalf("%d calls in the half minute after the refusal", n)
		}
		gap(61500 * time.Millisecond) // probes at 30 and 60 s fail, the one at 90 s is under way
		if n := len(p.Calls()); n != 4 {
			t.Errorf("%d calls, want three refused ones and one probe", n)
		}
		gap(time.Minute)
		if n := r.store.Count(dispatch.StateSent); n != 21 {
			t.Errorf("%d sent, want 21", n)
		}
		r.mustEnd()
		r.mustNote("provider_paused main account_refusing", "provider_resumed main account_refusing")
		if n := strings.Count(r.log.String(), "level=ERROR"); n != 1 {
			t.Errorf("%d alarms, want one", n)
		}
	})
}

func TestPool_TheBreakerOpensAndProbesOneByOne(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(context.Context) dispatch.Exchange{
		"refused connections": func(context.Context) dispatch.Exchange { return dispatchtest.Refused() },
		"no answers":          func(context.Context) dispatch.Exchange { return dispatchtest.Cut() },
		// as long as the breaker's window: the case in which gobreaker would forget the call
		"time-outs": func(ctx context.Context) dispatch.Exchange {
			<-ctx.Done()
			return dispatchtest.Cut()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var healed atomic.Bool
				p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
					if healed.Load() {
						dispatchtest.Wait(ctx, 100*time.Millisecond)
						return dispatchtest.Taken("m")
					}
					return fail(ctx)
				})
				r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 8 }, route("main", p))
				r.start()
				r.admit(500, 1, time.Hour)
				gap(12 * time.Second)
				st := r.pool.Status()[0]
				if st.Cause != dispatch.PauseBreakerOpen || !r.pool.Unavailable() {
					t.Fatalf("after 12 s: %+v", st)
				}
				if n := len(p.Calls()); n > 24 {
					t.Errorf("%d calls to a dead provider in 12 s", n)
				}
				before := len(p.Calls())
				gap(60 * time.Second)
				if n := len(p.Calls()) - before; n < 3 || n > 14 {
					t.Errorf("%d probes in a minute, want one per ten seconds or so", n)
				}
				healed.Store(true)
				healedAt, known := time.Now(), len(p.Calls())
				gap(11*time.Second + 10*time.Second) // a probe that began before may still hang for its ten seconds
				calls := p.Calls()[known:]
				if len(calls) == 0 || calls[0].At.Sub(healedAt) > 20*time.Second {
					t.Fatalf("no probe within 20 s of the recovery: %d", len(calls))
				}
				if len(calls) > 1 && calls[1].At.Sub(calls[0].At) < 100*time.Millisecond {
					t.Errorf("a second call came before the probe had its answer")
				}
				gap(time.Minute)
				if st := r.pool.Status()[0]; st.Breaker != "closed" || st.Cause != "" {
					t.Errorf("after the recovery: %+v", st)
				}
				r.mustEnd()
				r.mustNote("provider_paused main breaker_open", "provider_resumed main breaker_open")
			})
		})
	}
}

func TestPool_CallsFromBeforeAnOutageDoNotCountAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			switch {
			case n <= 6:
				<-ctx.Done()
				return dispatchtest.Cut()
			case n <= 11:
				return dispatchtest.Refused()
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 16 }, route("main", p))
		r.start()
		r.admit(6, 1, time.Hour)
		synctest.Wait()
		r.admit(5, 1, time.Hour)
		gap(9 * time.Second)
		if st := r.pool.Status()[0]; st.Cause != "" || st.Breaker != "closed" {
			t.Fatalf("it has not recovered: %+v", st)
		}
		gap(2 * time.Second)
		if st := r.pool.Status()[0]; st.Cause != "" || st.Breaker != "closed" {
			t.Errorf("calls from before the outage opened the breaker: %+v", st)
		}
		r.mustEnd()
		r.mustNote("provider_paused main breaker_open", "provider_resumed main breaker_open")
	})
}

func TestPool_AClosedPortForSixSecondsCostsAtMostThirty(t *testing.T) {
	t.Parallel()
	for _, closed := range []time.Duration{time.Millisecond, 6 * time.Second} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("%v, seed %d", closed, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					opens := time.Now().Add(closed)
					p := scripted(func(context.Context, int, dispatch.Message) dispatch.Exchange {
						if time.Now().Before(opens) {
							return dispatchtest.Refused()
						}
						return dispatchtest.Taken("m")
					})
					random := rand.New(rand.NewPCG(seed, 1))
					r := newRig(t, func(c *dispatch.PoolConfig) { c.Random = locked(random) }, route("main", p))
					r.start()
					old := r.admit(1, 1, time.Hour)[0]
					gap(closed)
					fresh := r.admit(1, 1, time.Hour)[0]
					gap(20 * time.Second)
					r.mustBe(old, dispatch.StateSent)
					r.mustBe(fresh, dispatch.StateSent)
					r.mustEnd()
				})
			})
		}
	}
}

func TestFieldF63_NoHerdAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			dispatchtest.Wait(ctx, 20*time.Millisecond)
			if time.Since(start) < time.Minute {
				return dispatchtest.Refused()
			}
			return dispatchtest.Taken("m")
		})
		paced := route("main", p)
		paced.RatePerSecond = 20
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers, c.Random = 32, locked(rand.New(rand.NewPCG(1, 2))) }, paced)
		r.start()
		r.admit(300, 1, time.Hour)
		gap(61 * time.Second)
		fresh := r.admit(1, 2, time.Hour)[0]
		gap(29 * time.Second)
		r.mustBe(fresh, dispatch.StateSent)
		if n := r.store.Count(dispatch.StateSent); n != 301 {
			t.Errorf("%d sent within half a minute of the recovery, want 301", n)
		}
		calls := p.Calls()
		for i, first := range calls { // any second, not only the even ones
			n := 0
			for _, c := range calls[i:] {
				if c.At.Sub(first.At) < time.Second {
					n++
				}
			}
			if n > 20 {
				t.Fatalf("%d calls in the second from %v", n, first.At.Sub(start))
			}
		}
		r.mustEnd()
	})
}

func TestPool_ARecoveringProviderIsNotMetByTheWholeQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var healed atomic.Bool
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			if !healed.Load() {
				return dispatchtest.Refused()
			}
			dispatchtest.Wait(ctx, time.Second)
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers = 32 }, route("main", p))
		r.start()
		r.admit(500, 1, time.Hour)
		gap(time.Minute)
		known := len(p.Calls())
		healed.Store(true)
		gap(15 * time.Second)
		perSecond := map[time.Duration]int{}
		calls := p.Calls()[known:]
		for _, c := range calls {
			perSecond[c.At.Sub(calls[0].At).Truncate(time.Second)]++
		}
		for i, want := range []int{1, 2, 4, 8, 16, 32} {
			if got := perSecond[time.Duration(i)*time.Second]; got != want {
				t.Errorf("second %d after the probe: %d calls, want %d", i, got, want)
			}
		}
		r.mustEnd()
	})
}
