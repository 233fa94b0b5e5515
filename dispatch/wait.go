package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"
)

// ErrRunning is returned by a second Run of a loop that runs already.
var ErrRunning = errors.New("it is running already")

const (
	// safetyLook is the longest sleep of a loop that is woken by events: should a wake-up get lost, work still starts that soon.
	safetyLook = 5 * time.Second
	// shortestSleep keeps a loop from spinning while a clock stands still just before the instant that it waits for.
	shortestSleep = 5 * time.Millisecond
)

// alarm wakes one sleeper. Rings coalesce, and a ring before the sleep is not lost.
type alarm chan struct{}

func newAlarm() alarm { return make(alarm, 1) }

// ring never blocks.
func (a alarm) ring() {
	select {
	case a <- struct{}{}:
	default:
	}
}

// sleep returns when the alarm rings, d is over or ctx ends; at once when d is not positive.
func (a alarm) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// pause waits for d or the end of ctx; it reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	alarm(nil).sleep(ctx, d)
	return ctx.Err() == nil
}

// sleepUntil is how long to sleep until an instant of the wall clock, within the bounds of a woken loop.
func sleepUntil(at, now time.Time) time.Duration {
	return min(max(at.Sub(now), shortestSleep), safetyLook)
}

const (
	storeRetryFirst = 20 * time.Millisecond
	storeRetryMost  = time.Second
)

// storeRetry is how long to wait after the n-th failure in a row of the store (n from 1): exponential to one second, the upper half of it
// random, so that it neither spins nor falls into step.
func storeRetry(n int, fraction float64) time.Duration {
	ceiling := storeRetryMost
	if shift := max(n, 1) - 1; shift < 6 {
		ceiling = min(storeRetryFirst<<shift, storeRetryMost)
	}
	return ceiling/2 + time.Duration(fraction*float64(ceiling/2))
}

// panicError stands for a contained panic. It keeps what can be said without a secret: the value itself may hold a text or a number.
type panicError struct {
	what  string
	stack string
}

func newPanicError(v any) *panicError {
	what := fmt.Sprintf("%T", v)
	if e, ok := v.(runtime.Error); ok {
		what = e.Error()
	}
	return &panicError{what, string(debug.Stack())}
}

func (e *panicError) Error() string { return "panic: " + e.what }

// LogValue adds the stack, which shows addresses, never contents.
func (e *panicError) LogValue() slog.Value {
	return slog.GroupValue(slog.String("what", e.what), slog.String("stack", e.stack))
}

// safely turns a panic of f into its error.
func safely(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError(v)
		}
	}()
	return f()
}
