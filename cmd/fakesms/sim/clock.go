package sim

import (
	"context"
	"time"
)

// Clock gives the time and waits; tests bring their own.
type Clock interface {
	Now() time.Time
	// After returns a channel on which one value arrives when d has passed.
	After(d time.Duration) <-chan time.Time
}

type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// pause waits for d. The error is the context's.
func pause(ctx context.Context, clock Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-clock.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
