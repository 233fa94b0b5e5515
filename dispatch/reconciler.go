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

// ErrNoQuestion is returned for an attempt about which its provider cannot be asked: it is not configured any more, offers no lookups, or
// only by an id that is not known.
var ErrNoQuestion = errors.New("the provider cannot be asked about this attempt")

const (
	questionTimeout = 10 * time.Second
	recordTimeout   = 5 * time.Second // to store an answer that came while the process stops
	questionsAtOnce = 4               // per provider
	lookupBatch     = 16
	lookupsListed   = 1024 // the most in one look; those whose provider is busy are passed over
	// questionGap is the least time between two questions of the loop about one attempt, should its schedule not have moved.
	questionGap = time.Second
	// unrecordedGap is the same after an answer that the store refused.
	unrecordedGap = 30 * time.Second
)

// ReconcilerConfig is what a reconciler needs. Doubts, Clock and Routes are required.
type ReconcilerConfig struct {
	Doubts  Doubts
	Clock   Clock
	Routes  []Route
	Random  func() float64
	Logger  *slog.Logger
	AtOnce  int           // questions at once per provider; 0: 4
	Timeout time.Duration // of one question; 0: 10 s
	// Asked is told of each recorded question, for metrics and to wake the pool: a proof of absence grants the next permit. It may be nil.
	Asked func(provider string, result LookupResult)
	Mono  func() time.Duration
}

// Reconciler asks the providers what became of attempts in doubt, by the schedule that the store keeps, or at once when a person wants to
// know. It never asks twice at the same time about one attempt.
type Reconciler struct {
	cfg     ReconcilerConfig
	routes  map[string]*desk
	wake    alarm
	running atomic.Bool

	mu     sync.Mutex
	asking map[AttemptID]*question
	quiet  map[AttemptID]time.Duration // monotonic; the loop does not ask before
	passed int                         // the loop's: how many it passed over in its last look
}

// desk is one provider's place for questions.
type desk struct {
	route Route
	can   Capabilities
	slots chan struct{}
}

// question is one that is being asked. The result is set when done is closed.
type question struct {
	done   chan struct{}
	result LookupResult
	err    error
}

// NewReconciler checks the configuration.
func NewReconciler(cfg ReconcilerConfig) (*Reconciler, error) {
	if cfg.Doubts == nil || cfg.Clock == nil || len(cfg.Routes) == 0 {
		return nil, errors.New("new reconciler: doubts, clock and routes are required")
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Asked == nil {
		cfg.Asked = func(string, LookupResult) {}
	}
	if cfg.Mono == nil {
		cfg.Mono = NewMachineBase().Mono
	}
	if cfg.AtOnce <= 0 {
		cfg.AtOnce = questionsAtOnce
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = questionTimeout
	}
	r := &Reconciler{cfg: cfg, routes: map[string]*desk{}, wake: newAlarm(), asking: map[AttemptID]*question{},
		quiet: map[AttemptID]time.Duration{}}
	for _, route := range cfg.Routes {
		r.routes[route.Name] = &desk{route, route.Provider.Capabilities(), make(chan struct{}, cfg.AtOnce)}
	}
	return r, nil
}

// Wake says that there may be a new doubt. It never blocks.
func (r *Reconciler) Wake() { r.wake.ring() }

// Run asks by schedule until ctx ends. Questions under way are then broken off and not recorded, so that the next start asks them again;
// answers that are there are recorded. The error is ErrRunning when it runs already.
func (r *Reconciler) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return fmt.Errorf("reconciler: %w", ErrRunning)
	}
	defer r.running.Store(false)
	var questions sync.WaitGroup
	defer questions.Wait()
	failures := 0
	for ctx.Err() == nil {
		var wait time.Duration
		err := safely(func() (err error) {
			wait, err = r.round(ctx, &questions)
			return err
		})
		switch {
		case err == nil:
			failures = 0
			r.wake.sleep(ctx, wait)
		case ctx.Err() == nil:
			failures++
			if failures == 1 {
				r.cfg.Logger.Warn("doubts cannot be listed; trying again until they can", "error", err)
			}
			pause(ctx, storeRetry(failures, r.cfg.Random()))
		}
	}
	return nil
}

// round begins the questions that are due and returns how long to sleep.
func (r *Reconciler) round(ctx context.Context, questions *sync.WaitGroup) (time.Duration, error) {
	now := r.cfg.Clock.Now()
	limit := min(lookupBatch+r.passed, lookupsListed)
	jobs, err := r.cfg.Doubts.DueLookups(ctx, now, limit)
	if err != nil {
		return 0, fmt.Errorf("due lookups: %w", err)
	}
	wait, begun := safetyLook, 0
	r.passed = 0
	for _, job := range jobs {
		if gap := r.quietFor(job.Reference.Attempt); gap > 0 {
			wait = min(wait, gap)
		} else if r.begin(ctx, job, questions) {
			begun++
			continue
		}
		r.passed++
	}
	if len(jobs) >= limit && limit < lookupsListed {
		r.passed += lookupBatch + begun
		return 0, nil
	}
	at, ok, err := r.cfg.Doubts.NextLookup(ctx, now)
	if err != nil {
		return 0, fmt.Errorf("next lookup: %w", err)
	}
	if ok {
		wait = min(wait, sleepUntil(at, r.cfg.Clock.Now()))
	}
	return wait, nil
}

// begin starts a question of the loop when its provider has a place for it and nobody asks it already. What cannot be asked is recorded as
// a failed lookup with no schedule, once: so it is on record, and is never listed again.
func (r *Reconciler) begin(ctx context.Context, job LookupJob, questions *sync.WaitGroup) bool {
	d := r.routes[job.Provider]
	if d.finder(job) == nil {
		d = nil
	}
	if d != nil {
		select {
		case d.slots <- struct{}{}:
		default:
			return false
		}
	}
	q, mine := r.open(job.Reference.Attempt)
	if !mine {
		d.leave()
		return false
	}
	questions.Go(func() {
		defer r.wake.ring()
		defer d.leave()
		r.settle(ctx, d, job, q)
	})
	return true
}
