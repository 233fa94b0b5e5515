package dispatch_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

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

// poisoned is a store in which the claim of one notification always panics.
type poisoned struct {
	*dispatchtest.MemoryStore
	id    atomic.Pointer[dispatch.NotificationID]
	tries atomic.Int64
}

func (s *poisoned) Claim(ctx context.Context, o dispatch.ClaimOrder) (dispatch.Job, error) {
	if id := s.id.Load(); id != nil && *id == o.ID {
		s.tries.Add(1)
		panic("no such row")
	}
	return s.MemoryStore.Claim(ctx, o)
}

func TestPool_APanicInTheClaimLosesNoWorkerAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var store *poisoned
		r := newRig(t, func(c *dispatch.PoolConfig) {
			store = &poisoned{MemoryStore: c.Queue.(*dispatchtest.MemoryStore)}
			c.Workers, c.Queue = 1, store
		}, route("main", scripted(dispatchtest.AlwaysTaken)))
		ids := r.admit(4, 1, time.Hour)
		store.id.Store(&ids[0])
		r.start()
		gap(time.Second)
		for _, id := range ids[1:] {
			r.mustBe(id, dispatch.StateSent)
		}
		gap(time.Minute)
		if n := store.tries.Load(); n < 2 || n > 4 {
			t.Errorf("the bad row was tried %d times in a minute", n)
		}
		store.id.Store(nil)
		gap(time.Minute)
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

// seen is an observer that keeps what it is told, and panics now and then.
type seen struct {
	mu       sync.Mutex
	attempts []dispatch.AttemptSeen
	gates    int
}

func (s *seen) AttemptFinished(a dispatch.AttemptSeen) {
	s.mu.Lock()
	s.attempts = append(s.attempts, a)
	s.mu.Unlock()
	panic("a metric")
}

func (s *seen) GateChanged(dispatch.ProviderStatus) {
	s.mu.Lock()
	s.gates++
	s.mu.Unlock()
	panic("another metric")
}

func TestPool_TellsItsObserverAndSurvivesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &seen{}
		p := scripted(func(ctx context.Context, n int, _ dispatch.Message) dispatch.Exchange {
			dispatchtest.Wait(ctx, 300*time.Millisecond)
			if n == 1 {
				return dispatchtest.TryLater(time.Second)
			}
			return dispatchtest.Taken("m")
		})
		r := newRig(t, func(c *dispatch.PoolConfig) { c.Workers, c.Observer = 1, o }, route("main", p))
		r.start()
		ids := r.admit(3, 1, time.Hour)
		gap(10 * time.Second)
		for _, id := range ids {
			r.mustBe(id, dispatch.StateSent)
		}
		want := dispatch.AttemptSeen{Provider: "main", Outcome: dispatch.OutcomeNotSent, Rule: dispatch.R5, Took: 300 * time.Millisecond}
		if len(o.attempts) != 4 || o.attempts[0] != want || o.gates != 2 {
			t.Errorf("told of %+v and %d changes", o.attempts, o.gates)
		}
		r.mustEnd()
	})
}
