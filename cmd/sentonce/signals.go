package main

import (
	"sync/atomic"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
)

// sweepHorizon is a little more than the longest sleep of the sweeper: what ends later it sees by itself.
const sweepHorizon = 6 * time.Second

// bells turns what a commit has made possible into wake-ups. The store is open before there is anybody to wake, so the engine is hung up later.
type bells struct {
	clock    dispatch.Clock
	minLife  func() time.Duration // an unsent life ends that long before its expiry
	sleepers atomic.Pointer[sleepers]
}

// sleepers are the loops that wait for work.
type sleepers struct {
	pool, reconciler, sweeper interface{ Wake() }
}

// ring is called on the writer's goroutine after each commit: it must not block, and the sweeper is not worth waking for each admission.
func (b *bells) ring(s store.Signal) {
	who := b.sleepers.Load()
	if who == nil {
		return
	}
	if s.Work {
		who.pool.Wake()
	}
	if s.Doubt {
		who.reconciler.Wake()
	}
	if !s.EndsAt.IsZero() && s.EndsAt.Add(-b.minLife()).Sub(b.clock.Now()) < sweepHorizon {
		who.sweeper.Wake()
	}
}
