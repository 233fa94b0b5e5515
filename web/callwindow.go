package web

import (
	"slices"
	"sync"
	"time"
)

// windowCalls is how many calls a window remembers of each provider.
const windowCalls = 512

// CallWindow remembers how long the latest calls to each provider took, since the process began. It is safe for concurrent use; its zero value
// is empty.
type CallWindow struct {
	mu    sync.Mutex
	calls map[string]*ring
}

type ring struct {
	took [windowCalls]time.Duration
	n    int
}

// Add notes a call.
func (w *CallWindow) Add(provider string, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[string]*ring{}
	}
	r := w.calls[provider]
	if r == nil {
		r = &ring{}
		w.calls[provider] = r
	}
	r.took[r.n%windowCalls] = took
	r.n++
}

// Latency is how long calls took: the median, and what 95 and 99 of 100 stayed within. All are 0 where there was no call.
type Latency struct{ Median, P95, P99 time.Duration }

// Of is the latency of a provider's latest calls.
func (w *CallWindow) Of(provider string) Latency {
	if w == nil {
		return Latency{}
	}
	w.mu.Lock()
	r := w.calls[provider]
	var all []time.Duration
	if r != nil {
		all = slices.Clone(r.took[:min(r.n, windowCalls)])
	}
	w.mu.Unlock()
	if len(all) == 0 {
		return Latency{}
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[min(len(all)*percent/100, len(all)-1)] }
	return Latency{at(50), at(95), at(99)}
}
