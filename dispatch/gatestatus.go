package dispatch

import "time"

// ProviderStatus is a snapshot of one provider for pages and metrics.
type ProviderStatus struct {
	Name        string
	Held        bool       // by a person
	PausedUntil time.Time  // zero: not paused
	Cause       PauseCause // of the pause, or of the last one while the provider has not answered a call since; "" when it is well
	Breaker     string     // closed, half-open, open
	Unavailable bool       // no call can be made now, for its health
	InFlight    int
	Concurrency int
	Timeout     time.Duration // of one call
	Can         Capabilities
	LastTaken   time.Time // when it last gave a definite answer about a message; zero: not since the start
	LastFailed  time.Time // when a call last failed or stayed without a definite answer; zero: not since the start
}

// status translates monotonic readings into instants of the clock.
func (g *gate) status(mono time.Duration, now time.Time) ProviderStatus {
	unavailable := g.unavailable(mono)
	g.mu.Lock()
	defer g.mu.Unlock()
	instant := func(reading time.Duration) time.Time { return now.Add(reading - mono) }
	s := ProviderStatus{Name: g.route.Name, Held: g.held, Cause: g.cause, Breaker: g.breaker.State().String(), Unavailable: unavailable,
		InFlight: g.inFlight, Concurrency: g.route.Concurrency, Timeout: g.route.Timeout, Can: g.can}
	if mono < g.shutUntil {
		s.PausedUntil = instant(g.shutUntil)
	}
	if g.lastTaken >= 0 {
		s.LastTaken = instant(g.lastTaken)
	}
	if g.lastFailed >= 0 {
		s.LastFailed = instant(g.lastFailed)
	}
	return s
}

func (g *gate) hold(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = on
}

// shutFor is how long the current pause lasts from now.
func (g *gate) shutFor(now time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(g.shutUntil-now, 0)
}
