package dispatch

import (
	"context"
	"slices"
	"time"
)

// shunFor is how long a notification is left alone whose claim failed in a way that is its own, not the store's.
const shunFor = 30 * time.Second

// errand is a notification on its way to a worker: routed, with a slot at its provider, not yet claimed.
type errand struct {
	waiting Waiting
	gate    *gate
	ticket  *ticket
}

// feed hands out work until ctx ends.
func (p *Pool) feed(ctx context.Context, start func(errand)) {
	for ctx.Err() == nil {
		var wait time.Duration
		err := safely(func() error {
			wait = p.round(ctx, start)
			return nil
		})
		if err != nil {
			p.log.Error("looking for work panicked", "error", err)
			wait = p.storeFailed()
		}
		p.wake.sleep(ctx, wait)
	}
}

// round is one look: it hands out what it can and returns how long to sleep if nothing wakes it earlier.
func (p *Pool) round(ctx context.Context, start func(errand)) time.Duration {
	if p.cfg.Paused() {
		return safetyLook
	}
	room, wait := p.room()
	if room == 0 {
		return wait
	}
	now := p.cfg.Clock.Now()
	limit := min(room+p.claimsUnderWay()+p.passed, max(mostListed, room))
	list, err := p.cfg.Queue.Due(ctx, now, p.after, limit)
	if err != nil {
		if ctx.Err() == nil {
			p.storeTrouble("look for work", err)
		}
		return p.storeFailed()
	}
	handed, passed := p.handOut(list, now, room, start)
	p.passed = passed
	if full := len(list) >= limit; full && handed == room {
		return 0
	} else if full && limit < mostListed {
		p.passed = max(2*passed, room)
		return 0
	}
	return p.untilNext(ctx, now, passed > 0)
}

// room is how many notifications may be handed out now; when none, for how long at most.
func (p *Pool) room() (n int, wait time.Duration) {
	mono := p.cfg.Mono()
	wait = safetyLook
	free, holdOff := p.freeWorkers(mono)
	if free == 0 {
		return 0, max(holdOff, 0)
	}
	for _, g := range p.gates {
		some, at := g.room(mono)
		n += some
		if at > 0 {
			wait = min(wait, at-mono)
		}
	}
	return min(n, free), wait
}

// freeWorkers is how many workers are free. While the store is failing it is one, after a time: a claim that fails is cheap, but many are not.
func (p *Pool) freeWorkers(mono time.Duration) (n int, holdOff time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = p.cfg.Workers - p.busy
	if p.health.failures == 0 || n == 0 {
		return n, safetyLook
	}
	if mono < p.health.until {
		return 0, p.health.until - mono
	}
	if len(p.claiming) > 0 {
		return 0, safetyLook
	}
	return 1, safetyLook
}

func (p *Pool) claimsUnderWay() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.claiming)
}

// handOut starts up to room errands from the list. passed counts the notifications that can go nowhere now: they stay where they are, and
// the next look reaches behind them.
func (p *Pool) handOut(list []Waiting, now time.Time, room int, start func(errand)) (handed, passed int) {
	for _, w := range list {
		if handed == room {
			break
		}
		if !p.reserve(w.ID) {
			continue
		}
		g, t := p.route(w, now)
		if t == nil {
			p.unreserve(w.ID)
			passed++
			continue
		}
		handed++
		p.after = w.Client
		start(errand{w, g, t})
	}
	return handed, passed
}

// reserve takes a worker for a notification, unless it is on its way already.
func (p *Pool) reserve(id NotificationID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claiming[id] {
		return false
	}
	p.claiming[id] = true
	p.busy++
	return true
}

// unreserve frees the worker again.
func (p *Pool) unreserve(id NotificationID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.claiming, id)
	p.busy--
}

// claimed says that the claim is over, one way or the other; the worker stays busy.
func (p *Pool) claimed(id NotificationID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.claiming, id)
}

func (p *Pool) freeWorker() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
}

// shun leaves a notification alone for a while: what fails for itself alone must not take every turn.
func (p *Pool) shun(id NotificationID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shunned[id] = p.cfg.Mono() + shunFor
}

func (p *Pool) isShunned(id NotificationID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.shunned[id]
	if ok && p.cfg.Mono() >= until {
		delete(p.shunned, id)
		return false
	}
	return ok
}

// route takes a slot at the first provider that may have the message and can take it.
func (p *Pool) route(w Waiting, now time.Time) (*gate, *ticket) {
	life := w.ExpiresAt.Sub(now)
	if life <= 0 || life < p.cfg.MinRemaining || p.isShunned(w.ID) {
		return nil, nil
	}
	for _, g := range p.gates {
		if !g.suits(w, life) {
			continue
		}
		if t := g.enter(p.cfg.Mono()); t != nil {
			return g, t
		}
	}
	return nil, nil
}

// suits reports whether the provider may have the message: it has not refused it, and it can express the life that is left.
func (g *gate) suits(w Waiting, life time.Duration) bool {
	if slices.Contains(w.RefusedBy, g.route.Name) {
		return false
	}
	_, ok := Validity(g.route.Timeout, life, g.can)
	return ok
}

// untilNext is how long nothing happens by itself: until the next notification is due, or a provider opens when some wait for one.
func (p *Pool) untilNext(ctx context.Context, now time.Time, some bool) time.Duration {
	at, ok, err := p.cfg.Queue.NextDue(ctx, now)
	if err != nil {
		if ctx.Err() == nil {
			p.storeTrouble("look for the next due time", err)
		}
		return p.storeFailed()
	}
	wait := safetyLook
	if ok {
		wait = sleepUntil(at, p.cfg.Clock.Now())
	}
	if !some {
		return wait
	}
	mono := p.cfg.Mono()
	for _, g := range p.gates {
		if _, opens := g.room(mono); opens > 0 {
			wait = min(wait, opens-mono)
		}
	}
	return wait
}

// storeHealth is what the pool remembers of the store's failures. Only a write that succeeds clears it: a store that cannot be written may
// still be readable.
type storeHealth struct {
	failures int
	until    time.Duration // monotonic; no new look before
}

// storeFailed notes a failure and returns how long to leave the store alone. Failures that come while it is left alone count as one.
func (p *Pool) storeFailed() time.Duration {
	fraction, mono := p.cfg.Random(), p.cfg.Mono()
	p.mu.Lock()
	defer p.mu.Unlock()
	if mono < p.health.until {
		return p.health.until - mono
	}
	p.health.failures++
	d := storeRetry(p.health.failures, fraction)
	p.health.until = mono + d
	return d
}

// storeWorks notes that the store has taken a write.
func (p *Pool) storeWorks() {
	p.mu.Lock()
	was := p.health.failures
	p.health = storeHealth{}
	p.mu.Unlock()
	if was > 0 {
		p.wake.ring()
		p.log.Info("the store takes writes again", "failures", was)
	}
}

// storeTrouble logs the first failure of a row; the rest is silence until it works again.
func (p *Pool) storeTrouble(what string, err error) {
	p.mu.Lock()
	first := p.health.failures == 0
	p.mu.Unlock()
	if first {
		p.log.Warn("the store fails; nothing is claimed until it works again", "what", what, "error", err)
	}
}
