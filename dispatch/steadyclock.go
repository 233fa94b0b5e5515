package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// stepTolerance is how far the wall clock may jump without notice: what time servers correct in passing is no step.
	stepTolerance = time.Second
	// clockWatch is how often the watch looks whether the wall clock has stepped or caught up.
	clockWatch = time.Second
	// readingTolerance is how far apart the two clocks may be read; a process that was held up in between reads again.
	readingTolerance = 50 * time.Millisecond
)

// Base is a machine's two clocks: the wall clock, which can be set, and the monotonic one, which cannot.
type Base interface {
	Wall() time.Time
	Mono() time.Duration // since some fixed instant
}

// MachineBase is the clocks of this machine. Make it with NewMachineBase.
type MachineBase struct{ start time.Time }

// NewMachineBase starts the monotonic clock.
func NewMachineBase() MachineBase { return MachineBase{time.Now()} }

// Wall is the wall clock alone.
func (MachineBase) Wall() time.Time { return time.Now().Round(0) }

// Mono is the time since the base was made.
func (b MachineBase) Mono() time.Duration { return time.Since(b.start) }

// SteadyClock is the wall clock made fit for records: it never goes backwards. While the wall clock is behind the latest time that was given
// out, that time stands still; after a step back of more than one second Paused is true until the wall clock has caught up, or until a person
// confirms the clock with Confirm: from then on time goes on by the monotonic clock until the wall clock has caught up.
type SteadyClock struct {
	base    Base
	alarm   alarm
	running atomic.Bool

	mu        sync.Mutex
	wall      time.Time // the last reading
	mono      time.Duration
	mark      time.Time // the latest time given out
	paused    bool
	confirmed bool // the mark goes on by the monotonic clock
	resumed   bool // a pause has ended and Run has not said so yet
	steps     []time.Duration
}

// NewSteadyClock starts from the base's wall clock. NotBefore must follow before anything is stored.
func NewSteadyClock(base Base) *SteadyClock {
	c := &SteadyClock{base: base, alarm: newAlarm()}
	c.wall, c.mono = c.reading()
	c.mark = c.wall
	return c
}

// NotBefore raises the clock to the last time that was stored. A wall clock that is more than one second behind it was set back while nobody
// watched: that is a step like any other.
func (c *SteadyClock) NotBefore(stored time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	if !stored.After(c.mark) {
		return
	}
	if behind := stored.Sub(c.wall); behind > stepTolerance {
		c.stepped(-behind)
	}
	c.mark = stored
}

// Now is the time for records, in UTC.
func (c *SteadyClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return c.mark.UTC()
}

// Paused reports whether nothing may be claimed because the wall clock was set back.
func (c *SteadyClock) Paused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	return c.paused
}

// Confirm accepts the clock after a step back; it reports whether there was anything to accept. The event clock_confirmed is the caller's to
// write, who knows the person.
func (c *SteadyClock) Confirm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	if !c.paused {
		return false
	}
	c.confirmed = true
	c.resume()
	return true
}

// Run watches the clock until ctx ends: each step is journalled once as clock_stepped (Count is the step in ms, negative for backwards), and
// resumed is called when a pause ends. Nothing of that happens inside Now, whose callers may hold the store. The error is ErrRunning when it
// runs already.
func (c *SteadyClock) Run(ctx context.Context, journal Journal, log *slog.Logger, resumed func()) error {
	if !c.running.CompareAndSwap(false, true) {
		return fmt.Errorf("clock: %w", ErrRunning)
	}
	defer c.running.Store(false)
	notes := newNotebook(journal, log, rand.Float64)
	var writing sync.WaitGroup
	writing.Go(func() { notes.run(ctx) })
	for ctx.Err() == nil {
		now, steps, over := c.news()
		for _, d := range steps {
			log.Warn("the wall clock was stepped", "by", d, "paused", c.Paused())
			notes.add(Event{At: now, By: Worker(), Action: ActionClockStepped, Count: d.Milliseconds()})
		}
		if over {
			log.Info("the clock is usable again")
			resumed()
		}
		c.alarm.sleep(ctx, clockWatch)
	}
	writing.Wait()
	return nil
}

func (c *SteadyClock) news() (now time.Time, steps []time.Duration, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	steps, over = c.steps, c.resumed
	c.steps, c.resumed = nil, false
	return c.mark.UTC(), steps, over
}

// read takes one reading and moves the mark.
func (c *SteadyClock) read() {
	wall, mono := c.reading()
	gone := mono - c.mono
	step := wall.Sub(c.wall) - gone
	c.wall, c.mono = wall, mono
	if c.confirmed {
		c.mark = c.mark.Add(gone)
	}
	if step.Abs() > stepTolerance {
		c.stepped(step)
	}
	if wall.Before(c.mark) {
		return
	}
	c.mark, c.confirmed = wall, false
	if c.paused {
		c.resume()
	}
}

func (c *SteadyClock) stepped(step time.Duration) {
	c.steps = append(c.steps, step)
	if step < 0 {
		c.paused, c.confirmed = true, false
	}
	c.alarm.ring()
}

func (c *SteadyClock) resume() {
	c.paused, c.resumed = false, true
	c.alarm.ring()
}

// reading takes both clocks as one, as nearly as the scheduler lets it.
func (c *SteadyClock) reading() (wall time.Time, mono time.Duration) {
	for range 3 {
		before := c.base.Mono()
		wall = c.base.Wall()
		mono = c.base.Mono()
		if mono-before < readingTolerance {
			break
		}
	}
	return wall, mono
}
