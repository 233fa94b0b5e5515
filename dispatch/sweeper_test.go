package dispatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

// sweep runs a sweeper beside the rig's pool; the function ends it.
func (r *rig) sweep() (end func()) {
	r.t.Helper()
	s, err := dispatch.NewSweeper(dispatch.SweeperConfig{Lives: r.store, Clock: dispatch.SystemClock{}, Unavailable: r.pool.Unavailable})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() {
		r.t.Helper()
		stop()
		if err := <-ended; err != nil {
			r.t.Errorf("the sweeper ended with %v", err)
		}
	}
}

func TestSweeper_EndsLivesOnTimeAndInSlices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := dispatchtest.NewMemoryStore(dispatch.SystemClock{})
		var most, all int
		s, err := dispatch.NewSweeper(dispatch.SweeperConfig{Lives: store, Clock: dispatch.SystemClock{},
			Unavailable: func() bool { return false },
			Ended:       func(n int) { most, all = max(most, n), all+n }})
		if err != nil {
			t.Fatal(err)
		}
		for range 250 {
			store.Admit(dispatchtest.Client(1), time.Minute)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		gap(59 * time.Second)
		if n := store.Count(dispatch.StateAccepted); n != 250 {
			t.Errorf("%d are left before the time", n)
		}
		gap(time.Second)
		if n := store.Count(dispatch.StateExpired); n != 250 || all != 250 || most > 100 {
			t.Errorf("%d expired, %d reported, %d at once", n, all, most)
		}
		// a life that is shorter than the sleep needs no more than a wake-up
		id := store.Admit(dispatchtest.Client(1), 100*time.Millisecond)
		s.Wake()
		gap(100 * time.Millisecond)
		if got := store.Record(id).State; got != dispatch.StateExpired {
			t.Errorf("the short life is %s", got)
		}
		if err := s.Run(ctx); !errors.Is(err, dispatch.ErrRunning) {
			t.Errorf("a second Run says %v", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestSweeper_OutlivesAFailingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		r := newRig(t, nil, route("main", scripted(dispatchtest.AlwaysTaken)))
		r.store.SetFault(func(op string) error {
			if op == dispatchtest.OpEnd && broken.Load() {
				if r.store.Calls(op) == 1 {
					panic("a bad row")
				}
				return dispatch.ErrUnavailable
			}
			return nil
		})
		end := r.sweep()
		id := r.store.Admit(dispatchtest.Client(1), time.Second)
		gap(time.Minute)
		if n := r.store.Calls(dispatchtest.OpEnd); n > 150 {
			t.Errorf("%d tries in a minute", n)
		}
		broken.Store(false)
		gap(2 * time.Second)
		r.mustBe(id, dispatch.StateExpired)
		end()
	})
}
