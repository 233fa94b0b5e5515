package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// mostListed bounds one look at the queue. Notifications that can go nowhere now are passed over, so that the look reaches behind them;
	// where there are more of them than this, those behind wait until some have ended.
	mostListed = 4096
	// drainSlack is how long after the longest call of a stop everything is given up (I10 allows 5 s for the whole process).
	drainSlack = 4 * time.Second
	// goneSlack is how long after that Run waits for goroutines that hang.
	goneSlack = 500 * time.Millisecond
)

// Route is one configured provider, in the order of preference.
type Route struct {
	Name          string
	Provider      Provider
	Timeout       time.Duration   // of one call, and more than 0
	Concurrency   int             // calls at once; 0: as many as there are workers
	RatePerSecond float64         // calls per second, evenly spaced; 0: no limit
	Schedule      []time.Duration // ages of a doubt at which the provider is asked, ascending
	AutoResolve   bool            // a lookup that proves absence may release the next permit by itself
}

// PoolConfig is what a pool needs. Queue, Journal, Clock, Workers and Routes are required; the rest has defaults.
type PoolConfig struct {
	Queue        Queue
	Journal      Journal
	Clock        Clock
	Random       func() float64 // in [0,1), for jitter; safe for concurrent use
	Logger       *slog.Logger
	Workers      int // calls at once, over all routes
	Routes       []Route
	MinRemaining time.Duration                          // what has less life left is not handed out; the sweeper ends it
	ReceiptURL   func(route string, r Reference) string // nil: no public address, no receipts
	Observer     Observer
	// Paused, when true, keeps the pool from claiming: a clock that was set back, a quarantine. Wake must follow when it ends.
	Paused func() bool
	// Mono is the process's monotonic clock, for pauses and paces.
	Mono func() time.Duration
}

// Observer is told what happens, for metrics. Its methods must return at once.
type Observer interface {
	// AttemptFinished: a call ended and its result is stored.
	AttemptFinished(AttemptSeen)
	// GateChanged: a provider's pause began, grew or ended.
	GateChanged(ProviderStatus)
}

// AttemptSeen is one finished call, without anything that names a person or a text.
type AttemptSeen struct {
	Provider string
	Outcome  Outcome
	Rule     Rule
	Took     time.Duration // the call alone
}

type noObserver struct{}

func (noObserver) AttemptFinished(AttemptSeen) {}
func (noObserver) GateChanged(ProviderStatus)  {}

// Pool claims waiting notifications and makes their calls. One feeder looks for work when a worker and a provider are free, and not before,
// so that nothing is claimed that would then wait (I5). A worker claims, calls and records.
type Pool struct {
	cfg     PoolConfig
	log     *slog.Logger
	gates   []*gate
	notes   *notebook
	wake    alarm
	running atomic.Bool
	lost    atomic.Int64 // results of this run that could not be recorded

	mu       sync.Mutex
	busy     int                     // workers
	claiming map[NotificationID]bool // handed out, and not yet claimed
	shunned  map[NotificationID]time.Duration
	health   storeHealth

	after  ClientID // the feeder's: whose turn was last
	passed int      // the feeder's: how many it passed over in its last look
}

// NewPool checks the configuration. The error says what is missing.
func NewPool(cfg PoolConfig) (*Pool, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("new pool: %w", err)
	}
	cfg.fill()
	p := &Pool{cfg: cfg, log: cfg.Logger, wake: newAlarm(), claiming: map[NotificationID]bool{},
		shunned: map[NotificationID]time.Duration{}}
	p.notes = newNotebook(cfg.Journal, cfg.Logger, cfg.Random)
	for _, r := range cfg.Routes {
		if r.Concurrency <= 0 {
			r.Concurrency = cfg.Workers
		}
		p.gates = append(p.gates, newGate(r, cfg.Random))
	}
	return p, nil
}

func (c *PoolConfig) check() error {
	switch {
	case c.Queue == nil || c.Journal == nil || c.Clock == nil:
		return errors.New("queue, journal and clock are required")
	case c.Workers <= 0:
		return errors.New("at least one worker is required")
	case len(c.Routes) == 0:
		return errors.New("at least one route is required")
	}
	seen := map[string]bool{}
	for _, r := range c.Routes {
		if r.Name == "" || r.Provider == nil || r.Timeout <= 0 || r.RatePerSecond < 0 || seen[r.Name] {
			return fmt.Errorf("route %q needs a name of its own, a provider, a timeout and a rate that is not negative", r.Name)
		}
		seen[r.Name] = true
	}
	return nil
}

func (c *PoolConfig) fill() {
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	if c.Paused == nil {
		c.Paused = func() bool { return false }
	}
	if c.ReceiptURL == nil {
		c.ReceiptURL = func(string, Reference) string { return "" }
	}
	if c.Mono == nil {
		c.Mono = NewMachineBase().Mono
	}
}

// Wake says that there may be work: an admission, a new permit, the end of a pause. It never blocks.
func (p *Pool) Wake() { p.wake.ring() }

// Run dispatches until ctx ends. Then it claims nothing more, waits for the calls in flight (it never cancels one: each has its own
// deadline), records their results, and returns. Results that the store does not take within the longest call's timeout + 4 s are given up,
// which the error says; the next start makes those attempts unknown. The error is ErrRunning when it runs already.
func (p *Pool) Run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return fmt.Errorf("pool: %w", ErrRunning)
	}
	defer p.running.Store(false)
	p.lost.Store(0)
	work, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	noting, stopNoting := context.WithCancel(context.WithoutCancel(ctx))
	var notes, workers sync.WaitGroup
	notes.Go(func() { p.notes.run(noting) })

	p.feed(ctx, func(e errand) { workers.Go(func() { p.work(work, e) }) })
	err := p.drain(&workers, giveUp)
	stopNoting()
	notes.Wait()
	return err
}

// drain waits for the workers, and after the longest call and its slack makes them give up.
func (p *Pool) drain(workers *sync.WaitGroup, giveUp func()) error {
	longest := time.Duration(0)
	for _, g := range p.gates {
		longest = max(longest, g.route.Timeout)
	}
	done := make(chan struct{})
	go func() {
		workers.Wait()
		close(done)
	}()
	late := time.NewTimer(longest + drainSlack)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		giveUp()
		gone := time.NewTimer(goneSlack)
		defer gone.Stop()
		select {
		case <-done:
		case <-gone.C:
			return errors.New("pool: workers hang; what they hold becomes unknown at the next start")
		}
	}
	if n := p.lost.Load(); n > 0 {
		return fmt.Errorf("pool: %d results could not be recorded; those attempts become unknown at the next start", n)
	}
	return nil
}

// Unavailable reports whether no provider can take a call now because of its health: each is paused, its breaker is open, or it is being
// probed. A provider that is merely busy is not unavailable.
func (p *Pool) Unavailable() bool {
	now := p.cfg.Mono()
	for _, g := range p.gates {
		if !g.unavailable(now) {
			return false
		}
	}
	return true
}

// Hold keeps new attempts from a provider (on) or releases it, by a person's will; calls in flight go on. It reports whether there is such a
// provider. The event that says who did it is the caller's to write.
func (p *Pool) Hold(provider string, on bool) bool {
	for _, g := range p.gates {
		if g.route.Name == provider {
			g.hold(on)
			p.Wake()
			return true
		}
	}
	return false
}

// Status is a snapshot of every provider, in the order of the routes.
func (p *Pool) Status() []ProviderStatus {
	all := make([]ProviderStatus, 0, len(p.gates))
	for _, g := range p.gates {
		all = append(all, g.status(p.cfg.Mono(), p.cfg.Clock.Now()))
	}
	return all
}
