package web_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/web"
	"sentonce/web/webtest"
)

// bench is one server on loopback with a store in memory and a client that holds every request and answer against openapi.yaml.
type bench struct {
	t        *testing.T
	store    *webtest.Store
	server   *web.Server
	url      string
	log      *webtest.LogBuffer
	http     *http.Client
	clientID dispatch.ClientID
	token    string // with every scope
	signer   dispatch.ReferenceSigner
	draining chan struct{}
}

// newBench starts a server; change may alter its parts before that.
func newBench(t *testing.T, change func(*web.Deps)) *bench {
	t.Helper()
	b := &bench{t: t, store: webtest.NewStore(dispatch.SystemClock{}), log: &webtest.LogBuffer{}, draining: make(chan struct{}),
		clientID: webtest.NewClient(time.Now()), signer: dispatch.NewReferenceSigner(bytes.Repeat([]byte("k"), 32))}
	b.token = b.store.AddKey(b.clientID, nil, dispatch.Scopes()...)
	public, err := url.Parse("https://sms.example.org")
	if err != nil {
		t.Fatal(err)
	}
	deps := web.Deps{Store: b.store, Clock: dispatch.SystemClock{}, Random: rand.Reader, Log: slog.New(slog.NewJSONHandler(b.log, nil)),
		Policy:  func() dispatch.Policy { return dispatch.Policy{MinRemaining: time.Second, MaxTTL: 24 * time.Hour} },
		Metrics: web.NewMetrics("test", nil), PublicURL: public, References: b.signer, Draining: b.draining}
	if change != nil {
		change(&deps)
	}
	if b.server, err = web.New(deps); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(b.server)
	t.Cleanup(srv.Close)
	b.url = srv.URL
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	b.http = &http.Client{Transport: &validator{t: t, next: transport}, Timeout: 40 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return b
}

// answer is an HTTP answer, read whole.
type answer struct {
	code   int
	header http.Header
	body   []byte
	closed bool // the server ends the connection with it
}

// document reads the answer as a status document.
func (a answer) document(t *testing.T) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(a.body, &d); err != nil {
		t.Fatalf("not a status document: %v: %s", err, a.body)
	}
	return d
}

type document struct {
	ID       string
	EventID  string `json:"event_id"`
	State    string
	Reason   *string
	Final    bool
	Version  int
	Advice   string
	Incident *struct{ Kind string }
	Expires  string  `json:"expires_at"`
	Withdraw *string `json:"withdrawn_at"`
	Attempts []struct {
		MessageID *string `json:"provider_message_id"`
		Outcome   string
	}
}

// problem reads the answer as a problem.
func (a answer) problem(t *testing.T) problemDoc {
	t.Helper()
	var p problemDoc
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Fatalf("content type %q of %d: %s", ct, a.code, a.body)
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatalf("not a problem: %v: %s", err, a.body)
	}
	return p
}

type problemDoc struct {
	Type, Title, Detail, Instance, Existing string
	Status                                  int
	Differs                                 []string
	Errors                                  []struct{ Pointer, Rule, Detail string }
}

// rules lists the faults as "pointer rule".
func (p problemDoc) rules() string {
	var all []string
	for _, e := range p.Errors {
		all = append(all, e.Pointer+" "+e.Rule)
	}
	return strings.Join(all, ", ")
}

// request is one call.
type request struct {
	method, path string
	token        string // "": the bench's; "-": none
	body         []byte
	header       http.Header
	chunked      bool
	invalid      bool // on purpose: not held against openapi.yaml
	ctx          context.Context
}

type invalidKey struct{}

// do sends a request and reads the answer; a network error fails the test.
func (b *bench) do(r request) answer {
	b.t.Helper()
	a, err := b.try(r)
	if err != nil {
		b.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	if isJSON := strings.HasSuffix(a.header.Get("Content-Type"), "json"); isJSON && r.method != "HEAD" && !bytes.HasSuffix(a.body, []byte("}\n")) {
		b.t.Errorf("%s %s: a JSON body must end with one newline: %q", r.method, r.path, a.body)
	}
	return a
}

func (b *bench) try(r request) (answer, error) {
	ctx := r.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	if r.chunked {
		body = io.MultiReader(body)
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, invalidKey{}, r.invalid), r.method, b.url+r.path, body)
	if err != nil {
		return answer{}, err
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch r.token {
	case "":
		req.Header.Set("Authorization", "Bearer "+b.token)
	case "-":
	default:
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	res, err := b.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, raw, res.Close}, err
}

// admission is a body of POST /v1/notifications as a map, so that tests can bend it.
type admission map[string]any

func (a admission) with(name string, v any) admission {
	out := admission{}
	for k, old := range a {
		out[k] = old
	}
	if out[name] = v; v == remove {
		delete(out, name)
	}
	return out
}

const remove = "\x00remove"

func (a admission) json(t *testing.T) []byte {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

var serial atomic.Int64

// fresh is an admission with new ids, a number and a token that occur nowhere else.
func fresh() (a admission, token string) {
	n := serial.Add(1)
	token = "TOK" + rand.Text()
	return admission{"event_id": fmt.Sprintf("evt-%d", n), "idempotency_key": fmt.Sprintf("key-%d", n),
		"recipient": fmt.Sprintf("+49151%08d", 20000000+n*7919%70000000), "message": "Your code is " + token,
		"expires_at": time.Now().Add(5 * time.Minute).UTC().Format(time.RFC3339Nano)}, token
}

func (b *bench) post(a admission) answer {
	b.t.Helper()
	return b.do(request{method: "POST", path: "/v1/notifications", body: a.json(b.t)})
}

// admit posts and requires 202.
func (b *bench) admit(a admission) document {
	b.t.Helper()
	ans := b.post(a)
	if ans.code != http.StatusAccepted {
		b.t.Fatalf("admission answered %d: %s", ans.code, ans.body)
	}
	return ans.document(b.t)
}

// act applies a rule of the domain to a notification.
func (b *bench) act(id string, rule func(dispatch.Record, dispatch.Terms) (dispatch.Change, error)) {
	b.t.Helper()
	parsed, err := dispatch.ParseNotificationID(id)
	if err != nil {
		b.t.Fatal(err)
	}
	err = b.store.Act(parsed, func(r dispatch.Record, now time.Time) (dispatch.Change, error) {
		return rule(r, dispatch.Terms{Now: now, MaxAttempts: 3})
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// start spends the permit, as a worker does.
func (b *bench) start(id string) {
	b.t.Helper()
	attempt, err := dispatch.NewID[dispatch.AttemptID](time.Now(), rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	b.act(id, func(r dispatch.Record, t dispatch.Terms) (dispatch.Change, error) {
		return r.Start(dispatch.Attempt{ID: attempt, Provider: "main"}, t)
	})
}

// finish ends the first attempt; an empty message id is a time-out.
func (b *bench) finish(id, messageID string) {
	b.t.Helper()
	x := dispatch.Exchange{Phase: dispatch.PhaseAnswered, Answer: dispatch.Answer{Meaning: dispatch.MeaningTaken, MessageID: messageID, HTTPStatus: 201}}
	if messageID == "" {
		x = dispatch.Exchange{Phase: dispatch.PhaseWritten, Err: context.DeadlineExceeded}
	}
	b.act(id, func(r dispatch.Record, t dispatch.Terms) (dispatch.Change, error) { return r.Finish(1, x, t) })
}

// eventually polls until ok, for at most ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("after ten seconds still not: %s", what)
		case <-tick.C:
		}
	}
}

func webtestClient() dispatch.ClientID { return webtest.NewClient(time.Now()) }
