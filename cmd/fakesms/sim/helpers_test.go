package sim

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const plainNumber = "+4915112345678" // its last digits mean nothing

// patience bounds every wait; a test that needs it has failed.
const patience = 10 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func startServer(t *testing.T, opt Options) *Server {
	t.Helper()
	s, err := Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func formTo(to string) url.Values {
	return url.Values{"To": {to}, "From": {"+15005550006"}, "Body": {"Your code is 493817"}, "ValidityPeriod": {"60"}}
}

// seen is what a client saw of one exchange.
type seen struct {
	status int
	header http.Header
	body   string
	err    error // of the exchange or of reading the body
}

func (s seen) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.body), into); err != nil {
		t.Fatalf("body %q: %v", s.body, err)
	}
}

func messagesURL(s *Server) string {
	return s.BaseURL() + "/2010-04-01/Accounts/" + s.AccountSID() + "/Messages.json"
}

func sendForm(ctx context.Context, c *http.Client, s *Server, form url.Values) seen {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, messagesURL(s), strings.NewReader(form.Encode()))
	if err != nil {
		return seen{err: err}
	}
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(s.AccountSID(), s.AuthToken())
	return do(c, req)
}

func get(ctx context.Context, c *http.Client, s *Server, target string) seen {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return seen{err: err}
	}
	req.SetBasicAuth(s.AccountSID(), s.AuthToken())
	return do(c, req)
}

func do(c *http.Client, req *http.Request) seen {
	res, err := c.Do(req)
	if err != nil {
		return seen{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return seen{res.StatusCode, res.Header, string(body), err}
}

// manualClock stands still until it is advanced.
type manualClock struct {
	mu      sync.Mutex
	now     time.Time
	waiters map[chan time.Time]time.Time
	asked   chan struct{} // receives once for each After
}

func newManualClock() *manualClock {
	return &manualClock{now: time.Date(2026, 11, 29, 14, 0, 0, 0, time.UTC), waiters: map[chan time.Time]time.Time{},
		asked: make(chan struct{}, 1000)}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.waiters[ch] = c.now.Add(d)
	c.asked <- struct{}{}
	return ch
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for ch, due := range c.waiters {
		if !due.After(c.now) {
			ch <- c.now
			delete(c.waiters, ch)
		}
	}
}

// awaitTimer waits until one more timer was asked for.
func (c *manualClock) awaitTimer(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case <-c.asked:
	case <-ctx.Done():
		t.Fatal("nobody asked for a timer")
	}
}

// callback is one delivery report as a receiver sees it.
type callback struct {
	url       string
	form      url.Values
	signature string
}

// receiver takes call-backs and answers each with a status.
func receiver(t *testing.T, status int) (string, <-chan callback) {
	t.Helper()
	got := make(chan callback, 1000)
	var base string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		form, err := url.ParseQuery(string(raw))
		if err != nil {
			t.Error(err)
		}
		got <- callback{base + r.URL.RequestURI(), form, r.Header.Get("X-Twilio-Signature")}
		w.WriteHeader(status)
	}))
	base = srv.URL
	t.Cleanup(srv.Close)
	return srv.URL + "/receipts/main?ref=ntf_1.att_1.1.mac&z=1&a=2", got
}

func next(ctx context.Context, t *testing.T, got <-chan callback) callback {
	t.Helper()
	select {
	case c := <-got:
		return c
	case <-ctx.Done():
		t.Fatal("no call-back came")
		return callback{}
	}
}
