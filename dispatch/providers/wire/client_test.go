package wire_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
	"sentonce/dispatch/providers/wire"
)

const secretBody = "To=%2B4915112345678&Body=Your+code+is+493817"

// newClient makes a client for base with time-outs that suit a test.
func newClient(t *testing.T, o wire.Options) *wire.Client {
	t.Helper()
	c, err := wire.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

func post(t *testing.T, base string) *http.Request {
	t.Helper()
	req, err := wire.NewRequest(http.MethodPost, base+"/send?key=in-the-query", strings.NewReader(secretBody))
	if err != nil {
		t.Fatalf("NewRequest: %v", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return req
}

// within gives a context for an exchange that is expected to end by itself.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// classify reads a 2xx as taken and everything else as foreign: enough to see which rule an exchange falls under.
func classify(r wire.Result) (dispatch.Outcome, dispatch.Rule) {
	a := dispatch.Answer{Meaning: dispatch.MeaningForeign}
	if r.Status/100 == 2 {
		a.Meaning = dispatch.MeaningTaken
	}
	return dispatch.Classify(r.Phase, r.Err, a)
}

type want struct {
	phase    dispatch.Phase
	outcome  dispatch.Outcome
	rule     dispatch.Rule
	requests int
}

var (
	taken   = want{dispatch.PhaseAnswered, dispatch.OutcomeAccepted, dispatch.R3, 1}
	foreign = want{dispatch.PhaseAnswered, dispatch.OutcomeUnknown, dispatch.R7, 1}
	silence = want{dispatch.PhaseWritten, dispatch.OutcomeUnknown, dispatch.R6, 1}
	cut     = want{dispatch.PhaseResponding, dispatch.OutcomeUnknown, dispatch.R6, 1}
)

func check(t *testing.T, r wire.Result, w want, requests int) {
	t.Helper()
	outcome, rule := classify(r)
	if got := (want{r.Phase, outcome, rule, requests}); got != w {
		t.Errorf("got %+v, want %+v (error: %v)", got, w, r.Err)
	}
	if (r.Err == nil) != (r.Phase == dispatch.PhaseAnswered) {
		t.Errorf("phase %s with error %v", r.Phase, r.Err)
	}
	if r.Err != nil {
		for _, secret := range []string{"4915112345678", "493817", "in-the-query", "echo"} {
			if strings.Contains(r.Err.Error(), secret) {
				t.Errorf("the error quotes %q: %v", secret, r.Err)
			}
		}
	}
}

// once is a script for one connection: read one request, then act.
func once(act func(*dispatchtest.Peer)) func(*dispatchtest.Peer) {
	return func(p *dispatchtest.Peer) {
		if p.Next() {
			act(p)
		}
	}
}

func say(raw string) func(*dispatchtest.Peer) {
	return once(func(p *dispatchtest.Peer) { p.Say(raw) })
}

func sayThenHang(raw string) func(*dispatchtest.Peer) {
	return once(func(p *dispatchtest.Peer) { p.Say(raw); p.Hang() })
}

// TestFieldF04_EachBreakOfAnExchangeIsReadForWhatItProves covers all that can go wrong once a connection is there.
func TestFieldF04_EachBreakOfAnExchangeIsReadForWhatItProves(t *testing.T) {
	t.Parallel()
	whole := dispatchtest.Answer(201, `{"sid":"echo"}`)
	tests := []struct {
		name     string
		script   func(*dispatchtest.Peer)
		want     want
		timedOut bool
	}{
		{"a whole answer", sayThenHang(whole), taken, false},
		{"a whole answer, then a close", say(whole), taken, false},
		{"a whole chunked answer", sayThenHang("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"), taken, false},
		{"an empty answer", sayThenHang(dispatchtest.Answer(200, "")), taken, false},
		{"noise before the answer", sayThenHang("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + whole), taken, false},
		{"noise without an answer", sayThenHang("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"), cut, true},
		{"endless noise", once(func(p *dispatchtest.Peer) {
			for p.Say("HTTP/1.1 103 Early Hints\r\nLink: </echo>\r\n\r\n") {
			}
		}), cut, false},
		{"a switch of protocols", sayThenHang("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n"), cut, false},
		{"request read, then closed", once(func(*dispatchtest.Peer) {}), silence, false},
		{"request read, then reset", once((*dispatchtest.Peer).Reset), silence, false},
		{"request read, then silence", once((*dispatchtest.Peer).Hang), silence, true},
		{"header, then silence", sayThenHang("HTTP/1.1 201 Created\r\nContent-Length: 20\r\n\r\n"), cut, true},
		{"half a header", say("HTTP/1.1 201 Created\r\nContent-Le"), cut, false},
		{"header, then closed", say("HTTP/1.1 201 Created\r\nContent-Length: 20\r\n\r\n"), cut, false},
		{"half a body", say("HTTP/1.1 201 Created\r\nContent-Length: 20\r\n\r\n{\"sid\":\"e"), cut, false},
		{"half a body, then reset", once(func(p *dispatchtest.Peer) {
			p.Say("HTTP/1.1 201 Created\r\nContent-Length: 20\r\n\r\n{\"sid\":\"e")
			p.Reset()
		}), cut, false},
		{"chunks without their end", say("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"), cut, false},
		{"half a chunk", say("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{}\r\n"), cut, false},
		{"a body over the limit", sayThenHang(dispatchtest.Answer(201, strings.Repeat("x", 1025))), cut, false},
		{"a body at the limit", sayThenHang(dispatchtest.Answer(201, strings.Repeat("x", 1024))), taken, false},
		{"a header over the limit", sayThenHang("HTTP/1.1 201 Created\r\nX-A: " + strings.Repeat("echo", 1<<15) + "\r\n\r\n"), cut, false},
		{"a drip over the deadline", once(drip), cut, true},
		{"not HTTP", say("echo Your code is 493817 to 4915112345678\r\n\r\n"), cut, false},
		{"two lengths", say("HTTP/1.1 201 Created\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} "), cut, false},
		{"a redirect that keeps method and body", sayThenHang(dispatchtest.Answer(307, "", "Location: /elsewhere")), foreign, false},
		{"a redirect that does not", sayThenHang(dispatchtest.Answer(302, "", "Location: /elsewhere")), foreign, false},
		{"a server error", sayThenHang(dispatchtest.Answer(503, "echo")), foreign, false},
		{"a time-out told by a server", sayThenHang(dispatchtest.Answer(408, "", "Connection: close")), foreign, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := dispatchtest.NewRawServer(t, tt.script)
			c := newClient(t, wire.Options{BaseURL: s.URL(), MaxAnswer: 1024})
			limit := 5 * time.Second
			if tt.timedOut {
				limit = 150 * time.Millisecond
			}
			r := c.Exchange(within(t, limit), post(t, s.URL()), nil)
			check(t, r, tt.want, len(s.Requests()))
			if r.TimedOut != tt.timedOut {
				t.Errorf("TimedOut = %v", r.TimedOut)
			}
			for _, got := range s.Requests() {
				if got.Body != secretBody || got.Header.Get("Accept-Encoding") != "" {
					t.Errorf("the server read %q with header %v", got.Body, got.Header)
				}
			}
		})
	}
}

// drip sends a body so slowly that it never ends within any deadline of these tests.
func drip(p *dispatchtest.Peer) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ok := p.Say("HTTP/1.1 201 Created\r\nContent-Length: 1000\r\n\r\n"); ok; ok = p.Say("x") {
		select {
		case <-tick.C:
		case <-p.Stopped():
			return
		}
	}
}

func TestAnEndMarkedOnlyByTheConnectionIsSaidSo(t *testing.T) {
	t.Parallel()
	for raw, delimited := range map[string]bool{
		"HTTP/1.0 201 Created\r\n\r\n{}":          true,
		dispatchtest.Answer(201, "{}"):            false,
		"HTTP/1.1 204 No Content\r\n\r\n":         false,
		"HTTP/1.1 200 OK\r\n\r\n{\"sid\":\"SM0\"": true,
	} {
		s := dispatchtest.NewRawServer(t, say(raw))
		r := newClient(t, wire.Options{BaseURL: s.URL()}).Exchange(within(t, 5*time.Second), post(t, s.URL()), nil)
		if r.Err != nil || r.CloseDelimited != delimited {
			t.Errorf("%q: CloseDelimited = %v, error %v", raw, r.CloseDelimited, r.Err)
		}
	}
}

func TestFieldF04_NothingLeavesBeforeThereIsAConnection(t *testing.T) {
	t.Parallel()
	notSent := func(p dispatch.Phase) want { return want{p, dispatch.OutcomeNotSent, dispatch.R2, 0} }
	closed := func(p *dispatchtest.Peer) {}
	t.Run("port closed", func(t *testing.T) {
		t.Parallel()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		base := "http://" + ln.Addr().String()
		ln.Close()
		check(t, newClient(t, wire.Options{BaseURL: base}).Exchange(within(t, 5*time.Second), post(t, base), nil), notSent(dispatch.PhaseConnecting), 0)
	})
	t.Run("a name that cannot exist", func(t *testing.T) {
		t.Parallel()
		base := "http://" + strings.Repeat("x", 70) + ".invalid"
		check(t, newClient(t, wire.Options{BaseURL: base}).Exchange(within(t, 5*time.Second), post(t, base), nil), notSent(dispatch.PhaseConnecting), 0)
	})
	t.Run("a peer that does not speak TLS", func(t *testing.T) {
		t.Parallel()
		s := dispatchtest.NewRawServer(t, func(p *dispatchtest.Peer) { p.Say("echo: who are you?\r\n") })
		base := "https://" + s.Addr()
		check(t, newClient(t, wire.Options{BaseURL: base}).Exchange(within(t, 5*time.Second), post(t, base), nil), notSent(dispatch.PhaseConnecting), len(s.Requests()))
	})
	t.Run("a peer that is silent in TLS", func(t *testing.T) {
		t.Parallel()
		s := dispatchtest.NewRawServer(t, (*dispatchtest.Peer).Hang)
		base := "https://" + s.Addr()
		r := newClient(t, wire.Options{BaseURL: base, TLSTimeout: 50 * time.Millisecond}).Exchange(within(t, 5*time.Second), post(t, base), nil)
		check(t, r, notSent(dispatch.PhaseConnecting), len(s.Requests()))
		if !r.TimedOut {
			t.Error("TimedOut = false")
		}
	})
	t.Run("a peer that closes at once in TLS", func(t *testing.T) {
		t.Parallel()
		s := dispatchtest.NewRawServer(t, closed)
		base := "https://" + s.Addr()
		check(t, newClient(t, wire.Options{BaseURL: base}).Exchange(within(t, 5*time.Second), post(t, base), nil), notSent(dispatch.PhaseConnecting), len(s.Requests()))
	})
	t.Run("another host than the provider's", func(t *testing.T) {
		t.Parallel()
		s := dispatchtest.NewRawServer(t, closed)
		r := newClient(t, wire.Options{BaseURL: "http://127.0.0.1:1"}).Exchange(within(t, 5*time.Second), post(t, s.URL()), nil)
		check(t, r, notSent(dispatch.PhaseNone), s.Accepted())
	})
	t.Run("given up before the start", func(t *testing.T) {
		t.Parallel()
		s := dispatchtest.NewRawServer(t, closed)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := newClient(t, wire.Options{BaseURL: s.URL()}).Exchange(ctx, post(t, s.URL()), nil)
		check(t, r, notSent(dispatch.PhaseNone), s.Accepted())
		if !errors.Is(r.Err, context.Canceled) || r.TimedOut {
			t.Errorf("error %v, timed out %v", r.Err, r.TimedOut)
		}
	})
}

// A connection that is accepted and closed at once may be noticed before the request is written or after: both readings must be honest.
func TestAConnectionClosedAtOnceIsNeverReadAsMoreThanItProves(t *testing.T) {
	t.Parallel()
	s := dispatchtest.NewRawServer(t, func(*dispatchtest.Peer) {})
	c := newClient(t, wire.Options{BaseURL: s.URL()})
	for range 50 {
		r := c.Exchange(within(t, 5*time.Second), post(t, s.URL()), nil)
		outcome, rule := classify(r)
		if r.Phase == dispatch.PhaseConnected && (outcome != dispatch.OutcomeNotSent || rule != dispatch.R2) ||
			r.Phase.BytesMayHaveLeft() && rule != dispatch.R6 || r.Phase == dispatch.PhaseAnswered {
			t.Fatalf("phase %s: %s, %s", r.Phase, outcome, rule)
		}
	}
	if got := len(s.Requests()); got != 0 {
		t.Errorf("%d requests", got)
	}
}

func TestNewRefusesWhatItCannotReach(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "api.example.org", "ftp://api.example.org", "https://user:pass@api.example.org", "https://", "://"} {
		if _, err := wire.New(wire.Options{BaseURL: base}); err == nil {
			t.Errorf("New(%q) succeeded", base)
		}
	}
}
