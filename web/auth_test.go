package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/web"
)

func TestWithoutAValidKeyEveryOperationAnswersTheSame401(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	expired := b.store.AddKey(b.clientID, func(k *dispatch.APIKey) { k.ExpiresAt = time.Now().Add(-time.Second) }, dispatch.Scopes()...)
	revoked := b.store.AddKey(b.clientID, func(k *dispatch.APIKey) { k.RevokedAt = time.Now().Add(-time.Second) }, dispatch.Scopes()...)
	a, _ := fresh()
	headers := map[string][]string{"none": nil, "empty": {""}, "basic": {"Basic " + b.token}, "no scheme": {b.token}, "unknown": {"Bearer nonsense"},
		"cut": {"Bearer " + b.token[:len(b.token)-2]}, "twice": {"Bearer " + b.token, "Bearer " + b.token}, "expired": {"Bearer " + expired}, "revoked": {"Bearer " + revoked},
		"no token": {"Bearer "}, "long": {"Bearer " + strings.Repeat("x", 100_000)}}
	var first string
	for name, values := range headers {
		for _, r := range []request{
			{method: "POST", path: "/v1/notifications", body: a.json(t)},
			{method: "POST", path: "/v1/notifications", body: []byte("not JSON")},
			{method: "GET", path: "/v1/notifications?event_id=x"},
			{method: "GET", path: "/v1/notifications/ntf_x"},
			{method: "POST", path: "/v1/notifications/ntf_x/cancel", body: []byte("{}")},
			{method: "POST", path: "/v1/cancellations", body: []byte("{}")},
		} {
			r.token, r.invalid, r.header = "-", true, http.Header{"Authorization": values}
			ans := b.do(r)
			p := ans.problem(t)
			shape := fmt.Sprint(ans.code, ans.header.Get("Www-Authenticate"), strings.Replace(string(ans.body), p.Instance, "", 1))
			if first == "" {
				first = shape
			}
			if shape != first || ans.code != http.StatusUnauthorized || !strings.HasPrefix(ans.header.Get("Www-Authenticate"), "Bearer") {
				t.Errorf("%s, %s %s: got %s, want %s", name, r.method, r.path, shape, first)
			}
		}
	}
	if b.store.Count() != 0 {
		t.Error("something was stored")
	}
	if ans := b.do(request{method: "GET", path: "/v1/notifications?event_id=x", token: "-", header: http.Header{"Authorization": {"bearer " + b.token}}}); ans.code != 200 {
		t.Errorf("the scheme's name has no case: got %d", ans.code)
	}
}

func TestEachScopeOpensItsOwnOperations(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	fresh, _ := fresh()
	calls := map[dispatch.Scope][]request{
		dispatch.ScopeAdmit:    {{method: "POST", path: "/v1/notifications", body: fresh.json(t)}},
		dispatch.ScopeRead:     {{method: "GET", path: "/v1/notifications/" + d.ID}, {method: "GET", path: "/v1/notifications?event_id=x"}},
		dispatch.ScopeWithdraw: {{method: "POST", path: "/v1/notifications/" + d.ID + "/cancel", body: []byte(`{"reason":"other"}`)}, {method: "POST", path: "/v1/cancellations", body: []byte(`{"subject":"u","reason":"other"}`)}},
	}
	for _, has := range dispatch.Scopes() {
		token := b.store.AddKey(b.clientID, nil, has)
		for needs, all := range calls {
			for _, r := range all {
				r.token = token
				ans := b.do(r)
				if has == needs && ans.code/100 != 2 {
					t.Errorf("scope %s, %s %s: got %d", has, r.method, r.path, ans.code)
				}
				if has != needs && (ans.code != http.StatusForbidden || !strings.Contains(ans.header.Get("Www-Authenticate"), "insufficient_scope")) {
					t.Errorf("scope %s, %s %s: got %d", has, r.method, r.path, ans.code)
				}
			}
		}
	}
}

// tight is a limit of two requests and then one in twenty minutes.
func tight(d *web.Deps) {
	d.Limits = web.Limits{PerKey: web.Limit{PerSecond: 1.0 / 1200, Burst: 2}, PerClient: web.Limit{PerSecond: 1.0 / 1200, Burst: 3}}
}

func TestTheLimitOfAKeyNeverStopsAReplay(t *testing.T) {
	t.Parallel()
	b := newBench(t, tight)
	var last admission
	for range 2 {
		last, _ = fresh()
		b.admit(last)
	}
	next, _ := fresh()
	ans := b.post(next)
	if ans.code != http.StatusTooManyRequests || ans.header.Get("Retry-After") != "1200" || ans.problem(t).Type != "/problems/rate-limited" {
		t.Errorf("got %d, Retry-After %q: %s", ans.code, ans.header.Get("Retry-After"), ans.body)
	}
	for range 5 {
		if ans := b.post(last); ans.code != http.StatusAccepted {
			t.Errorf("a replay got %d", ans.code)
		}
	}
	if ans := b.post(last.with("message", "other")); ans.code != http.StatusUnprocessableEntity {
		t.Errorf("a reused key got %d", ans.code)
	}
	if ans := b.do(request{method: "GET", path: "/v1/notifications?event_id=x"}); ans.code != http.StatusOK {
		t.Errorf("admissions use up the limit of reads: got %d", ans.code)
	}
	if b.store.Count() != 2 {
		t.Errorf("%d records", b.store.Count())
	}
}

func TestTheLimitOfAClientHoldsForAllItsKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t, tight)
	second := b.store.AddKey(b.clientID, nil, dispatch.Scopes()...)
	stranger := b.store.AddKey(webtestClient(), nil, dispatch.Scopes()...)
	codes := func(token string, n int) (all []int) {
		for range n {
			all = append(all, b.do(request{method: "GET", path: "/v1/notifications?event_id=x", token: token}).code)
		}
		return all
	}
	if got := fmt.Sprint(codes(b.token, 3), codes(second, 2), codes(stranger, 2)); got != "[200 200 429] [200 429] [200 200]" {
		t.Errorf("got %s", got)
	}
}
