package web_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
)

func (b *bench) get(id string, header http.Header) answer {
	b.t.Helper()
	return b.do(request{method: "GET", path: "/v1/notifications/" + id, header: header})
}

func TestStatusHasAStrongTagThatChangesWithTheDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	tags := map[string]bool{}
	look := func(step string) string {
		t.Helper()
		ans := b.get(d.ID, nil)
		tag := ans.header.Get("ETag")
		if tags[tag] || strings.HasPrefix(tag, "W/") {
			t.Errorf("%s: the tag %s is not new", step, tag)
		}
		tags[tag] = true
		if again := b.get(d.ID, nil); again.header.Get("ETag") != tag || !bytes.Equal(again.body, ans.body) {
			t.Errorf("%s: two reads differ", step)
		}
		for _, have := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			same := b.get(d.ID, http.Header{"If-None-Match": {have}})
			if same.code != http.StatusNotModified || len(same.body) != 0 || same.header.Get("ETag") != tag {
				t.Errorf("%s: If-None-Match %s got %d", step, have, same.code)
			}
		}
		if other := b.get(d.ID, http.Header{"If-None-Match": {`"other"`}}); other.code != http.StatusOK {
			t.Errorf("%s: another tag got %d", step, other.code)
		}
		return ans.header.Get("Retry-After")
	}
	if after := look("accepted"); after != "1" {
		t.Errorf("Retry-After %q while accepted", after)
	}
	b.start(d.ID)
	look("dispatching")
	b.finish(d.ID, "")
	if after := look("unknown"); after != "5" {
		t.Errorf("Retry-After %q while unknown", after)
	}
	b.act(d.ID, func(r dispatch.Record, tm dispatch.Terms) (dispatch.Change, error) {
		return r.RecordReceipt(1, dispatch.Receipt{Provider: "main", Report: dispatch.Report{MessageID: "SM1", Status: dispatch.ReceiptDelivered}}, tm)
	})
	if after := look("delivered"); after != "" {
		t.Errorf("Retry-After %q on a final document", after)
	}
}

func TestClosingAnIncidentChangesTheTagThoughNotTheVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	b.start(d.ID)
	b.finish(d.ID, "SM1")
	b.act(d.ID, func(r dispatch.Record, tm dispatch.Terms) (dispatch.Change, error) {
		return r.RecordReceipt(1, dispatch.Receipt{Provider: "main", Report: dispatch.Report{MessageID: "SM2", Status: dispatch.ReceiptDelivered}}, tm)
	})
	before := b.get(d.ID, nil)
	if got := before.document(t); got.Incident == nil || got.Incident.Kind != "two_provider_ids" {
		t.Fatalf("no incident: %s", before.body)
	}
	parsed, err := dispatch.ParseNotificationID(d.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.store.Alter(parsed, func(r *dispatch.Record) { r.Incidents[0].ClosedAt = time.Now() })
	after := b.get(d.ID, http.Header{"If-None-Match": {before.header.Get("ETag")}})
	if after.code != http.StatusOK || after.document(t).Version != before.document(t).Version {
		t.Errorf("got %d %s", after.code, after.body)
	}
}

// waiting starts a read that is to be held, and returns its answer's channel once the server watches.
func (b *bench) waiting(ctx context.Context, id string, header http.Header) <-chan answer {
	b.t.Helper()
	before := b.store.Watching()
	done := make(chan answer, 1)
	go func() {
		ans, err := b.try(request{method: "GET", path: "/v1/notifications/" + id, header: header, ctx: ctx})
		if err != nil && ctx.Err() == nil {
			b.t.Errorf("a held request: %v", err)
		}
		done <- ans
	}()
	eventually(b.t, "the request is held", func() bool { return b.store.Watching() > before })
	return done
}

// soon receives an answer that must come without the wait's end.
func soon(t *testing.T, ch <-chan answer) answer {
	t.Helper()
	select {
	case ans := <-ch:
		return ans
	case <-time.After(20 * time.Second):
		t.Fatal("the request is held for too long")
		return answer{}
	}
}

func TestPreferWaitHoldsUntilTheDocumentChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	tag := b.get(d.ID, nil).header.Get("ETag")
	check := func(name string, held <-chan answer) {
		t.Helper()
		ans := soon(t, held)
		if ans.code != http.StatusOK || ans.header.Get("Preference-Applied") != "wait=30" || ans.header.Get("ETag") == tag {
			t.Errorf("%s: got %d, applied %q, tag %s", name, ans.code, ans.header.Get("Preference-Applied"), ans.header.Get("ETag"))
		}
		tag = ans.header.Get("ETag")
	}
	held := b.waiting(t.Context(), d.ID, http.Header{"Prefer": {"wait=30"}, "If-None-Match": {tag}})
	b.start(d.ID)
	check("with a tag", held)
	held = b.waiting(t.Context(), d.ID, http.Header{"Prefer": {`respond-async, wait="100"; x=1`}})
	b.finish(d.ID, "SM1")
	check("without a tag", held)
	eventually(t, "no watch is left", func() bool { return b.store.Watching() == 0 })
}

func TestPreferWaitAnswersAtOnceWhatTheClientDoesNotHave(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	old := b.get(d.ID, nil).header.Get("ETag")
	b.start(d.ID)
	done := make(chan answer, 1)
	go func() { done <- b.get(d.ID, http.Header{"Prefer": {"wait=30"}, "If-None-Match": {old}}) }()
	if ans := soon(t, done); ans.code != http.StatusOK || ans.document(t).State != "dispatching" {
		t.Errorf("got %d %s", ans.code, ans.body)
	}
}

func TestPreferWaitEndsWithTheTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	tag := b.get(d.ID, nil).header.Get("ETag")
	if ans := b.get(d.ID, http.Header{"Prefer": {"wait=1"}, "If-None-Match": {tag}}); ans.code != http.StatusNotModified {
		t.Errorf("with a tag: got %d", ans.code)
	}
	if ans := b.get(d.ID, http.Header{"Prefer": {"wait=1"}}); ans.code != http.StatusOK || ans.header.Get("ETag") != tag {
		t.Errorf("without a tag: got %d", ans.code)
	}
	for _, ignored := range []string{"wait=x", "wait=-1", "wait", "wait=0", "return=minimal", "wait=99999999999999999999"} {
		if ans := b.get(d.ID, http.Header{"Prefer": {ignored}}); ans.code != http.StatusOK || ans.header.Get("Preference-Applied") != "" {
			t.Errorf("%s: got %d, applied %q", ignored, ans.code, ans.header.Get("Preference-Applied"))
		}
	}
}

func TestPreferWaitIsNotHeldForAFinalDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	b.do(request{method: "POST", path: "/v1/notifications/" + d.ID + "/cancel", body: []byte(`{"reason":"other"}`)})
	done := make(chan answer, 1)
	go func() { done <- b.get(d.ID, http.Header{"Prefer": {"wait=30"}}) }()
	if ans := soon(t, done); !ans.document(t).Final {
		t.Errorf("got %s", ans.body)
	}
}

func TestHeldRequestsEndWhenTheServerStops(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	var held []<-chan answer
	for range 8 {
		held = append(held, b.waiting(t.Context(), d.ID, http.Header{"Prefer": {"wait=30"}}))
	}
	close(b.draining)
	for _, h := range held {
		if ans := soon(t, h); ans.code != http.StatusOK {
			t.Errorf("got %d", ans.code)
		}
	}
	if ans := b.do(request{method: "GET", path: "/readyz", token: "-"}); ans.code != http.StatusServiceUnavailable {
		t.Errorf("/readyz got %d while stopping", ans.code)
	}
	if ans := b.do(request{method: "GET", path: "/livez", token: "-"}); ans.code != http.StatusOK {
		t.Errorf("/livez got %d while stopping", ans.code)
	}
}

func TestAHeldRequestEndsWhenItsClientGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	ctx, cancel := context.WithCancel(t.Context())
	held := b.waiting(ctx, d.ID, http.Header{"Prefer": {"wait=30"}})
	cancel()
	soon(t, held)
	eventually(t, "the watch is gone", func() bool { return b.store.Watching() == 0 })
	eventually(t, "the log has the client's leaving", func() bool { return strings.Contains(b.log.String(), `"status":499`) })
}

// A change between a read and the wait must not be missed: the store changes the record right after the n-th read of it.
func TestNoChangeFallsBetweenAReadAndTheWait(t *testing.T) {
	t.Parallel()
	for n := range int64(2) {
		b := newBench(t, nil)
		a, _ := fresh()
		d := b.admit(a)
		var reads atomic.Int64
		b.store.AfterRead(func() {
			if reads.Add(1) == n+1 {
				b.start(d.ID)
			}
		})
		done := make(chan answer, 1)
		go func() { done <- b.get(d.ID, http.Header{"Prefer": {"wait=30"}}) }()
		if ans := soon(t, done); ans.document(t).State != "dispatching" {
			t.Errorf("after read %d: got %s", n+1, ans.body)
		}
	}
}

func TestFindByTheClientsOwnIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a.with("event_id", "evt/+&="))
	other, _ := fresh()
	twin := b.admit(other.with("event_id", "evt/+&=").with("purpose", "login"))
	byEvent := b.do(request{method: "GET", path: "/v1/notifications?event_id=evt%2F%2B%26%3D"})
	if byEvent.code != http.StatusOK || !bytes.Contains(byEvent.body, []byte(d.ID)) || !bytes.Contains(byEvent.body, []byte(twin.ID)) {
		t.Errorf("by event: %d %s", byEvent.code, byEvent.body)
	}
	byKey := b.do(request{method: "GET", path: fmt.Sprint("/v1/notifications?idempotency_key=", a["idempotency_key"])})
	if byKey.code != http.StatusOK || !bytes.Contains(byKey.body, []byte(d.ID)) || bytes.Contains(byKey.body, []byte(twin.ID)) {
		t.Errorf("by key: %d %s", byKey.code, byKey.body)
	}
	for _, nothing := range []string{"event_id=none", "idempotency_key=none"} {
		if ans := b.do(request{method: "GET", path: "/v1/notifications?" + nothing}); ans.code != http.StatusOK || string(ans.body) != `{"notifications":[]}`+"\n" {
			t.Errorf("%s: %d %s", nothing, ans.code, ans.body)
		}
	}
	for _, bad := range []string{"", "event_id=a&idempotency_key=b", "event_id=a&event_id=b", "event_id=", "event_id=%20", "colour=SECRET", "event_id=a&SECRET=1",
		"event_id=a;b=c", "event_id=%zz"} {
		ans := b.do(request{method: "GET", path: "/v1/notifications?" + bad, invalid: true})
		if ans.code != http.StatusBadRequest || ans.problem(t).Type != "/problems/invalid-request" || bytes.Contains(ans.body, []byte("SECRET")) {
			t.Errorf("?%s: got %d %s", bad, ans.code, ans.body)
		}
	}
}

func TestHEADIsAnsweredWhereGETIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	a, _ := fresh()
	d := b.admit(a)
	for _, path := range []string{"/v1/notifications/" + d.ID, "/v1/notifications?event_id=x", "/livez", "/readyz", "/metrics", "/openapi.yaml", "/problems/refused"} {
		ans := b.do(request{method: "HEAD", path: path})
		if ans.code != http.StatusOK || len(ans.body) != 0 {
			t.Errorf("%s: got %d with %d bytes", path, ans.code, len(ans.body))
		}
	}
	if ans := b.do(request{method: "HEAD", path: "/v1/notifications/ntf_x"}); ans.code != http.StatusNotFound {
		t.Errorf("got %d", ans.code)
	}
}
