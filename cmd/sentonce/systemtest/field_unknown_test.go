package systemtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

func acceptThen(ending sim.Ending) sim.Behaviour { return sim.Behaviour{Accept: true, Ending: ending} }

func says(status int, body string) sim.Behaviour {
	return sim.Behaviour{Accept: true, Status: status, ContentType: "application/json", Body: body}
}

func TestFieldF01_ATimedOutCallIsADoubtUntilTheProviderIsFoundToHaveIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{timeout: "1s"})
	s.sim.Hide(true)
	p := s.start(t)
	a := s.fresh(5 * time.Minute)
	s.script(t, a.Recipient, acceptThen(sim.EndHang))
	id := s.admit(t, a)
	only(t, s.reach(t, id, "dispatch_unknown"), "unknown", "R6")
	s.asked(t, 2)
	p.terminate(t)
	if code := p.ended(t, patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.start(t)
	s.asked(t, 2)
	only(t, s.reach(t, id, "dispatch_unknown"), "unknown", "R6")
	s.wantCalls(t, a.Recipient, 1, 1)
	s.sim.Hide(false)
	d := s.reach(t, id, "sent")
	only(t, d, "accepted", "R6")
	if sid := s.sim.Ledger(a.Recipient)[0].SID; d.Attempts[0].MessageID != sid {
		t.Errorf("the provider's id is %q, found was %q", sid, d.Attempts[0].MessageID)
	}
	s.wantCalls(t, a.Recipient, 1, 1)
	s.audit(t)
}

// front is a proxy before the simulator whose answers to lookups a test chooses; sends pass.
type front struct {
	*httptest.Server
	mu      sync.Mutex
	answers []func(http.ResponseWriter)
}

func newFront(t *testing.T) (*front, *url.URL) {
	f, to := &front{}, &url.URL{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.mu.Lock(); r.Method == http.MethodGet && len(f.answers) > 0 {
			next := f.answers[0]
			if len(f.answers) > 1 {
				f.answers = f.answers[1:]
			}
			f.mu.Unlock()
			next(w)
			return
		}
		f.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f, to
}

// lookups says what the next lookups are answered; the last one stays.
func (f *front) lookups(answers ...func(http.ResponseWriter)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = answers
}

func raw(status int, contentType, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // who has left needs no answer
	}
}

func TestFieldF03_ALookupThatCannotBeAnsweredLeavesTheDoubtAndIsOnRecord(t *testing.T) {
	t.Parallel()
	f, to := newFront(t)
	s := newSite(t, layout{provider: f.URL, timeout: "1s"})
	at, err := url.Parse(s.sim.BaseURL())
	must(t, err)
	*to = *at
	f.lookups(raw(503, "text/html", "<h1>busy</h1>"), raw(429, "application/json", `{"code":20429,"message":"Too Many Requests","status":429}`),
		raw(200, "application/json", `{"messages":[{"sid":`), raw(200, "text/html", "<p>sign in</p>"), raw(500, "application/json", ""))
	s.start(t)
	a := s.fresh(5 * time.Minute)
	s.script(t, a.Recipient, acceptThen(sim.EndHang))
	id := s.admit(t, a)
	s.reach(t, id, "dispatch_unknown")
	eventually(t, "five failed lookups are on record", func() bool {
		return s.ask(t, `SELECT count(*) >= 5 AND count(*) = sum(result = 'failed') FROM lookups`) == "1"
	})
	if got := s.ask(t, `SELECT group_concat(DISTINCT coalesce(http_status, 0)) FROM lookups`); !strings.Contains(got, "503") || !strings.Contains(got, "429") {
		t.Errorf("recorded statuses: %s", got)
	}
	only(t, s.status(t, id), "unknown", "R6")
	s.wantCalls(t, a.Recipient, 1, 1)
	f.lookups()
	s.reach(t, id, "sent")
	s.wantCalls(t, a.Recipient, 1, 1)
	s.audit(t)
}

func TestFieldF04_EveryPlaceWhereACallCanBreakIsReadForWhatItProves(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{timeout: "4s"})
	s.sim.Hide(true)
	s.start(t)
	for name, c := range map[string]struct {
		does          sim.Behaviour
		state, phase  string
		outcome, rule string
	}{
		"c: read, then closed without a byte": {sim.Behaviour{Ending: sim.EndClose}, "dispatch_unknown", "written", "unknown", "R6"},
		"c: taken, then reset":                {acceptThen(sim.EndReset), "dispatch_unknown", "written", "unknown", "R6"},
		"d: the header, then nothing":         {acceptThen(sim.EndStall), "dispatch_unknown", "responding", "unknown", "R6"},
		"d: half of the answer":               {acceptThen(sim.EndCut), "dispatch_unknown", "responding", "unknown", "R6"},
		"e: an empty answer":                  {says(200, ""), "dispatch_unknown", "answered", "unknown", "R7"},
		"e: JSON without an id":               {says(201, `{"status":"queued"}`), "dispatch_unknown", "answered", "unknown", "R7"},
		"e: HTML":                             {sim.Behaviour{Accept: true, Status: 200, ContentType: "text/html", Body: "<p>hello</p>"}, "dispatch_unknown", "answered", "unknown", "R7"},
		"f: a documented refusal":             {sim.Behaviour{Status: 400, Code: 21211}, "failed", "answered", "refused", "R4"},
		"a redirect":                          {sim.Behaviour{Status: 307, Header: http.Header{"Location": {"/elsewhere"}}}, "dispatch_unknown", "answered", "unknown", "R7"},
	} {
		a := s.fresh(5 * time.Minute)
		s.script(t, a.Recipient, c.does)
		d := s.reach(t, s.admit(t, a), "dispatch_unknown", "failed", "sent")
		if only(t, d, c.outcome, c.rule); d.State != c.state || d.Attempts[0].Phase != c.phase {
			t.Errorf("%s: %s, broken off at %s; want %s at %s", name, d.State, d.Attempts[0].Phase, c.state, c.phase)
		}
		if c.outcome == "refused" && d.Attempts[0].Code != "21211" {
			t.Errorf("%s: the code is %q", name, d.Attempts[0].Code)
		}
		defer func() {
			if s.calls(a.Recipient) != 1 || s.taken(a.Recipient) > 1 {
				t.Errorf("%s: %d calls, %d messages", name, s.calls(a.Recipient), s.taken(a.Recipient))
			}
		}()
	}
	s.asked(t, 3)
	if n := s.sim.Foreign(); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
	s.audit(t)
}

func TestFieldF04_WhatNeverConnectsIsProvenUnsentAndTriedAgain(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]string{
		"a: the port is closed":         "http://127.0.0.1:1",
		"b: the name cannot be found":   "https://" + strings.Repeat("x", 70) + ".invalid", // no such label can be asked for
		"a server that is none of ours": "https://" + strings.TrimPrefix(plainServer(t), "http://"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, layout{provider: provider})
			s.start(t)
			d := s.await(t, s.admit(t, s.fresh(7*time.Second)), "stopped", func(d document) bool { return d.Final })
			if d.State != "expired" || d.Reason != "provider_unavailable" && d.Reason != "expired_before_send" || len(d.Attempts) < 2 {
				t.Errorf("%s, %s, %d attempts", d.State, d.Reason, len(d.Attempts))
			}
			for _, at := range d.Attempts {
				if at.Outcome != "not_sent" || at.Rule != "R2" {
					t.Errorf("attempt %+v", at)
				}
			}
			s.audit(t)
		})
	}
}

// plainServer is a server without TLS.
func plainServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

func TestFieldF04_AClosedPortThatOpensGetsTheMessageOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	must(t, s.sim.Down())
	s.start(t)
	a := s.fresh(5 * time.Minute)
	id := s.admit(t, a)
	s.await(t, id, "tried", func(d document) bool { return len(d.Attempts) > 0 && d.Attempts[0].Outcome == "not_sent" })
	must(t, s.sim.Up())
	s.reach(t, id, "sent")
	s.wantCalls(t, a.Recipient, 1, 1)
	s.audit(t)
}

func TestFieldF27_AnAnswerOf200IsNotATakenMessage(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.sim.Hide(true)
	s.start(t)
	id := strings.Repeat("0", 32)
	for _, c := range []struct {
		does  sim.Behaviour
		state string
	}{
		{says(200, `{"error":14}`), "dispatch_unknown"},
		{sim.Behaviour{Status: 200, ContentType: "text/plain", Body: "ERROR:14"}, "dispatch_unknown"},
		{says(200, `{"recipients":[{"status":"could not send","id":"None"}]}`), "dispatch_unknown"},
		{says(200, `{"sid":"SM`+id+`"}`), "dispatch_unknown"},
		{says(201, `{"sid":"SM`+id+`","status":"queued"}`), "sent"},
		{says(201, `{"sid":"None","status":"failed"}`), "dispatch_unknown"},
	} {
		a := s.fresh(5 * time.Minute)
		s.script(t, a.Recipient, c.does)
		if d := s.reach(t, s.admit(t, a), "dispatch_unknown", "sent", "failed"); d.State != c.state {
			t.Errorf("%s makes it %s", c.does.Body, d.State)
		}
		if s.calls(a.Recipient) != 1 {
			t.Errorf("%s: %d calls", c.does.Body, s.calls(a.Recipient))
		}
	}
	s.audit(t)
}

func TestFieldF61_OddAnswersEndNeitherTheProcessNorAWorker(t *testing.T) {
	t.Parallel()
	const workers = 6
	s := newSite(t, layout{workers: workers, timeout: "5s"})
	s.sim.Hide(true)
	p := s.start(t)
	var odd, ids []string
	for _, b := range []sim.Behaviour{says(201, `null`), says(201, `[]`), says(201, `{"sid":7}`), says(201, `{"sid":{"a":[]}}`),
		says(201, `{"a":"`+strings.Repeat("x", 5<<20)+`"}`), says(201, "{\"sid\":\"\xff\xfe\"}"), says(201, strings.Repeat("[", 100_000)),
		{Accept: true, Header: http.Header{"X-Odd": {""}, "Content-Encoding": {"gzip"}}, ContentType: "application/json", Body: "no gzip"},
		says(400, `{"code":"21211","message":7,"status":null}`), says(429, `"later"`)} {
		a := s.fresh(10 * time.Minute)
		s.script(t, a.Recipient, b)
		odd = append(odd, s.admit(t, a))
		for range 3 {
			ids = append(ids, s.admit(t, s.fresh(10*time.Minute)))
		}
	}
	for i, id := range odd {
		if d := s.reach(t, id, "dispatch_unknown", "failed", "sent"); d.State != "dispatch_unknown" || d.Attempts[0].Rule != "R7" && d.Attempts[0].Rule != "R6" {
			t.Errorf("odd answer %d: %s by %+v", i, d.State, d.Attempts)
		}
	}
	for _, id := range ids {
		s.reach(t, id, "sent")
	}
	p.alive(t)
	// As many calls at once as ever.
	for range workers {
		a := s.fresh(10 * time.Minute)
		s.script(t, a.Recipient, acceptThen(sim.EndHang))
		s.admit(t, a)
	}
	eventually(t, "every worker is in a call", func() bool { return s.sim.Counters().Held == workers })
	s.sim.Release("")
	s.audit(t)
}

func TestFieldF29_RetryAfterHoldsBackEveryWorkerAndIsNoDoubt(t *testing.T) {
	t.Parallel()
	later := func(value string) sim.Behaviour {
		return sim.Behaviour{Status: 429, Code: 20429, Header: http.Header{"Retry-After": {value}}, Times: 1}
	}
	for name, c := range map[string]struct {
		value string
		wait  time.Duration
	}{
		"seconds":     {"4", 4 * time.Second},
		"a date":      {"DATE", 3 * time.Second}, // four seconds ahead, of which the format may hide one
		"below zero":  {"-1", 0},
		"no time":     {"soon", 0},
		"none at all": {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, layout{})
			s.start(t)
			a, b := s.fresh(5*time.Minute), s.fresh(5*time.Minute)
			value := c.value
			if value == "DATE" {
				value = time.Now().Add(4 * time.Second).UTC().Format(http.TimeFormat)
			}
			s.script(t, a.Recipient, later(value))
			first := s.admit(t, a)
			must(t, s.sim.WaitRequests(t.Context(), a.Recipient, 1))
			second := s.admit(t, b)
			d := s.reach(t, first, "sent", "dispatch_unknown", "failed")
			s.reach(t, second, "sent")
			if len(d.Attempts) != 2 || d.Attempts[0].Outcome != "not_sent" || d.Attempts[0].Rule != "R5" {
				t.Errorf("attempts %+v", d.Attempts)
			}
			refused := s.sim.Requests(a.Recipient)[0]
			for _, next := range []time.Time{s.sim.Requests(a.Recipient)[1], s.sim.Requests(b.Recipient)[0]} {
				// the other worker may have been in its call already when the answer came
				if gap := next.Sub(refused); gap < c.wait && !(next.Equal(s.sim.Requests(b.Recipient)[0]) && gap < 200*time.Millisecond) {
					t.Errorf("the next call came after %v", gap)
				}
			}
			s.wantCalls(t, a.Recipient, 2, 1)
			s.wantCalls(t, b.Recipient, 1, 1)
			s.audit(t)
		})
	}
}

func TestFieldF29_AWaitLongerThanTheLifeEndsWithoutASend(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.start(t)
	a := s.fresh(5 * time.Second)
	s.script(t, a.Recipient, sim.Behaviour{Status: 429, Code: 20429, Header: http.Header{"Retry-After": {fmt.Sprint(86400)}}})
	d := s.await(t, s.admit(t, a), "stopped", func(d document) bool { return d.Final })
	if d.State != "expired" || d.Reason != "provider_unavailable" {
		t.Errorf("%s, %s", d.State, d.Reason)
	}
	s.wantCalls(t, a.Recipient, 1, 0)
	s.audit(t)
}
