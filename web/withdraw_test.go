package web_test

import (
	"net/http"
	"testing"
)

func TestCancelIsIdempotent(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	var bodies []string
	for range 3 {
		ans := b.do(request{method: "POST", path: "/v1/notifications/" + d.ID + "/cancel", body: []byte(`{"reason":"password_changed"}`)})
		got := ans.document(t)
		if ans.code != http.StatusOK || got.State != "cancelled" || *got.Reason != "withdrawn_by_client" || got.Withdraw == nil || got.Advice != "request_new" {
			t.Fatalf("got %d %s", ans.code, ans.body)
		}
		bodies = append(bodies, string(ans.body))
	}
	if bodies[0] != bodies[1] || bodies[1] != bodies[2] {
		t.Errorf("repeats change the document: %v", bodies)
	}
}

func TestCancelDuringACallIsShownAndLeavesTheStateToItsOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	b.start(d.ID)
	ans := b.do(request{method: "POST", path: "/v1/notifications/" + d.ID + "/cancel", body: []byte(`{"reason":"token_used"}`)})
	if got := ans.document(t); ans.code != http.StatusOK || got.State != "dispatching" || got.Withdraw == nil {
		t.Errorf("got %d %s", ans.code, ans.body)
	}
}

func TestCancellationWithdrawsAllOfASubject(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for _, subject := range []string{"user-7", "user-7", "user-8"} {
		a, _ := fresh()
		b.admit(a.with("subject", subject))
	}
	for _, want := range []string{`{"withdrawn":2}`, `{"withdrawn":0}`} {
		ans := b.do(request{method: "POST", path: "/v1/cancellations", body: []byte(`{"subject":"user-7","reason":"password_changed","occurred_at":"2026-01-02T03:04:05Z"}`)})
		if ans.code != http.StatusOK || string(ans.body) != want+"\n" {
			t.Errorf("got %d %s, want %s", ans.code, ans.body, want)
		}
	}
}

func TestMalformedWithdrawalsAre400(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	cancel := "/v1/notifications/" + b.admit(a).ID + "/cancel"
	for _, c := range []struct{ path, body, rules string }{
		{cancel, `{}`, "/reason required"},
		{cancel, `{"reason":"because SECRET"}`, "/reason word"},
		{cancel, `{"reason":1}`, "/reason type"},
		{cancel, `{"reason":"other","note":"SECRET"}`, " unknown_member"},
		{cancel, ``, " syntax"},
		{"/v1/notifications/ntf_nonsense/cancel", `{}`, "/reason required"},
		{"/v1/cancellations", `{"reason":"other"}`, "/subject required"},
		{"/v1/cancellations", `{"subject":"","reason":"other"}`, "/subject visible"},
		{"/v1/cancellations", `{"subject":"u","reason":"other","occurred_at":1}`, "/occurred_at type"},
		{"/v1/cancellations", `{"subject":"u","reason":"other","occurred_at":"today"}`, "/occurred_at rfc3339"},
	} {
		ans := b.do(request{method: "POST", path: c.path, body: []byte(c.body), invalid: true})
		if ans.code != http.StatusBadRequest || ans.problem(t).rules() != c.rules {
			t.Errorf("%s: got %d %s", c.body, ans.code, ans.body)
		}
	}
}
