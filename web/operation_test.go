package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/web"
)

func TestRequestIDsAreOursAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	seen := map[string]bool{}
	for range 20 {
		ans := b.do(request{method: "GET", path: "/livez", header: http.Header{"X-Request-Id": {"00000000-0000-7000-8000-000000000000"}}})
		id := ans.header.Get("X-Request-Id")
		if seen[id] || strings.HasPrefix(id, "00000000") || len(ans.header.Values("X-Request-Id")) != 1 {
			t.Errorf("the id %s is not ours and new", id)
		}
		seen[id] = true
	}
}

func TestOnlyATrustedProxyNamesTheClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		want    string
	}{
		"nobody is trusted":    {nil, `"from":"127.0.0.1"`},
		"somebody else is":     {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, `"from":"127.0.0.1"`},
		"the proxy is trusted": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, `"from":"198.51.100.7"`},
	} {
		b := newBench(t, func(d *web.Deps) { d.TrustedProxies = c.trusted })
		b.do(request{method: "GET", path: "/v1/notifications?event_id=x", header: http.Header{"X-Forwarded-For": {"203.0.113.9, 198.51.100.7"}, "X-Real-Ip": {"203.0.113.9"}, "Forwarded": {"for=203.0.113.9"}}})
		eventually(t, "the request is logged", func() bool { return strings.Contains(b.log.String(), `"msg":"request"`) })
		if log := b.log.String(); !strings.Contains(log, c.want) || strings.Contains(log, "203.0.113.9") {
			t.Errorf("%s: %s", name, log)
		}
	}
}

func TestMetricsCountWhatHappensWithFewLabels(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	m := web.NewMetrics("1.2.3", func(context.Context) (web.Figures, error) {
		if down.Load() {
			return web.Figures{}, errors.New("the store is away")
		}
		return web.Figures{UnknownOpen: 3, UnknownOldest: 90 * time.Second, AcceptedWaiting: 7, OldestDue: 1500 * time.Millisecond, WALBytes: 4096,
			IncidentsOpen: 1, Expired: map[dispatch.Reason]int64{dispatch.ReasonOutcomeUnknown: 2}, Resolved: map[dispatch.Grade]int64{dispatch.GradeReceipt: 5}}, nil
	})
	b := newBench(t, func(d *web.Deps) { d.Metrics = m })
	m.AttemptFinished("main", dispatch.OutcomeUnknown, dispatch.R6, 10)
	m.LookupAnswered("main", dispatch.LookupMatch)
	m.ProviderIs("main", true)
	m.ProviderIs("spare", true)
	m.ProviderIs("spare", false)
	a, _ := fresh()
	b.admit(a)
	b.post(a)
	b.do(request{method: "CANARY", path: "/canary", invalid: true})
	read := func() string {
		t.Helper()
		ans := b.do(request{method: "GET", path: "/metrics", token: "-"})
		if ans.code != http.StatusOK {
			t.Fatalf("got %d", ans.code)
		}
		return string(ans.body)
	}
	eventually(t, "all requests are counted", func() bool { return strings.Contains(read(), `route="none"`) })
	text := read()
	for _, line := range []string{
		`sentonce_dispatch_attempts_total{outcome="unknown",provider="main",rule="R6"} 1`,
		`sentonce_dispatch_duration_seconds_count{provider="main"} 1`,
		`sentonce_reconcile_queries_total{provider="main",result="match"} 1`,
		`sentonce_notifications_admitted_total{replayed="false"} 1`,
		`sentonce_notifications_admitted_total{replayed="true"} 1`,
		`sentonce_http_requests_total{method="POST",route="/v1/notifications",status="202"} 2`,
		`sentonce_http_requests_total{method="other",route="none",status="404"} 1`,
		`sentonce_unknown_open 3`, `sentonce_unknown_oldest_age_seconds 90`, `sentonce_accepted_waiting 7`, `sentonce_oldest_due_age_seconds 1.5`,
		`sentonce_wal_bytes 4096`, `sentonce_incidents_open 1`, `sentonce_expired_total{reason="outcome_unknown"} 2`,
		`sentonce_unknown_resolved_total{grade="receipt"} 5`, `sentonce_store_up 1`, `version="1.2.3"`,
		`sentonce_provider_unavailable{provider="main"} 1`, `sentonce_provider_unavailable{provider="spare"} 0`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if strings.Contains(strings.ToLower(text), "canary") || strings.Contains(text, "evt-") {
		t.Error("the metrics have what a client wrote")
	}
	down.Store(true)
	if text := read(); !strings.Contains(text, "sentonce_store_up 0") || strings.Contains(text, "sentonce_unknown_open") || !strings.Contains(text, "sentonce_build_info") {
		t.Error("a store that is away must leave the other metrics alone")
	}
}

func TestReadinessFollowsTheStoreAndSaysNothingMore(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	ready := func() answer { return b.do(request{method: "GET", path: "/readyz", token: "-"}) }
	if ans := ready(); ans.code != http.StatusOK {
		t.Errorf("got %d", ans.code)
	}
	b.store.Break(func(string) error { return errors.New("schema of yesterday") })
	if ans := ready(); ans.code != http.StatusServiceUnavailable || strings.Contains(string(ans.body), "schema") {
		t.Errorf("got %d %s", ans.code, ans.body)
	}
	if ans := b.do(request{method: "GET", path: "/livez", token: "-"}); ans.code != http.StatusOK {
		t.Errorf("/livez got %d", ans.code)
	}
}

func TestProblemTypesExplainThemselves(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for name, section := range web.ProblemSections() {
		if ans := b.do(request{method: "GET", path: "/problems/" + name, token: "-"}); ans.code != http.StatusOK || string(ans.body) != section {
			t.Errorf("%s: got %d %s", name, ans.code, ans.body)
		}
	}
	if ans := b.do(request{method: "GET", path: "/openapi.yaml", token: "-"}); ans.code != http.StatusOK || string(ans.body) != string(web.OpenAPIDocument()) {
		t.Errorf("/openapi.yaml got %d", ans.code)
	}
}
