package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

// stalledQueue is a store whose first claim takes long to come back: a slow disk, a machine that was paused.
type stalledQueue struct {
	*dispatchtest.MemoryStore
	by *atomic.Int64
}

func (q stalledQueue) Claim(ctx context.Context, o dispatch.ClaimOrder) (dispatch.Job, error) {
	job, err := q.MemoryStore.Claim(ctx, o)
	<-time.After(time.Duration(q.by.Swap(0)))
	return job, err
}

// The provider is told what is left of the life when the call ends at the latest. A claim that takes long must therefore shorten the call and,
// when it takes all of its time, prevent it: else the message could still go out after the expiry (I5).
func TestPool_TimeLostAfterTheClaimIsTakenFromTheCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stall time.Duration
		calls int
	}{
		"a part of it": {4 * time.Second, 1},
		"all of it":    {40 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var left []time.Duration
				p := scripted(func(ctx context.Context, _ int, m dispatch.Message) dispatch.Exchange {
					at, _ := ctx.Deadline()
					left = append(left, time.Until(at))
					if err := m.BeforeFirstByte(ctx); err != nil {
						return dispatch.Exchange{Phase: dispatch.PhaseConnected, Err: err}
					}
					return dispatchtest.Taken("m")
				})
				var by atomic.Int64
				by.Store(int64(c.stall))
				r := newRig(t, func(cfg *dispatch.PoolConfig) {
					cfg.Queue = stalledQueue{cfg.Queue.(*dispatchtest.MemoryStore), &by}
				}, route("main", p))
				r.start()
				r.admit(1, 1, time.Minute)
				gap(c.stall + time.Millisecond)
				if len(left) != c.calls {
					t.Errorf("%d calls, want %d", len(left), c.calls)
				}
				for _, d := range left {
					if d > 10*time.Second-c.stall {
						t.Errorf("the call may take %v more, although %v of its 10 s are over", d, c.stall)
					}
				}
				r.mustEnd()
			})
		})
	}
}
