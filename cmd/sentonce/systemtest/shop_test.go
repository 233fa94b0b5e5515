package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// canary is in every text, so that a text is found wherever it is.
const canary = "CANARY"

// admission is the body of POST /v1/notifications.
type admission struct {
	EventID   string `json:"event_id"`
	Key       string `json:"idempotency_key"`
	Subject   string `json:"subject,omitempty"`
	Recipient string `json:"recipient"`
	Message   string `json:"message"`
	ExpiresAt string `json:"expires_at"`
}

// document is a status document, or of a problem what a machine reads.
type document struct {
	ID         string     `json:"id"`
	State      string     `json:"state"`
	Reason     string     `json:"reason"`
	Final      bool       `json:"final"`
	AcceptedAt time.Time  `json:"accepted_at"`
	ExpiresAt  time.Time  `json:"expires_at"`
	StoppedAt  *time.Time `json:"stopped_at"`
	Version    int        `json:"version"`
	Advice     string     `json:"advice"`
	Incident   *struct {
		Kind string `json:"kind"`
	} `json:"incident"`
	Attempts []attempt `json:"attempts"`

	Type     string `json:"type"`
	Existing string `json:"existing"`
	Errors   []struct {
		Pointer string `json:"pointer"`
		Rule    string `json:"rule"`
	} `json:"errors"`
}

type attempt struct {
	Number    int    `json:"number"`
	Outcome   string `json:"outcome"`
	Rule      string `json:"rule"`
	Phase     string `json:"phase"`
	Code      string `json:"provider_code"`
	MessageID string `json:"provider_message_id"`
}

// answer is the answer to one request.
type answer struct {
	code   int
	header http.Header
	body   string
	doc    document
}

// fresh is an event with ids and a number of its own.
func (s *site) fresh(life time.Duration) admission {
	n := s.number.Add(1)
	return admission{EventID: fmt.Sprintf("evt-%d", n), Key: fmt.Sprintf("key-%d", n), Recipient: fmt.Sprintf("+49151%08d", 23_000_000+n),
		Message: fmt.Sprintf("Your code is %s%06d", canary, n), ExpiresAt: time.Now().Add(life).UTC().Format(time.RFC3339Nano)}
}

// request is one request as client, in full.
type request struct {
	method, path, client string
	body                 string
	header               map[string]string
}

// try makes one request. The error says that there was no answer.
func (s *site) try(ctx context.Context, r request) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, "http://"+s.listen+r.path, strings.NewReader(r.body))
	if err != nil {
		return a, err
	}
	if key := s.keys[r.client]; key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return a, err
	}
	a = answer{code: res.StatusCode, header: res.Header, body: string(raw)}
	if strings.Contains(res.Header.Get("Content-Type"), "json") {
		err = json.Unmarshal(raw, &a.doc)
	}
	return a, err
}

// call makes one request as the shop, which must be answered.
func (s *site) call(t *testing.T, method, path string, body any) answer {
	t.Helper()
	return s.callAs(t, "shop", method, path, body)
}

func (s *site) callAs(t *testing.T, client, method, path string, body any) answer {
	t.Helper()
	a, err := s.try(t.Context(), request{method: method, path: path, client: client, body: encode(t, body)})
	must(t, err)
	return a
}

// encode is the body as JSON; a string is taken as it is.
func encode(t *testing.T, body any) string {
	t.Helper()
	switch b := body.(type) {
	case nil:
		return ""
	case string:
		return b
	}
	var buffer bytes.Buffer
	e := json.NewEncoder(&buffer)
	e.SetEscapeHTML(false)
	must(t, e.Encode(body))
	return buffer.String()
}

func (s *site) post(t *testing.T, a admission) answer {
	t.Helper()
	return s.call(t, http.MethodPost, "/v1/notifications", a)
}

// admit posts an event, which must be accepted, and returns its id.
func (s *site) admit(t *testing.T, a admission) string {
	t.Helper()
	got := s.post(t, a)
	if got.code != http.StatusAccepted {
		t.Fatalf("admission answered %d: %s", got.code, got.body)
	}
	return got.doc.ID
}

func (s *site) status(t *testing.T, id string) document {
	t.Helper()
	got := s.call(t, http.MethodGet, "/v1/notifications/"+id, nil)
	if got.code != http.StatusOK {
		t.Fatalf("status of %s answered %d: %s", id, got.code, got.body)
	}
	return got.doc
}

// await follows a notification until ok, by requests that are held until something changes. A server that is away for a moment is waited for.
func (s *site) await(t *testing.T, id, what string, ok func(document) bool) (seen document) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	held := map[string]string{} // the first look is not held: nothing may change any more
	for ; ctx.Err() == nil; <-look.C {
		a, err := s.try(ctx, request{method: http.MethodGet, path: "/v1/notifications/" + id, client: "shop", header: held})
		if err != nil || a.code == http.StatusNotModified || a.code == http.StatusServiceUnavailable {
			continue
		}
		if a.code != http.StatusOK {
			t.Fatalf("status of %s answered %d: %s", id, a.code, a.body)
		}
		if seen = a.doc; ok(seen) {
			return seen
		}
		held = map[string]string{"Prefer": "wait=5", "If-None-Match": a.header.Get("ETag")}
	}
	t.Fatalf("%s never was %s; last seen %+v", id, what, seen)
	return seen
}

// reach waits for one of the states.
func (s *site) reach(t *testing.T, id string, states ...string) document {
	t.Helper()
	return s.await(t, id, strings.Join(states, " or "), func(d document) bool { return slices.Contains(states, d.State) })
}

// asked waits until the provider was asked n more times about what it has.
func (s *site) asked(t *testing.T, n int) {
	t.Helper()
	before := s.sim.Counters().Lookups
	eventually(t, "the provider is asked again", func() bool { return s.sim.Counters().Lookups >= before+n })
}

// only checks a document's one attempt.
func only(t *testing.T, d document, outcome, rule string) {
	t.Helper()
	if len(d.Attempts) != 1 || d.Attempts[0].Outcome != outcome || d.Attempts[0].Rule != rule {
		t.Errorf("%s: attempts %+v, want one that is %s by %s", d.State, d.Attempts, outcome, rule)
	}
}
