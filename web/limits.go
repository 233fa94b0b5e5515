package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"sentonce/dispatch"
	"sentonce/dispatch/phone"
)

// Limit is a token bucket: so many requests a second, and so many at once after a pause.
type Limit struct {
	PerSecond float64
	Burst     int
}

// Limits bounds what one API key and one client may ask for. Admissions and all other requests have buckets of their own, so that polling
// never stops an admission. The zero value means the defaults: 500 a second with a burst of 1000 per key, and twice that per client.
type Limits struct {
	PerKey, PerClient Limit
}

func (l Limits) withDefaults() Limits {
	if l.PerKey == (Limit{}) {
		l.PerKey = Limit{PerSecond: 500, Burst: 1000}
	}
	if l.PerClient == (Limit{}) {
		l.PerClient = Limit{PerSecond: 2 * l.PerKey.PerSecond, Burst: 2 * l.PerKey.Burst}
	}
	return l
}

// maxBuckets bounds the memory of a limiter. Keys and clients are made by the operator, so that only a very large installation comes near.
const maxBuckets = 10_000

// limiter holds the buckets of keys and clients.
type limiter struct {
	now    func() Limits
	limits Limits // as last looked at
	mu     sync.Mutex
	keys   map[string]*rate.Limiter // by the id of the API key as an actor
	owners map[dispatch.ClientID]*rate.Limiter
}

func newLimiter(now func() Limits) *limiter {
	return &limiter{now: now, limits: now().withDefaults(), keys: map[string]*rate.Limiter{}, owners: map[dispatch.ClientID]*rate.Limiter{}}
}

// take takes one token from each bucket, or none and returns how long to wait.
func (l *limiter) take(by dispatch.Actor, client dispatch.ClientID, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limits := l.now().withDefaults(); limits != l.limits { // the settings have changed: everybody begins with a full bucket
		l.limits = limits
		clear(l.keys)
		clear(l.owners)
	}
	mine := bucket(l.keys, by.ID, l.limits.PerKey, now).ReserveN(now, 1)
	ours := bucket(l.owners, client, l.limits.PerClient, now).ReserveN(now, 1)
	wait = max(mine.DelayFrom(now), ours.DelayFrom(now))
	if wait > 0 {
		mine.CancelAt(now)
		ours.CancelAt(now)
	}
	return wait
}

// bucket finds or makes the bucket of an id. A full bucket says nothing that a new one does not, so that full ones make room.
func bucket[K comparable](all map[K]*rate.Limiter, id K, limit Limit, now time.Time) *rate.Limiter {
	if found := all[id]; found != nil {
		return found
	}
	if len(all) >= maxBuckets {
		makeRoom(all, limit, now)
	}
	made := rate.NewLimiter(rate.Limit(limit.PerSecond), limit.Burst)
	all[id] = made
	return made
}

func makeRoom[K comparable](all map[K]*rate.Limiter, limit Limit, now time.Time) {
	for id, b := range all {
		if b.TokensAt(now) >= float64(limit.Burst) {
			delete(all, id)
		}
	}
	for id := range all {
		if len(all) < maxBuckets {
			return
		}
		delete(all, id)
	}
}

// limitError says that a key or a client has asked for too much.
type limitError struct{ wait time.Duration }

func (e *limitError) Error() string { return fmt.Sprintf("rate limit: wait %s", e.wait) }

// limitRate bounds the requests of a key and a client, except for admissions, whose limit comes after the replay check.
func (s *Server) limitRate(rt route) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if rt.needs.open || rt.ownLimit {
			return next
		}
		return func(c echo.Context) error {
			cl := callOf(c)
			if wait := s.others.take(cl.by(), cl.key.Client, s.deps.Clock.Now()); wait > 0 {
				return &limitError{wait}
			}
			return next(c)
		}
	}
}

// gate is the store as the admission use case sees it: between the replay check, which nothing may refuse, and the admission stand the
// installation's countries and the rate limits.
type gate struct {
	dispatch.Admissions
	countries func() phone.Countries
	limits    *limiter
	clock     dispatch.Clock
}

// Admit refuses with a *dispatch.RefusalError or a *limitError before it asks the store.
func (g gate) Admit(ctx context.Context, a dispatch.Admission) (dispatch.Record, bool, error) {
	if !g.countries().Allows(a.Country) {
		return dispatch.Record{}, false, &dispatch.RefusalError{Member: "recipient", Rule: dispatch.RefusalRule(phone.RuleCountry),
			Detail: "numbers of this country are not served"}
	}
	if wait := g.limits.take(a.By, a.Client, g.clock.Now()); wait > 0 {
		return dispatch.Record{}, false, &limitError{wait}
	}
	return g.Admissions.Admit(ctx, a)
}
