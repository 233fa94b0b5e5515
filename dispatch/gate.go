package dispatch

import (
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
)

// PauseCause says why a provider gets no new attempts. It is the Cause of the events provider_paused and provider_resumed.
type PauseCause string

const (
	PauseThrottled       PauseCause = "throttled"        // it answered "not now" (R5)
	PauseAccountRefusing PauseCause = "account_refusing" // it refuses us: credential, account, balance, sender (R11); a person must act
	PauseBreakerOpen     PauseCause = "breaker_open"     // too many calls there failed or stayed without an answer
)

// The breaker opens after tripStreak failures in a row, or when half of at least tripSample calls within tripWindow failed. It stays open for
// one second, so that a blip is over quickly, then twice as long each time that the probe fails, to at most ten.
const (
	tripStreak = 5
	tripSample = 20
	tripWindow = 10 * time.Second
	openLeast  = time.Second
	openMost   = 10 * time.Second
	// breakerTimeout is gobreaker's own open time. It is fixed there, so the growing one is kept by the gate; this one only has to be over
	// before it.
	breakerTimeout = openLeast - 100*time.Millisecond
)

const (
	throttleLeast = time.Second // pause after an R5 that names no time; doubles, with jitter, to throttleMost
	throttleMost  = 30 * time.Second
	accountPause  = 30 * time.Second // after R11; then one probe
	// pauseQuiet: a provider that flaps is announced once in that time; a pause that lasts is announced when it is over.
	pauseQuiet = 30 * time.Second
	// paceMargin makes the pace a little slower than the rate allows, so that the time that a claim and a connection take does not push one
	// call too many into a provider's second.
	paceMargin = 1.05
)

var (
	errCallFailed   = errors.New("the call failed")
	errCallExcluded = errors.New("no call was made")
)

// gate decides whether a provider may get one more call: concurrency, rate, pauses and the circuit breaker. After any pause it lets one call
// through as a probe; only when that gets an answer does it open, and then by one more call per answer, so that a provider that has just
// come back is not met by the whole queue.
//
// The times are readings of the process's monotonic clock.
type gate struct {
	route    Route
	can      Capabilities
	interval time.Duration // between two calls; 0: no rate
	random   func() float64

	mu        sync.Mutex
	breaker   *gobreaker.TwoStepCircuitBreaker[struct{}] // only called with mu held
	now       time.Duration                              // the reading of the running method, for the breaker's callback
	shutUntil time.Duration
	nextCall  time.Duration // the rate's
	inFlight  int
	held      bool // by a person

	epoch     int  // counts pauses; a call that began before the last one says nothing about the time after it
	ramp      int  // calls in flight of this epoch
	window    int  // how many of those may be
	proven    bool // this epoch has seen an answer
	cause     PauseCause
	throttles int // R5 without a time in a row
	trips     int // openings of the breaker in a row
	opened    int // openings ever; a call that began before the last one does not count after it
	streak    int // failures in a row, however far apart

	noted     PauseCause // the pause that has been announced
	resumedAt time.Duration
	everNoted bool
	news      []gateNews

	lastTaken, lastFailed time.Duration // -1: never
}

// gateNews is a change of a gate that others want to know. Quiet ones are not worth an event.
type gateNews struct {
	paused bool
	cause  PauseCause
	length time.Duration
	quiet  bool
}

func newGate(r Route, random func() float64) *gate {
	g := &gate{route: r, can: r.Provider.Capabilities(), random: random, window: r.Concurrency, proven: true, lastTaken: -1, lastFailed: -1}
	if r.RatePerSecond > 0 {
		g.interval = time.Duration(paceMargin / r.RatePerSecond * float64(time.Second))
	}
	g.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: r.Name, MaxRequests: 1, Interval: tripWindow, BucketPeriod: time.Second, Timeout: breakerTimeout,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			ended := c.TotalSuccesses + c.TotalFailures
			return g.streak >= tripStreak || ended >= tripSample && 2*c.TotalFailures >= ended
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errCallExcluded) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				g.trip()
			}
		},
	})
	return g
}

// room is how many calls may enter now. When none may, at is the reading at which to ask again; 0: when a call ends or a person acts.
func (g *gate) room(now time.Duration) (n int, at time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.roomLocked(now)
}

func (g *gate) roomLocked(now time.Duration) (n int, at time.Duration) {
	g.now = now
	n = min(g.route.Concurrency-g.inFlight, g.window-g.ramp)
	switch {
	case g.held:
		return 0, 0
	case now < g.shutUntil:
		return 0, g.shutUntil
	case g.breaker.State() == gobreaker.StateOpen:
		return 0, now + shortestSleep
	case n <= 0:
		return 0, 0
	case g.interval > 0 && now < g.nextCall:
		return 0, g.nextCall
	case g.interval > 0:
		return 1, 0
	}
	return n, 0
}

// unavailable reports whether the provider's health (not its load) keeps a call away now.
func (g *gate) unavailable(now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now = now
	return g.held || now < g.shutUntil || g.breaker.State() == gobreaker.StateOpen || !g.proven && g.ramp > 0
}

// enter takes a slot for one call, or returns nil. The ticket must be settled or given back.
func (g *gate) enter(now time.Duration) *ticket {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n, _ := g.roomLocked(now); n == 0 {
		return nil
	}
	t := &ticket{gate: g, epoch: g.epoch, opened: g.opened, paceBefore: g.nextCall}
	if g.breaker.State() != gobreaker.StateClosed {
		probe, err := g.breaker.Allow()
		if err != nil {
			return nil
		}
		t.probe = probe
	}
	g.inFlight++
	g.ramp++
	if g.interval > 0 {
		g.nextCall = now + g.interval
	}
	t.paceAfter = g.nextCall
	return t
}

// shut closes the gate for at least d and begins a new epoch.
func (g *gate) shut(cause PauseCause, d time.Duration) {
	g.shutUntil = max(g.shutUntil, g.now+d)
	g.epoch++
	g.ramp, g.window, g.proven = 0, 1, false
	if g.cause != PauseAccountRefusing { // what a person must act on is not hidden by what follows from it
		g.cause = cause
	}
	n := gateNews{paused: true, cause: g.cause, length: g.shutUntil - g.now, quiet: true}
	flaps := g.everNoted && g.noted == "" && g.now < g.resumedAt+pauseQuiet && g.cause != PauseAccountRefusing
	if g.noted != g.cause && !flaps {
		g.noted, g.everNoted, n.quiet = g.cause, true, false
	}
	g.news = append(g.news, n)
}

// trip is called by the breaker, with mu held, when it opens.
func (g *gate) trip() {
	g.trips++
	g.opened++
	g.shut(PauseBreakerOpen, g.grown(openLeast, openMost, g.trips))
}

// throttle pauses after an R5: as long as the provider says, else longer each time in a row.
func (g *gate) throttle(t *ticket, retryAfter time.Duration) {
	if retryAfter > 0 {
		g.shut(PauseThrottled, retryAfter)
		return
	}
	if t.epoch == g.epoch { // the others of a burst do not count again
		g.throttles++
	}
	g.shut(PauseThrottled, g.grown(throttleLeast, throttleMost, g.throttles))
}

// grown is the n-th pause in a row: least, with jitter up to a ceiling that doubles to most.
func (g *gate) grown(least, most time.Duration, n int) time.Duration {
	ceiling := most
	if shift := max(n, 1) - 1; shift < 6 {
		ceiling = min(least<<shift, most)
	}
	return least + time.Duration(g.random()*float64(ceiling-least))
}

// answered opens the gate by one call more. The first answer after a pause ends it.
func (g *gate) answered(t *ticket) {
	g.lastTaken = g.now
	if t.epoch != g.epoch {
		return
	}
	g.window = min(g.window+1, g.route.Concurrency)
	if g.proven {
		return
	}
	n := gateNews{cause: g.cause, quiet: g.noted == ""}
	g.proven, g.cause, g.throttles, g.trips = true, "", 0, 0
	if g.noted != "" {
		g.noted, g.resumedAt = "", g.now
	}
	g.news = append(g.news, n)
}

// ticket is the right to one call through a gate.
type ticket struct {
	gate                  *gate
	probe                 func(error) // reports to a half-open breaker; nil when it was closed
	epoch, opened         int
	paceBefore, paceAfter time.Duration
	used                  bool
}

// giveBack returns a ticket with which no call was made; the breaker does not count it. After a first use it does nothing.
func (t *ticket) giveBack(now time.Duration) {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if !t.leave(now) {
		return
	}
	if g.nextCall == t.paceAfter {
		g.nextCall = t.paceBefore
	}
	t.count(errCallExcluded)
}

// count reports the call to the breaker as of now. A call that began while the breaker was closed is announced only here: gobreaker drops
// the report of a call that took as long as its window, and those are the time-outs that the breaker is for.
func (t *ticket) count(err error) {
	g := t.gate
	if t.probe == nil && (errors.Is(err, errCallExcluded) || t.opened != g.opened) {
		return
	}
	switch {
	case err == nil:
		g.streak = 0
	case !errors.Is(err, errCallExcluded):
		g.streak++
	}
	if t.probe != nil {
		t.probe(err)
		return
	}
	if report, refused := g.breaker.Allow(); refused == nil {
		report(err)
	}
}

// settle tells the gate how the call ended and returns the changes that follow. The breaker counts unknown outcomes, R2 and R11 as failures;
// ours says that the call was given up by us, before its first byte, which says nothing about the provider.
func (t *ticket) settle(now time.Duration, x Exchange, ours bool) []gateNews {
	g := t.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if !t.leave(now) {
		return nil
	}
	outcome, rule := Classify(x.Phase, x.Err, x.Answer)
	switch {
	case rule == R1 || rule == R2 && ours:
		t.count(errCallExcluded)
	case rule == R5:
		t.count(nil)
		g.throttle(t, x.Answer.RetryAfter)
	case rule == R11:
		g.lastFailed = now
		g.shut(PauseAccountRefusing, accountPause)
		t.count(errCallFailed)
	case outcome == OutcomeUnknown || rule == R2:
		g.lastFailed = now
		t.count(errCallFailed)
	default:
		t.count(nil)
		g.answered(t)
	}
	news := g.news
	g.news = nil
	return news
}

// leave frees the slot, once; it reports whether this was the first time.
func (t *ticket) leave(now time.Duration) bool {
	if t.used {
		return false
	}
	g := t.gate
	t.used, g.now = true, now
	g.inFlight--
	if t.epoch == g.epoch {
		g.ramp--
	}
	return true
}
