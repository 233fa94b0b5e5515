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

func (r *rig) mustNote(want ...string) {
	r.t.Helper()
	var got []string
	for _, ev := range r.store.Notes() {
		got = append(got, fmt.Sprintf("%s %s %s", ev.Action, ev.Provider, ev.Cause))
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		r.t.Errorf("the journal says %q, want %q", got, want)
	}
}

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

// locked makes a source of randomness safe for the pool's goroutines.
func locked(r *rand.Rand) func() float64 {
	turn := make(chan struct{}, 1)
	return func() float64 {
		turn <- struct{}{}
		defer func() { <-turn }()
		return r.Float64()
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
