package dispatch

import "time"

// Clock gives the time. Nothing else in the domain, the store or the web tier reads one.
type Clock interface {
	// Now is the current instant, with the monotonic reading where there is one.
	Now() time.Time
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns time.Now().
func (SystemClock) Now() time.Time { return time.Now() }
