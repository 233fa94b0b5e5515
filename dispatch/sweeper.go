package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// sweepSlice is how many lives one transaction ends, so that the writer is free for admissions in between.
const sweepSlice = 100

// SweeperConfig is what a sweeper needs. Lives, Clock and Unavailable are required.
type SweeperConfig struct {
	Lives       Lives
	Clock       Clock
	Unavailable func() bool // the pool's; says whether what expires waited for a provider
	Random      func() float64
	Logger      *slog.Logger
	Ended       func(n int) // told how many a slice moved; may be nil
}

// Sweeper ends lives by time: what expires unsent, doubts whose life is over, and sent notifications that wait in vain for a report.
type Sweeper struct {
	cfg     SweeperConfig
	wake    alarm
	running atomic.Bool
}

// NewSweeper checks the configuration.
func NewSweeper(cfg SweeperConfig) (*Sweeper, error) {
	if cfg.Lives == nil || cfg.Clock == nil || cfg.Unavailable == nil {
		return nil, errors.New("new sweeper: lives, clock and the pool's state are required")
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Ended == nil {
		cfg.Ended = func(int) {}
	}
	return &Sweeper{cfg: cfg, wake: newAlarm()}, nil
}

// Wake says that an end may have come nearer: an admission, a doubt. It never blocks.
func (s *Sweeper) Wake() { s.wake.ring() }

// Run ends lives until ctx ends. The error is ErrRunning when it runs already.
func (s *Sweeper) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return fmt.Errorf("sweeper: %w", ErrRunning)
	}
	defer s.running.Store(false)
	failures := 0
	for ctx.Err() == nil {
		var wait time.Duration
		err := safely(func() (err error) {
			wait, err = s.sweep(ctx)
			return err
		})
		switch {
		case err == nil:
			failures = 0
			s.wake.sleep(ctx, wait)
		case ctx.Err() == nil:
			failures++
			if failures == 1 {
				s.cfg.Logger.Warn("lives cannot be ended; trying again until they can", "error", err)
			}
			pause(ctx, storeRetry(failures, s.cfg.Random()))
		}
	}
	return nil
}

// sweep ends what is due, slice by slice, and returns how long until the next end.
func (s *Sweeper) sweep(ctx context.Context) (time.Duration, error) {
	now := s.cfg.Clock.Now()
	for ctx.Err() == nil {
		n, err := s.cfg.Lives.EndLives(ctx, s.cfg.Unavailable(), sweepSlice)
		if err != nil {
			return 0, fmt.Errorf("end lives: %w", err)
		}
		if n > 0 {
			s.cfg.Ended(n)
		}
		if n < sweepSlice {
			break
		}
	}
	at, ok, err := s.cfg.Lives.NextEnd(ctx, now)
	if err != nil {
		return 0, fmt.Errorf("next end: %w", err)
	}
	if !ok {
		return safetyLook, nil
	}
	return sleepUntil(at, s.cfg.Clock.Now()), nil
}
