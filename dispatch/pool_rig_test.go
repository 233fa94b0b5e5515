package dispatch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
)

// rig is a pool over a store in memory, inside a bubble.
type rig struct {
	t     *testing.T
	store *dispatchtest.MemoryStore
	pool  *dispatch.Pool
	log   *lockedBuffer
	stop  context.CancelFunc
	ended chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func scripted(s dispatchtest.Script) *dispatchtest.ScriptedProvider {
	return &dispatchtest.ScriptedProvider{Script: s, Can: dispatch.Capabilities{Receipts: true}}
}

func route(name string, p dispatch.Provider) dispatch.Route {
	return dispatch.Route{Name: name, Provider: p, Timeout: 10 * time.Second}
}

// newRig makes a rig that does not run yet; with may change the configuration.
func newRig(t *testing.T, with func(*dispatch.PoolConfig), routes ...dispatch.Route) *rig {
	t.Helper()
	r := &rig{t: t, store: dispatchtest.NewMemoryStore(dispatch.SystemClock{}), log: &lockedBuffer{}, ended: make(chan error, 1)}
	cfg := dispatch.PoolConfig{Queue: r.store, Journal: r.store, Clock: dispatch.SystemClock{}, Workers: 4, Routes: routes,
		Logger: slog.New(slog.NewTextHandler(r.log, nil)), Random: func() float64 { return 0.5 }, MinRemaining: time.Millisecond}
	if with != nil {
		with(&cfg)
	}
	pool, err := dispatch.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.pool = pool
	return r
}

func (r *rig) start() {
	ctx, stop := context.WithCancel(r.t.Context())
	r.stop = stop
	go func() { r.ended <- r.pool.Run(ctx) }()
	synctest.Wait()
}

// end stops the pool and returns what Run said.
func (r *rig) end() error {
	r.stop()
	return <-r.ended
}

func (r *rig) mustEnd() {
	r.t.Helper()
	if err := r.end(); err != nil {
		r.t.Errorf("Run ended with %v", err)
	}
}

func (r *rig) admit(n int, client byte, life time.Duration) (ids []dispatch.NotificationID) {
	for range n {
		ids = append(ids, r.store.Admit(dispatchtest.Client(client), life))
	}
	r.pool.Wake()
	return ids
}

func (r *rig) mustBe(id dispatch.NotificationID, want dispatch.State) {
	r.t.Helper()
	if got := r.store.Record(id).State; got != want {
		r.t.Errorf("the notification is %s, want %s", got, want)
	}
}

// gap lets d pass in the bubble.
func gap(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (r *rig) mustNote(want ...string) {
	r.t.Helper()
	var got []string
	for _, ev := range r.store.Notes() {
		got = append(got, fmt.Sprintf("%s %s %s", ev.Action, ev.Provider, ev.Cause))
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		r.t.Errorf("the journal says %q, want %q", got, want)
	}
}

// locked makes a source of randomness safe for the pool's goroutines.
func locked(r *rand.Rand) func() float64 {
	turn := make(chan struct{}, 1)
	return func() float64 {
		turn <- struct{}{}
		defer func() { <-turn }()
		return r.Float64()
	}
}
