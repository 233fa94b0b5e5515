package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"sentonce/cmd/sentonce/config"
	"sentonce/dispatch"
	"sentonce/dispatch/phone"
	"sentonce/store"
	"sentonce/store/seal"
	"sentonce/views"
	"sentonce/web"
)

// setup is what a server is started from.
type setup struct {
	cfg      config.Config
	env      config.Env
	log      *slog.Logger
	listener net.Listener // nil: cfg.Listen is opened; it belongs to the server from the start on, also when that fails
	// between stands between the pool and the store; nil: nothing does. The crash tests die there, before and after each commit.
	between func(dispatch.Queue) dispatch.Queue
	// environment is what the pages call this installation; zero: PRODUCTION.
	environment views.Environment
}

// server is the running service: everything between the data directory's lock and the last commit.
type server struct {
	setup
	clock      *dispatch.SteadyClock
	lock       *store.Lock
	db         *store.DB
	bells      *bells
	routes     []dispatch.Route
	pool       *dispatch.Pool
	reconciler *dispatch.Reconciler
	sweeper    *dispatch.Sweeper
	http       *http.Server
	bulks      func(context.Context) error // carries out decisions for many
	draining   chan struct{}
	stopBy     time.Time         // when a stop that was asked for has to be over; set once, by run
	policy     *store.PolicyCell // of the moment: the settings page changes it
	calls      *web.CallWindow
}

// errDraining is why a server that stops takes no admissions.
var errDraining = errors.New("the server is stopping")

// start takes the directory, brings it up to date, settles what a dead process left, and builds everything. Nothing is sent or answered
// before run. Whatever it took is given back when it fails.
func start(ctx context.Context, from setup) (_ *server, err error) {
	s := &server{setup: from, clock: dispatch.NewSteadyClock(dispatch.NewMachineBase()), draining: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release(context.WithoutCancel(ctx)))
		}
	}()
	if s.routes, err = newRoutes(s.cfg, s.env, s.clock); err != nil {
		return nil, err
	}
	master, err := seal.ReadKeyFile(s.cfg.KeyFile)
	if err != nil {
		return nil, err
	}
	if s.lock, err = takeDirectory(s.cfg.DataDir); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	if err := store.Migrate(ctx, s.lock, s.cfg.DataDir, master); err != nil {
		return nil, err
	}
	if err := s.open(ctx, master); err != nil {
		return nil, err
	}
	return s, s.build(ctx)
}

// listen opens the address, so that a wrong one is told before anything is changed. Whoever connects now waits until run.
func (s *server) listen() (err error) {
	if s.listener != nil {
		return nil
	}
	if s.listener, err = net.Listen("tcp", s.cfg.Listen); err != nil {
		return fmt.Errorf("%w: another address goes into `listen` or SENTONCE_LISTEN", err)
	}
	return nil
}

// open opens the store, raises the clock to its newest time, and makes doubts of the calls that a dead process left pending (I9).
func (s *server) open(ctx context.Context, master *seal.Master) error {
	s.policy, s.calls = &store.PolicyCell{}, &web.CallWindow{}
	s.policy.Set(seedPolicy(s.cfg))
	s.bells = &bells{clock: s.clock, minLife: func() time.Duration { return s.policy.Get().MinRemaining }}
	c := storeConfig(s.cfg, master, s.clock, s.log)
	c.Terms = func() store.SendPolicy {
		p := s.policy.Get()
		return store.SendPolicy{MinRemaining: p.MinRemaining, MaxAttempts: p.MaxAttempts}
	}
	c.OnCommit = s.bells.ring
	var err error
	if s.db, err = store.Open(ctx, c); err != nil {
		return err
	}
	last, err := s.db.LastTime(ctx)
	if err != nil {
		return err
	}
	s.clock.NotBefore(last)
	if err := s.db.SeedSettings(ctx, seedPolicy(s.cfg), s.policy); err != nil {
		return err
	}
	found, err := s.db.Recover(ctx, s.scheduleOf)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if found > 0 {
		s.log.Warn("a process died during calls; what became of them is unknown and will be asked", "attempts", found)
	}
	return nil
}

// scheduleOf is the lookup schedule of a provider; nil when it is not configured any more.
func (s *server) scheduleOf(provider string) []time.Duration {
	for _, r := range s.routes {
		if r.Name == provider {
			return r.Schedule
		}
	}
	return nil
}

// build makes the engine and the web server on top of the store.
func (s *server) build(ctx context.Context) (err error) {
	version, _ := version()
	metrics := web.NewMetrics(version, figures(s.db))
	receipts := s.db.References()
	queue := dispatch.Queue(s.db)
	if s.between != nil {
		queue = s.between(queue)
	}
	s.pool, err = dispatch.NewPool(dispatch.PoolConfig{
		Queue: queue, Journal: s.db, Clock: s.clock, Logger: s.log, Workers: s.cfg.Dispatch.Workers, Routes: s.routes,
		Observer: observer{metrics, s.calls}, Paused: s.clock.Paused, // the least life is the claim's to look at: it can change
		ReceiptURL: func(route string, r dispatch.Reference) string {
			return s.cfg.ReceiptAddress(route) + "?ref=" + receipts.Sign(r)
		},
	})
	if err != nil {
		return err
	}
	if err := s.applyHolds(ctx); err != nil {
		return err
	}
	for _, p := range s.pool.Status() {
		metrics.ProviderIs(p.Name, p.Unavailable)
	}
	s.reconciler, err = dispatch.NewReconciler(dispatch.ReconcilerConfig{Doubts: s.db, Clock: s.clock, Routes: s.routes, Logger: s.log,
		Asked: metrics.LookupAnswered})
	if err != nil {
		return err
	}
	s.sweeper, err = dispatch.NewSweeper(dispatch.SweeperConfig{Lives: s.db, Clock: s.clock, Unavailable: s.pool.Unavailable, Logger: s.log})
	if err != nil {
		return err
	}
	s.bells.sleepers.Store(&sleepers{s.pool, s.reconciler, s.sweeper})
	return s.buildWeb(metrics, receipts)
}

// applyHolds keeps the providers shut that people have paused, before anything is sent. One that is not configured any more has no calls to
// stop.
func (s *server) applyHolds(ctx context.Context) error {
	holds, err := s.db.ProviderHolds(ctx)
	if err != nil {
		return fmt.Errorf("paused providers: %w", err)
	}
	for _, h := range holds {
		if s.pool.Hold(h.Provider, true) {
			s.log.Warn("a provider is paused by a person", "provider", h.Provider, "since", h.At)
		}
	}
	return nil
}

func (s *server) buildWeb(metrics *web.Metrics, references dispatch.ReferenceSigner) error {
	v, _ := version()
	handler, err := web.New(web.Deps{
		Store: s.db, Clock: s.clock, Random: rand.Reader, Log: s.log, Metrics: metrics, References: references,
		Policy: func() dispatch.Policy {
			p := s.policy.Get()
			return dispatch.Policy{MinRemaining: p.MinRemaining, MaxTTL: p.MaxTTL, MaxSegments: p.MaxSegments}
		},
		Countries:      func() phone.Countries { return s.policy.Get().Countries },
		Receipts:       receiptReaders(s.routes),
		PublicURL:      &s.cfg.PublicURL.URL,
		TrustedProxies: s.cfg.TrustedProxies,
		LimitsNow: func() web.Limits {
			p := s.policy.Get()
			return web.Limits{PerKey: web.Limit{PerSecond: float64(p.KeyRate), Burst: p.KeyBurst},
				PerClient: web.Limit{PerSecond: float64(p.ClientRate), Burst: p.ClientBurst}}
		},
		Calls:       s.calls,
		Settings:    s.policy,
		ClockPaused: s.clock.Paused,
		Accepting:   s.accepting,
		Draining:    s.draining,
		Staff:       s.db,
		Providers:   s.pool,
		Reconciler:  s.reconciler,
		Environment: s.environment,
		Version:     v,
	})
	if err != nil {
		return err
	}
	s.http, s.bulks = newHTTPServer(handler, s.log), handler.RunBulks
	return nil
}

// seedPolicy is the policy that the configuration file says. It counts where the settings page has not changed it.
func seedPolicy(cfg config.Config) store.Policy {
	p := store.DefaultPolicy()
	p.MinRemaining, p.MaxTTL, p.MaxAttempts = cfg.Dispatch.MinRemaining, cfg.Dispatch.MaxTTL, cfg.Dispatch.MaxAttempts
	p.Countries = cfg.Countries
	p.KeyRate, p.KeyBurst = int(math.Ceil(cfg.Limits.KeyRate)), cfg.Limits.KeyBurst
	p.ClientRate, p.ClientBurst = int(math.Ceil(cfg.Limits.ClientRate)), cfg.Limits.ClientBurst
	return p
}

// accepting is nil until the server stops.
func (s *server) accepting() error {
	select {
	case <-s.draining:
		return errDraining
	default:
		return nil
	}
}

// The bounds of a connection. Requests are small, so that whoever takes longer to send one is up to something. An answer may be held for 30 s
// (Prefer: wait) and worked on for 10 s more.
const (
	headerTime = 5 * time.Second
	readTime   = 15 * time.Second
	writeTime  = 60 * time.Second
	idleTime   = 2 * time.Minute
	mostHeader = 16 << 10
)

func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
}
