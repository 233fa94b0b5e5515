package wire_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
	"sentonce/dispatch/providers/wire"
)

func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	s := dispatchtest.NewRawServer(t, dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}")))
	for _, tt := range []struct {
		idle        time.Duration
		connections int
	}{{0, 1}, {-1, 3}} {
		c := newClient(t, wire.Options{BaseURL: s.URL(), IdleTimeout: tt.idle})
		before := s.Accepted()
		for range 3 {
			if r := c.Exchange(within(t, 5*time.Second), post(t, s.URL()), nil); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		if got := s.Accepted() - before; got != tt.connections {
			t.Errorf("idle time-out %v: %d connections", tt.idle, got)
		}
	}
}

// net/http sends again when a kept connection dies under a request that it takes for idempotent. Each of these requests is one that it
// would replay; the server must see it once.
func TestARequestIsNeverReplayedWhenAKeptConnectionDies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(*http.Request)
	}{
		{"POST", func(*http.Request) {}},
		{"POST with an idempotency key", func(r *http.Request) { r.Header.Set("Idempotency-Key", "k") }},
		{"POST with the other idempotency key", func(r *http.Request) { r.Header.Set("X-Idempotency-Key", "k") }},
		{"POST without a body and with a key", func(r *http.Request) {
			r.Body, r.ContentLength = nil, 0
			r.Header.Set("Idempotency-Key", "k")
		}},
		{"GET", func(r *http.Request) { r.Method, r.Body, r.ContentLength = http.MethodGet, nil, 0 }},
	}
	for _, tt := range tests {
		for name, die := range map[string]func(*dispatchtest.Peer){"closed": func(*dispatchtest.Peer) {}, "reset": (*dispatchtest.Peer).Reset} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				t.Parallel()
				s := dispatchtest.NewRawServer(t, func(p *dispatchtest.Peer) {
					if p.Number > 1 {
						dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}"))(p)
						return
					}
					if p.Next() && p.Say(dispatchtest.Answer(201, "{}")) && p.Next() {
						die(p)
					}
				})
				c := newClient(t, wire.Options{BaseURL: s.URL()})
				check(t, c.Exchange(within(t, 5*time.Second), post(t, s.URL()), nil), taken, len(s.Requests()))
				req := post(t, s.URL())
				tt.prepare(req)
				check(t, c.Exchange(within(t, 5*time.Second), req, nil), want{silence.phase, silence.outcome, silence.rule, 2}, len(s.Requests()))
				r := c.Exchange(within(t, 5*time.Second), post(t, s.URL()), nil)
				check(t, r, want{taken.phase, taken.outcome, taken.rule, 3}, len(s.Requests()))
				if got := s.Requests()[2].Header.Get("Connection"); got != "close" {
					t.Errorf("after the loss connections are still kept (Connection: %q)", got)
				}
			})
		}
	}
}

// A server that closes each connection after its answer without saying so races with the next request. What is known as sent must agree
// with what the server read, and one doubt must be enough to learn from.
func TestAServerThatClosesUnannouncedCostsOneDoubtAtMost(t *testing.T) {
	t.Parallel()
	s := dispatchtest.NewRawServer(t, say(dispatchtest.Answer(201, "{}")))
	c := newClient(t, wire.Options{BaseURL: s.URL()})
	sent, doubts := 0, 0
	for range 50 {
		r := c.Exchange(within(t, 5*time.Second), post(t, s.URL()), nil)
		switch _, rule := classify(r); rule {
		case dispatch.R3:
			sent++
		case dispatch.R6:
			doubts++
		case dispatch.R2:
		default:
			t.Fatalf("phase %s: %s, %v", r.Phase, rule, r.Err)
		}
	}
	if got := len(s.Requests()); got != sent || doubts > 1 {
		t.Errorf("%d requests were read, %d are known as sent, %d are in doubt", got, sent, doubts)
	}
}

// A server that sends two answers for one request must not have the second taken for the answer to the next request.
func TestALeftOverAnswerIsNotTheNextOne(t *testing.T) {
	t.Parallel()
	answer := dispatchtest.Answer(201, `{"n":1}`)
	s := dispatchtest.NewRawServer(t, func(p *dispatchtest.Peer) {
		for p.Next() {
			p.Say(answer + dispatchtest.Answer(201, `{"left":1}`))
		}
	})
	c := newClient(t, wire.Options{BaseURL: s.URL()})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 25 {
				r := c.Exchange(within(t, 5*time.Second), post(t, s.URL()), nil)
				if r.Err == nil && string(r.Body) != `{"n":1}` {
					t.Errorf("took %s for an answer", r.Body)
					return
				}
			}
		})
	}
	group.Wait()
}

// Dials outlive the exchanges that asked for them, and their connections serve others: no exchange may get another one's state.
func TestConnectionsDialledForOthersCarryTheRightExchange(t *testing.T) {
	t.Parallel()
	s := dispatchtest.NewRawServer(t, dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}")))
	c := newClient(t, wire.Options{BaseURL: s.URL()})
	var group sync.WaitGroup
	var mu sync.Mutex
	sent, doubts := 0, 0
	for worker := range 16 {
		group.Go(func() {
			for i := range 20 {
				limit := 5 * time.Second
				if (worker+i)%3 == 0 {
					limit = time.Duration(i*20) * time.Microsecond
				}
				r := c.Exchange(within(t, limit), post(t, s.URL()), nil)
				mu.Lock()
				switch _, rule := classify(r); rule {
				case dispatch.R3:
					sent++
				case dispatch.R6:
					doubts++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if got := len(s.Requests()); got < sent || got > sent+doubts {
		t.Errorf("%d requests at the server, %d known as sent, %d in doubt", got, sent, doubts)
	}
}
