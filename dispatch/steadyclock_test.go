package dispatch_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

// twoClocks is a base whose clocks a test moves.
type twoClocks struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
}

func newTwoClocks() *twoClocks {
	return &twoClocks{wall: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
}

func (b *twoClocks) Wall() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wall
}

func (b *twoClocks) Mono() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mono
}

// pass lets time pass on both clocks.
func (b *twoClocks) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wall, b.mono = b.wall.Add(d), b.mono+d
}

// set moves the wall clock alone.
func (b *twoClocks) set(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wall = b.wall.Add(d)
}

func TestSteadyClock_NeverGoesBackwards(t *testing.T) {
	t.Parallel()
	base := newTwoClocks()
	start := base.Wall()
	c := dispatch.NewSteadyClock(base)
	last := c.Now()
	for i, step := range []time.Duration{time.Second, -500 * time.Millisecond, -time.Hour, time.Second, 30 * time.Minute, time.Hour, -time.Millisecond} {
		base.pass(10 * time.Millisecond)
		base.set(step)
		now := c.Now()
		if now.Before(last) {
			t.Errorf("step %d: %v after %v", i, now, last)
		}
		last = now
	}
	if !last.After(start) {
		t.Error("it never went on")
	}
}

func TestSteadyClock_SmallCorrectionsAreNoSteps(t *testing.T) {
	t.Parallel()
	base := newTwoClocks()
	c := dispatch.NewSteadyClock(base)
	base.set(-900 * time.Millisecond)
	before := c.Now()
	base.pass(500 * time.Millisecond)
	if c.Paused() || !c.Now().Equal(before) {
		t.Error("a small step back pauses or lets time go back")
	}
	base.pass(500 * time.Millisecond)
	if !c.Now().Equal(base.Wall()) {
		t.Error("it did not catch up")
	}
}

func TestSteadyClock_AStepBackPausesUntilTheWallHasCaughtUp(t *testing.T) {
	t.Parallel()
	base := newTwoClocks()
	c := dispatch.NewSteadyClock(base)
	base.pass(time.Minute)
	mark := c.Now()
	base.set(-time.Hour)
	if !c.Paused() || !c.Now().Equal(mark) {
		t.Fatalf("after the step: paused %v, %v", c.Paused(), c.Now())
	}
	base.pass(59 * time.Minute)
	if !c.Paused() || !c.Now().Equal(mark) {
		t.Errorf("before it has caught up: paused %v, %v", c.Paused(), c.Now())
	}
	base.pass(2 * time.Minute)
	if c.Paused() || !c.Now().Equal(base.Wall()) {
		t.Errorf("after it has caught up: paused %v, %v", c.Paused(), c.Now())
	}
}

func TestSteadyClock_AConfirmedClockGoesOnFromItsHighest(t *testing.T) {
	t.Parallel()
	base := newTwoClocks()
	c := dispatch.NewSteadyClock(base)
	if c.Confirm() {
		t.Error("nothing to confirm, and yet confirmed")
	}
	mark := c.Now()
	base.set(-time.Hour)
	base.pass(time.Minute)
	if !c.Confirm() || c.Paused() {
		t.Fatal("not confirmed")
	}
	base.pass(10 * time.Minute)
	if got := c.Now().Sub(mark); got != 10*time.Minute {
		t.Errorf("time went on by %v, want 10 min", got)
	}
	base.set(2 * time.Hour) // somebody sets it right
	if !c.Now().Equal(base.Wall()) || c.Paused() {
		t.Error("it does not follow the wall clock again")
	}
	base.set(-time.Hour)
	c.Confirm()
	base.set(-time.Hour)
	if !c.Paused() {
		t.Error("a further step back goes unnoticed once one was confirmed")
	}
	mark = c.Now()
	base.pass(time.Minute)
	if !c.Now().Equal(mark) {
		t.Error("time goes on although nobody has confirmed the second step")
	}
}

func TestSteadyClock_StartsBehindWhatWasStored(t *testing.T) {
	t.Parallel()
	base := newTwoClocks()
	c := dispatch.NewSteadyClock(base)
	stored := base.Wall().Add(800 * time.Millisecond)
	c.NotBefore(stored)
	if c.Paused() || !c.Now().Equal(stored) {
		t.Error("less than a second behind: want no pause, and no time before what is stored")
	}
	stored = base.Wall().Add(time.Hour)
	c.NotBefore(stored)
	if !c.Paused() || !c.Now().Equal(stored) {
		t.Error("an hour behind: want a pause at what is stored")
	}
	c.NotBefore(base.Wall())
	if !c.Now().Equal(stored) {
		t.Error("an earlier time lowered it")
	}
}

func TestSteadyClock_JournalsEachStepOnceAndSaysWhenThePauseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := newTwoClocks()
		c := dispatch.NewSteadyClock(base)
		store := dispatchtest.NewMemoryStore(c)
		var resumed atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- c.Run(ctx, store, slog.New(slog.DiscardHandler), func() { resumed.Add(1) })
		}()
		synctest.Wait()
		if err := c.Run(ctx, store, slog.New(slog.DiscardHandler), func() {}); !errors.Is(err, dispatch.ErrRunning) {
			t.Errorf("a second Run says %v", err)
		}
		tick := func(n int) {
			for range n {
				base.pass(time.Second)
				gap(time.Second)
			}
		}
		tick(10)
		base.set(5 * time.Second)
		tick(3)
		base.set(-20 * time.Second)
		tick(10)
		if resumed.Load() != 0 || !c.Paused() {
			t.Error("resumed too early")
		}
		tick(15)
		if resumed.Load() != 1 || c.Paused() {
			t.Errorf("resumed %d times", resumed.Load())
		}
		base.set(-time.Hour)
		tick(2)
		c.Confirm()
		synctest.Wait()
		if resumed.Load() != 2 {
			t.Errorf("resumed %d times after the confirmation", resumed.Load())
		}
		var got []int64
		for _, ev := range store.Notes() {
			if ev.Action != dispatch.ActionClockStepped {
				t.Errorf("event %s", ev.Action)
			}
			got = append(got, ev.Count)
		}
		if len(got) != 3 || got[0] != 5000 || got[1] != -20000 || got[2] != -3600000 {
			t.Errorf("steps %v", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestSteadyClock_APausedClockStopsClaimsAndItsEndStartsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		base := newTwoClocks()
		c := dispatch.NewSteadyClock(base)
		r := newRig(t, func(cfg *dispatch.PoolConfig) { cfg.Paused = c.Paused }, route("main", scripted(dispatchtest.AlwaysTaken)))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, r.store, slog.New(slog.DiscardHandler), r.pool.Wake) }()
		r.start()
		base.set(-time.Hour)
		id := r.admit(1, 1, time.Hour)[0]
		gap(10 * time.Second)
		r.mustBe(id, dispatch.StateAccepted)
		c.Confirm()
		synctest.Wait()
		r.mustBe(id, dispatch.StateSent)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		r.mustEnd()
	})
}

func TestMachineBase_ItsClocksRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := dispatch.NewMachineBase()
		wall := b.Wall()
		gap(time.Minute)
		if b.Mono() != time.Minute || b.Wall().Sub(wall) != time.Minute {
			t.Errorf("%v, %v", b.Mono(), b.Wall().Sub(wall))
		}
	})
}
