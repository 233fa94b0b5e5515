package web_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
)

func TestWorklistShowsDoubtsAndTheirBurst(t *testing.T) {
	t.Parallel()
	b, f := newDecidingBench(t)
	support := b.as(store.RoleSupport)
	if page := support.get("/unknown").wantCode(t, "an empty list", http.StatusOK).body; !strings.Contains(page, "Nothing is unknown") {
		t.Error("the empty list does not say what it would hold")
	}
	b.Clock.Add(store.BurstWindow - time.Duration(b.Clock.Now().UnixMilli()%store.BurstWindow.Milliseconds())*time.Millisecond)
	var all []dispatch.Record
	for range 3 {
		r, _ := b.doubt()
		all = append(all, r)
	}
	page := support.get("/unknown").wantCode(t, "the list", http.StatusOK).body
	for _, r := range all {
		if !strings.Contains(page, r.ID.String()) {
			t.Errorf("%s is missing", r.ID)
		}
	}
	if !strings.Contains(page, "3 items through main") {
		t.Error("the burst is not shown")
	}
	live := html.UnescapeString(regexp.MustCompile(`hx-get="([^"]*rev=[^"]*)"`).FindStringSubmatch(page)[1])
	support.get(live).wantCode(t, "nothing new", http.StatusNoContent)
	support.post(itemPath(all[0])+"/claim", url.Values{"action": {"claim"}}).wantCode(t, "a claim", http.StatusSeeOther)
	support.get(live).wantCode(t, "something new", http.StatusOK)
	if mine := support.get("/unknown?tab=mine").body; !strings.Contains(mine, all[0].ID.String()) || strings.Contains(mine, all[1].ID.String()) {
		t.Error("the list of one's own does not hold what one has claimed alone")
	}
	compliance := b.as(store.RoleCompliance)
	compliance.post(itemPath(all[0])+"/claim", url.Values{"action": {"claim"}}).wantCode(t, "another's claim", http.StatusConflict)
	compliance.post(itemPath(all[0])+"/claim", url.Values{"action": {"take_over"}}).wantCode(t, "without a reason", http.StatusUnprocessableEntity)
	compliance.post(itemPath(all[0])+"/claim", url.Values{"action": {"take_over"}, "note": {"at lunch"}}).wantCode(t, "taken over", http.StatusSeeOther)
	next := support.post("/unknown/claim-next", nil).wantCode(t, "the next one", http.StatusSeeOther).location()
	if next != itemPath(all[1]) && next != itemPath(all[2]) {
		t.Errorf("the next one is %s", next)
	}
	if page := support.get("/unknown?colour=red&tab=none").wantCode(t, "a strange address", http.StatusOK).body; !strings.Contains(page, "colour, tab") {
		t.Error("the page does not say what it did not understand")
	}
	f.set(dispatch.Finding{Complete: true, Pages: 1}, nil)
	support.post("/unknown/reconcile", url.Values{"query": {"tab=all"}}).wantCode(t, "asked about all", http.StatusSeeOther)
	if f.asked.Load() != 3 {
		t.Errorf("asked about %d", f.asked.Load())
	}
	if page := support.get("/unknown").body; !strings.Contains(page, "Asked about 3 items") {
		t.Error("the page does not say how many were asked about")
	}
}

func TestDecisionForManyFromThePreviewToTheResult(t *testing.T) {
	t.Parallel()
	b, _ := newDecidingBench(t)
	support := b.as(store.RoleSupport)
	support.post("/unknown/preview", url.Values{"scope": {"rows"}}).wantCode(t, "nothing chosen", http.StatusUnprocessableEntity)
	one, _ := b.doubt()
	two, _ := b.doubt()
	left, _ := b.doubt()
	b.as(store.RoleCompliance).post(itemPath(left)+"/claim", url.Values{"action": {"claim"}}).wantCode(t, "a claim", http.StatusSeeOther)
	before := b.MustGet(t, one.ID).Version
	preview := support.post("/unknown/preview", url.Values{"scope": {"filter"}, "query": {"tab=all"}}).wantCode(t, "the preview", http.StatusSeeOther).location()
	page := support.get(preview).wantCode(t, "the preview", http.StatusOK).body
	if !strings.Contains(page, "A. compliance has claimed it") || b.MustGet(t, one.ID).Version != before {
		t.Error("the preview does not say what is left out, or has changed something")
	}
	b.as(store.RoleCompliance).get(preview).wantCode(t, "another's preview", http.StatusForbidden)
	set := regexp.MustCompile(`name="set" value="(blk_\w+)"`).FindStringSubmatch(page)[1]
	late, _ := b.doubt()
	v := url.Values{"set": {set}, "verdict": {"undetermined"}, "next": {"close"}, "reason": {"incident"}, "evidence_kind": {"ticket"},
		"evidence_ref": {"INC-204"}, "note": {"outage of the provider"}, "count": {"3"}}
	support.post("/unknown/bulk", v).wantCode(t, "a wrong count", http.StatusUnprocessableEntity)
	v.Set("count", "2")
	b.as(store.RoleCompliance).post("/unknown/bulk", v).wantCode(t, "another's set", http.StatusForbidden)
	run := support.post("/unknown/bulk", v).wantCode(t, "the decision", http.StatusSeeOther).location()
	support.post("/unknown/bulk", v).wantCode(t, "the decision again", http.StatusConflict)
	if got := b.MustGet(t, two.ID); got.State != dispatch.StateUnknown {
		t.Errorf("it was decided in the request: %s", got.State)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.server.RunBulks(ctx) }()
	eventually(t, "finished", func() bool { return strings.Contains(support.get(run).body, "Finished: 2 of 2") })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, r := range []dispatch.Record{one, two} {
		if got := b.MustGet(t, r.ID); got.State != dispatch.StateCancelled {
			t.Errorf("%s is %s", r.ID, got.State)
		}
	}
	for _, r := range []dispatch.Record{left, late} {
		if got := b.MustGet(t, r.ID); got.State != dispatch.StateUnknown {
			t.Errorf("%s is %s", r.ID, got.State)
		}
	}
	csv := support.get(run+"?format=csv").wantCode(t, "the result", http.StatusOK).body
	if strings.Count(csv, "settled") != 2 || !strings.Contains(csv, fmt.Sprintf("%s,left_out,A. compliance has claimed it", left.ID)) {
		t.Errorf("the result is\n%s", csv)
	}
	b.as(store.RoleAuditor).get(run).wantCode(t, "the auditor's look at the result", http.StatusOK)
}
