package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/web"
)

// everyCall is one request for each operation that asks the store.
func everyCall(t *testing.T, id string) []request {
	t.Helper()
	a, _ := fresh()
	return []request{
		{method: "POST", path: "/v1/notifications", body: a.json(t)},
		{method: "GET", path: "/v1/notifications?event_id=x"},
		{method: "GET", path: "/v1/notifications?idempotency_key=x"},
		{method: "GET", path: "/v1/notifications/" + id},
		{method: "GET", path: "/v1/notifications/" + id, header: http.Header{"Prefer": {"wait=30"}}},
		{method: "POST", path: "/v1/notifications/" + id + "/cancel", body: []byte(`{"reason":"other"}`)},
		{method: "POST", path: "/v1/cancellations", body: []byte(`{"subject":"u","reason":"other"}`)},
		{method: "GET", path: "/readyz"},
	}
}

const inner = "SELECT recipient FROM notifications: database is locked (5) (SQLITE_BUSY) /var/lib/sentonce/sentonce.db *store.Writer goroutine 7"

func TestFieldF40_NothingOfTheInsideShowsInAProblem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("%s: %w", inner, dispatch.ErrUnavailable), http.StatusServiceUnavailable},
		{errors.New(inner), http.StatusInternalServerError},
		{fmt.Errorf("%s: %w", inner, context.DeadlineExceeded), http.StatusGatewayTimeout},
		{fmt.Errorf("%s: %w", inner, dispatch.ErrUnreadable), http.StatusInternalServerError},
	} {
		b := newBench(t, nil)
		a, _ := fresh()
		id := b.admit(a).ID
		for _, only := range []string{"Authenticate", ""} { // the first thing that is asked, or all but that
			b.store.Break(func(operation string) error {
				if (operation == "Authenticate") != (only != "") {
					return nil
				}
				return c.err
			})
			for _, r := range everyCall(t, id) {
				if only != "" && r.path == "/readyz" {
					continue
				}
				ans := b.do(r)
				p, want := ans.problem(t), c.code
				if r.path == "/readyz" {
					want = http.StatusServiceUnavailable
				}
				if ans.code != want {
					t.Errorf("%v: %s %s got %d", c.err, r.method, r.path, ans.code)
				}
				for _, leak := range []string{"SELECT", "SQLITE", "/var/lib", "*store", "goroutine", "locked", ".go"} {
					if bytes.Contains(ans.body, []byte(leak)) {
						t.Errorf("%s %s shows %q: %s", r.method, r.path, leak, ans.body)
					}
				}
				if !logged(b, strings.TrimPrefix(p.Instance, "urn:uuid:"), inner) {
					t.Errorf("%s %s: the log has no reason under %s", r.method, r.path, p.Instance)
				}
			}
		}
		if b.store.Count() != 1 {
			t.Errorf("%d records after refused admissions", b.store.Count())
		}
	}
}

// logged reports whether a log line has a request id and a text in its error.
func logged(b *bench, id, text string) bool {
	for _, line := range strings.Split(b.log.String(), "\n") {
		var l struct {
			RequestID string `json:"request_id"`
			Error     string
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.RequestID == id && strings.Contains(l.Error, text) {
			return true
		}
	}
	return false
}

func TestFieldF57_APanicIsAWholeProblemAndALogLineWithTheSameID(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, token := fresh()
	id := b.admit(a).ID
	for name, boom := range map[string]func(){
		"a value with a secret": func() { panic("bad row: " + token) },
		"an error":              func() { panic(errors.New(inner)) },
		"the runtime's":         func() { var r *dispatch.Record; r.State = "" },
	} {
		b.store.Break(func(operation string) error {
			if operation == "Notification" {
				boom()
			}
			return nil
		})
		ans := b.get(id, nil)
		p := ans.problem(t)
		if ans.code != http.StatusInternalServerError || p.Type != "/problems/internal" {
			t.Errorf("%s: got %d %s", name, ans.code, ans.body)
		}
		requestID := ans.header.Get("X-Request-Id")
		if p.Instance != "urn:uuid:"+requestID || !logged(b, requestID, "panic: ") {
			t.Errorf("%s: instance %s, X-Request-Id %s", name, p.Instance, requestID)
		}
		if status := accessStatus(b, requestID); status != http.StatusInternalServerError {
			t.Errorf("%s: the access log has the status %d", name, status)
		}
		b.store.Break(nil)
		if ans := b.get(id, nil); ans.code != http.StatusOK {
			t.Errorf("%s: the next request got %d", name, ans.code)
		}
	}
	if strings.Contains(b.log.String(), token) {
		t.Error("the log has what the panic carried")
	}
}

// accessStatus is the status in the access log's line of a request; 0: no line. The line follows the answer, so it may come a little later.
func accessStatus(b *bench, id string) (status int) {
	b.t.Helper()
	eventually(b.t, "the access log has "+id, func() bool {
		for _, line := range strings.Split(b.log.String(), "\n") {
			var l struct {
				Msg       string
				RequestID string `json:"request_id"`
				Status    int
			}
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "request" && l.RequestID == id {
				status = l.Status
			}
		}
		return status != 0
	})
	return status
}

func TestAdmissionIsClosedWhileTheServiceDoesNotAccept(t *testing.T) {
	t.Parallel()
	var closed atomic.Bool
	b := newBench(t, func(d *web.Deps) {
		d.Accepting = func() error {
			if closed.Load() {
				return errors.New("quarantine: " + inner)
			}
			return nil
		}
	})
	a, _ := fresh()
	d := b.admit(a)
	closed.Store(true)
	other, _ := fresh()
	ans := b.post(other)
	if ans.code != http.StatusServiceUnavailable || ans.header.Get("Retry-After") == "" || ans.problem(t).Type != "/problems/unavailable" {
		t.Errorf("got %d %s", ans.code, ans.body)
	}
	if b.store.Count() != 1 || b.get(d.ID, nil).code != http.StatusOK {
		t.Error("reading must go on, and nothing be stored")
	}
}

func TestWorkThatTakesTooLongIs504(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(d *web.Deps) { d.Store, d.Deadline = slow{d.Store}, 50*time.Millisecond })
	a, _ := fresh()
	ans := b.post(a)
	if ans.code != http.StatusGatewayTimeout || ans.problem(t).Type != "/problems/timeout" {
		t.Errorf("got %d %s", ans.code, ans.body)
	}
}

// slow admits when the request's time is over.
type slow struct{ web.Store }

func (s slow) Admit(ctx context.Context, _ dispatch.Admission) (dispatch.Record, bool, error) {
	<-ctx.Done()
	return dispatch.Record{}, false, ctx.Err()
}

func TestABodyThatDoesNotArriveIs408(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(d *web.Deps) { d.Deadline = 200 * time.Millisecond })
	req, err := http.NewRequestWithContext(context.WithValue(t.Context(), invalidKey{}, true), "POST", b.url+"/v1/notifications", stuck{t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := b.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("got %d", res.StatusCode)
	}
}

// stuck is a body of which nothing comes until the test ends.
type stuck struct{ ctx context.Context }

func (s stuck) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func TestUnknownAddressesAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for _, c := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{"GET", "/", 404, ""},
		{"GET", "/v1/nothing/SECRET", 404, ""},
		{"GET", "/v1/notifications/a/b/c", 404, ""},
		{"POST", "/v2/notifications", 404, ""},
		{"GET", "/problems/nothing", 404, ""},
		{"DELETE", "/v1/notifications", 405, "GET"},
		{"PUT", "/v1/notifications/ntf_x", 405, "GET"},
		{"POST", "/v1/notifications/ntf_x", 405, "GET"},
		{"GET", "/v1/notifications/ntf_x/cancel", 405, "POST"},
		{"GET", "/v1/cancellations", 405, "POST"},
		{"POST", "/livez", 405, "GET"},
		{"SECRET", "/livez", 405, "GET"},
	} {
		ans := b.do(request{method: c.method, path: c.path, invalid: true})
		p := ans.problem(t)
		if ans.code != c.code || p.Status != c.code || !strings.Contains(ans.header.Get("Allow"), c.allow) {
			t.Errorf("%s %s: got %d, Allow %q", c.method, c.path, ans.code, ans.header.Get("Allow"))
		}
	}
	if strings.Contains(b.log.String(), "SECRET") {
		t.Error("the log has a path or a method that the client made up")
	}
}

func TestAServerWithAMissingPartDoesNotStart(t *testing.T) {
	t.Parallel()
	if _, err := web.New(web.Deps{}); err == nil {
		t.Error("a server without a store was made")
	}
}
