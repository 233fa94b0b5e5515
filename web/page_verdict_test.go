package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
	"sentonce/web"
)

// finder answers each question as the test says, and records it as the reconciler does.
type finder struct {
	b       *staffBench
	mu      sync.Mutex
	finding dispatch.Finding
	err     error
	asked   atomic.Int32
}

// Ask implements web.Reconciler.
func (f *finder) Ask(ctx context.Context, job dispatch.LookupJob, by dispatch.Actor) (dispatch.LookupResult, error) {
	f.asked.Add(1)
	f.mu.Lock()
	finding, err := f.finding, f.err
	f.mu.Unlock()
	if err != nil {
		return "", err
	}
	return f.b.RecordLookup(ctx, dispatch.LookupReport{Job: job, AskedAt: f.b.Clock.Now(), By: by, Finding: finding, AutoResolve: true,
		Schedule: storetest.Schedule()})
}

func (f *finder) set(finding dispatch.Finding, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finding, f.err = finding, err
}

// newDecidingBench is a staff bench whose providers answer questions.
func newDecidingBench(t *testing.T) (*staffBench, *finder) {
	t.Helper()
	f := &finder{}
	b := newStaffBench(t, func(d *web.Deps) { d.Reconciler = f })
	f.b = b
	return b, f
}

// doubt brings a new notification into doubt.
func (b *staffBench) doubt() (dispatch.Record, dispatch.Job) {
	b.t.Helper()
	job := b.MustClaim(b.t, b.MustAdmit(b.t, b.Admission()).ID)
	b.MustFinish(b.t, job, storetest.TimedOut())
	return b.MustGet(b.t, job.Reference.Notification), job
}

func itemPath(r dispatch.Record) string { return "/notifications/" + r.ID.String() }

// goodForm is a complete and allowed form.
func goodForm(r dispatch.Record) url.Values {
	return url.Values{"attempt": {r.Attempts[0].ID.String()}, "verdict": {"sent"}, "next": {"close"}, "reason": {"provider_log"},
		"evidence_kind": {"provider_log"}, "evidence_ref": {"console row A-47"}, "note": {"seen in the provider console"},
		"version": {fmt.Sprint(r.Version)}}
}

func againForm(r dispatch.Record) url.Values {
	v := goodForm(r)
	v.Set("verdict", "not_sent")
	v.Set("next", "send_again")
	return v
}

// events counts the events of an action.
func (b *staffBench) events(action dispatch.Action) int { return len(b.causes(action)) }

// proposalIn is the proposal that a page offers to approve, "" when it offers none.
func proposalIn(r dispatch.Record, page string) string {
	m := regexp.MustCompile(regexp.QuoteMeta(itemPath(r)+"/proposals/") + `(prp_\w+)/approve`).FindStringSubmatch(page)
	if m == nil {
		return ""
	}
	return m[1]
}

func TestVerdictIsRecordedOnceAndAStaleFormKeepsItsNote(t *testing.T) {
	t.Parallel()
	b, _ := newDecidingBench(t)
	r, _ := b.doubt()
	support := b.as(store.RoleSupport)
	page := support.get(itemPath(r)).wantCode(t, "the page", http.StatusOK)
	if !strings.Contains(page.body, r.Attempts[0].ID.String()) || !strings.Contains(page.body, `name="evidence_ref"`) {
		t.Error("the page has no form of a verdict")
	}
	for name, change := range map[string]func(url.Values){
		"no verdict":    func(v url.Values) { v.Del("verdict") },
		"a link":        func(v url.Values) { v.Set("note", "see https://shop.example/reset?t=abc") },
		"a number":      func(v url.Values) { v.Set("note", "she is +49 151 200 00 001") },
		"no evidence":   func(v url.Values) { v.Set("evidence_kind", "none") },
		"a long note":   func(v url.Values) { v.Set("note", strings.Repeat("much ", 101)) },
		"a bad version": func(v url.Values) { v.Set("version", "many") },
	} {
		v := goodForm(r)
		change(v)
		again := support.post(itemPath(r)+"/verdict", v).wantCode(t, name, http.StatusUnprocessableEntity)
		if !strings.Contains(again.body, "console row A-47") {
			t.Errorf("%s: what was typed is lost", name)
		}
		if strings.Contains(again.body, "200 00 001") || strings.Contains(again.body, "shop.example") {
			t.Errorf("%s: the page repeats what must not be kept", name)
		}
	}
	stale := goodForm(r)
	stale.Set("version", "1")
	if p := support.post(itemPath(r)+"/verdict", stale).wantCode(t, "a stale form", http.StatusConflict); !strings.Contains(p.body, "seen in the provider console") {
		t.Error("the note of a stale form is lost")
	}
	if b.MustGet(t, r.ID).Version != r.Version {
		t.Error("a refused form moved the record")
	}
	done := support.post(itemPath(r)+"/verdict", goodForm(r)).wantCode(t, "a good form", http.StatusSeeOther)
	if done.location() != itemPath(r) {
		t.Errorf("leads to %q", done.location())
	}
	support.post(itemPath(r)+"/verdict", goodForm(r)).wantCode(t, "the same form again", http.StatusConflict)
	if got := b.MustGet(t, r.ID); got.State != dispatch.StateSent || b.events(dispatch.ActionVerdictRecorded) != 1 {
		t.Errorf("it is %s after %d verdicts", got.State, b.events(dispatch.ActionVerdictRecorded))
	}
}

func TestProposalIsOfferedToASecondPersonAlone(t *testing.T) {
	t.Parallel()
	b, _ := newDecidingBench(t)
	r, _ := b.doubt()
	support, compliance := b.as(store.RoleSupport), b.as(store.RoleCompliance)
	support.post(itemPath(r)+"/verdict", againForm(r)).wantCode(t, "the proposal", http.StatusSeeOther)
	if proposalIn(r, support.get(itemPath(r)).body) != "" {
		t.Error("the proposer is offered to approve")
	}
	p := proposalIn(r, compliance.get(itemPath(r)).body)
	if p == "" {
		t.Fatal("a second person is offered nothing")
	}
	yes := url.Values{"note": {"checked with the provider"}, "version": {fmt.Sprint(r.Version)}}
	answer := itemPath(r) + "/proposals/" + p
	support.post(answer+"/approve", yes).wantCode(t, "one's own approval", http.StatusForbidden)
	compliance.post(answer+"/approve", url.Values{"version": yes["version"]}).wantCode(t, "without a note", http.StatusUnprocessableEntity)
	compliance.post(answer+"/approve", url.Values{"note": yes["note"], "version": {"1"}}).wantCode(t, "an old version", http.StatusConflict)
	compliance.post(itemPath(r)+"/proposals/prp_nonsense/approve", yes).wantCode(t, "an unknown proposal", http.StatusNotFound)
	other, _ := b.doubt()
	compliance.post(itemPath(other)+"/proposals/"+p+"/approve", yes).wantCode(t, "the proposal of another item", http.StatusNotFound)
	if got := b.MustGet(t, r.ID); len(got.Permits) != 1 {
		t.Fatal("a permit was granted before the approval")
	}
	compliance.post(answer+"/approve", yes).wantCode(t, "the approval", http.StatusSeeOther)
	compliance.post(answer+"/approve", yes).wantCode(t, "the approval again", http.StatusConflict)
	compliance.post(answer+"/decline", yes).wantCode(t, "a decline after it", http.StatusConflict)
	if got := b.MustGet(t, r.ID); got.State != dispatch.StateAccepted || len(got.Permits) != 2 {
		t.Errorf("it is %s with %d permits", got.State, len(got.Permits))
	}
}

func TestFieldF01_NobodyIsOfferedToResendADoubtAlone(t *testing.T) {
	t.Parallel()
	b, f := newDecidingBench(t)
	r, _ := b.doubt()
	support := b.as(store.RoleSupport)
	page := support.get(itemPath(r)).body
	for _, want := range []string{"Outcome unknown", "It may or may not have been sent"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, bad := range []string{"Resend", "try again", "failed", "Try again"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page says %q", bad)
		}
	}
	if !strings.Contains(page, "another person has to approve it") {
		t.Error("the page does not say that sending again takes a second person")
	}
	made := "/proposals/" + strings.Replace(r.ID.String(), "ntf_", "prp_", 1) + "/approve"
	yes := url.Values{"note": {"by hand"}, "version": {fmt.Sprint(r.Version)}}
	if p := b.as(store.RoleCompliance).post(itemPath(r)+made, yes); p.code < 400 || p.code >= 500 {
		t.Errorf("an approval without a proposal answered %d", p.code)
	}
	f.set(dispatch.Finding{Complete: true, Pages: 1, Candidates: []dispatch.Candidate{{MessageID: "SM-found"}}}, nil)
	support.post(itemPath(r)+"/reconcile", nil).wantCode(t, "asked by hand", http.StatusSeeOther)
	if got := b.MustGet(t, r.ID); got.State != dispatch.StateSent || len(got.Permits) != 1 {
		t.Errorf("it is %s with %d permits", got.State, len(got.Permits))
	}
}

func TestFieldF03_ARefusedQuestionChangesNothing(t *testing.T) {
	t.Parallel()
	b, f := newDecidingBench(t)
	r, _ := b.doubt()
	support := b.as(store.RoleSupport)
	for _, status := range []int{503, 429, 200} {
		f.set(dispatch.Finding{Err: fmt.Errorf("the provider answered %d", status), HTTPStatus: status}, nil)
		support.post(itemPath(r)+"/reconcile", nil).wantCode(t, "a question", http.StatusSeeOther)
	}
	got := b.MustGet(t, r.ID)
	if got.State != dispatch.StateUnknown || got.Attempts[0].Lookups != 3 || b.events(dispatch.ActionLookupRecorded) != 3 {
		t.Errorf("it is %s after %d questions on record", got.State, got.Attempts[0].Lookups)
	}
	page := support.get(itemPath(r)).body
	if !strings.Contains(page, "could not be answered; that says nothing") || strings.Contains(page, "try again") {
		t.Error("the page does not say that the questions were not answered")
	}
	v := againForm(got)
	v.Set("verdict", "undetermined")
	support.post(itemPath(r)+"/verdict", v).wantCode(t, "to send again what is undetermined", http.StatusUnprocessableEntity)
	f.set(dispatch.Finding{}, dispatch.ErrNoQuestion)
	support.post(itemPath(r)+"/reconcile", nil).wantCode(t, "nobody to ask", http.StatusConflict)
	if b.MustGet(t, r.ID).Version != r.Version {
		t.Error("questions without an answer moved the record")
	}
}

func TestFieldF21_LateReceiptIsShownAsAConflict(t *testing.T) {
	t.Parallel()
	b, _ := newDecidingBench(t)
	r, job := b.doubt()
	compliance := b.as(store.RoleCompliance)
	b.as(store.RoleSupport).post(itemPath(r)+"/verdict", againForm(r)).wantCode(t, "the proposal", http.StatusSeeOther)
	p := proposalIn(r, compliance.get(itemPath(r)).body)
	yes := url.Values{"note": {"checked"}, "version": {fmt.Sprint(r.Version)}}
	compliance.post(itemPath(r)+"/proposals/"+p+"/approve", yes).wantCode(t, "the approval", http.StatusSeeOther)
	b.MustReport(t, job, "SM-late", dispatch.ReceiptDelivered)
	got := b.MustGet(t, r.ID)
	if got.State != dispatch.StateDelivered || got.Permits[1].Open() || len(got.Incidents) != 1 {
		t.Fatalf("it is %s, the permit %+v, %d incidents", got.State, got.Permits[1], len(got.Incidents))
	}
	page := compliance.get(itemPath(r)).body
	end := itemPath(r) + "/incidents/" + got.Incidents[0].ID.String() + "/close"
	if !strings.Contains(page, "Evidence contradicts what was decided") || !strings.Contains(page, end) {
		t.Error("the page does not show the conflict, or how to close it")
	}
	why := url.Values{"note": {"the log row belonged to another message"}, "version": {fmt.Sprint(got.Version)}}
	compliance.post(end, url.Values{"version": why["version"]}).wantCode(t, "closed without a word", http.StatusUnprocessableEntity)
	compliance.post(end, why).wantCode(t, "closed", http.StatusSeeOther)
	compliance.post(end, why).wantCode(t, "closed again", http.StatusConflict)
	if page := compliance.get(itemPath(r)).body; !strings.Contains(page, "A. compliance") || !strings.Contains(page, "the log row belonged to another message") {
		t.Error("the page does not say who closed it and why")
	}
}

func TestFieldF64_TheSameFormManyTimesHasOneEffect(t *testing.T) {
	t.Parallel()
	b, _ := newDecidingBench(t)
	support, compliance := b.as(store.RoleSupport), b.as(store.RoleCompliance)
	many := func(br *staffBrowser, path string, v url.Values) (done int) {
		var ok atomic.Int32
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				switch p := br.post(path, v); p.code {
				case http.StatusSeeOther:
					ok.Add(1)
				case http.StatusConflict:
				default:
					t.Errorf("%s answered %d: %.300s", path, p.code, p.body)
				}
			})
		}
		wg.Wait()
		return int(ok.Load())
	}
	r, _ := b.doubt()
	if n := many(support, itemPath(r)+"/verdict", goodForm(r)); n != 1 || b.events(dispatch.ActionVerdictRecorded) != 1 {
		t.Errorf("%d verdicts took effect", n)
	}
	r, _ = b.doubt()
	if n := many(support, itemPath(r)+"/verdict", againForm(r)); n != 1 || b.events(dispatch.ActionProposalMade) != 1 {
		t.Errorf("%d proposals took effect", n)
	}
	p := proposalIn(r, compliance.get(itemPath(r)).body)
	yes := url.Values{"note": {"checked"}, "version": {fmt.Sprint(r.Version)}}
	if n := many(compliance, itemPath(r)+"/proposals/"+p+"/approve", yes); n != 1 || len(b.MustGet(t, r.ID).Permits) != 2 {
		t.Errorf("%d approvals took effect", n)
	}
	r, _ = b.doubt()
	many(support, itemPath(r)+"/claim", url.Values{"action": {"claim"}})
	if b.events(dispatch.ActionClaimed) != 1 {
		t.Errorf("%d claims on record", b.events(dispatch.ActionClaimed))
	}
	v := url.Values{"version": {fmt.Sprint(r.Version)}}
	if n := many(support, itemPath(r)+"/withdraw", v); n != 1 || b.events(dispatch.ActionWithdrawn) != 1 {
		t.Errorf("%d withdrawals took effect", n)
	}
}

func TestFieldF69_WhoMayNotActChangesNothing(t *testing.T) {
	t.Parallel()
	b, f := newDecidingBench(t)
	r, _ := b.doubt()
	b.as(store.RoleSupport).post(itemPath(r)+"/verdict", againForm(r)).wantCode(t, "the proposal", http.StatusSeeOther)
	p := proposalIn(r, b.as(store.RoleCompliance).get(itemPath(r)).body)
	acts := map[string]url.Values{"/verdict": goodForm(r), "/reconcile": nil, "/claim": {"action": {"claim"}},
		"/proposals/" + p + "/approve": {"note": {"x"}, "version": {fmt.Sprint(r.Version)}},
		"/proposals/" + p + "/decline": {"note": {"x"}, "version": {fmt.Sprint(r.Version)}},
		"/reveal":                      {"reason": {"customer_on_the_line"}}, "/withdraw": {"version": {fmt.Sprint(r.Version)}}}
	for _, role := range []store.Role{store.RoleAuditor, store.RoleAdmin} {
		who := b.as(role)
		for path, form := range acts {
			who.post(itemPath(r)+path, form).wantCode(t, string(role)+" at "+path, http.StatusForbidden)
		}
		for _, path := range []string{"/unknown/preview", "/unknown/bulk", "/unknown/reconcile", "/unknown/claim-next"} {
			who.post(path, url.Values{"scope": {"filter"}}).wantCode(t, string(role)+" at "+path, http.StatusForbidden)
		}
	}
	for path, form := range acts {
		evil := b.as(store.RoleSupport).do("POST", itemPath(r)+path, form, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}})
		evil.wantCode(t, "another origin at "+path, http.StatusForbidden)
		if got := b.as(store.RoleSupport).get(itemPath(r) + path + "?" + form.Encode()); got.code == http.StatusSeeOther {
			t.Errorf("GET %s answered %d", path, got.code)
		}
	}
	page := b.as(store.RoleAuditor).get(itemPath(r)).wantCode(t, "the auditor's page", http.StatusOK).body
	for _, form := range []string{"/verdict\"", "/reconcile\"", "/claim\"", "/approve\"", "/reveal\"", "/withdraw\""} {
		if strings.Contains(page, form) {
			t.Errorf("the auditor's page leads to %s", form)
		}
	}
	if got := b.MustGet(t, r.ID); got.Version != r.Version || f.asked.Load() != 0 || b.events(dispatch.ActionClaimed)+b.events(dispatch.ActionRecipientRevealed) != 0 {
		t.Errorf("something happened: version %d, %d questions", got.Version, f.asked.Load())
	}
}

func TestRevealedNumberIsInOneAnswerAlone(t *testing.T) {
	t.Parallel()
	b, _ := newDecidingBench(t)
	a := b.Admission()
	r := b.MustAdmit(t, a)
	number := a.Recipient.Reveal()
	support := b.as(store.RoleSupport)
	support.get(itemPath(r)+"/reveal").wantCode(t, "the form", http.StatusOK)
	refused := support.post(itemPath(r)+"/reveal", url.Values{"note": {"it is " + number}}).wantCode(t, "no reason", http.StatusUnprocessableEntity)
	shown := support.post(itemPath(r)+"/reveal", url.Values{"reason": {"customer_on_the_line"}}).wantCode(t, "a reason", http.StatusOK)
	if !strings.Contains(shown.body, number) || !strings.Contains(shown.header.Get("Cache-Control"), "no-store") || !strings.HasPrefix(shown.header.Get("Refresh"), "60;") {
		t.Errorf("not shown, or not for a minute: %v", shown.header)
	}
	for name, text := range map[string]string{"the refused form": refused.body, "the page afterwards": support.get(itemPath(r)).body,
		"the log": b.log.String(), "a header": fmt.Sprint(shown.header)} {
		if strings.Contains(text, number) || strings.Contains(text, number[1:]) {
			t.Errorf("%s holds the number", name)
		}
	}
	if got := b.causes(dispatch.ActionRecipientRevealed); len(got) != 1 || got[0] != "customer_on_the_line" {
		t.Errorf("on record: %v", got)
	}
}

func TestLateVerdictRecordsAndSendsNothing(t *testing.T) {
	t.Parallel()
	b, _ := newDecidingBench(t)
	r, _ := b.doubt()
	b.Clock.Add(6 * time.Minute)
	if _, err := b.EndLives(t.Context(), false, 10); err != nil {
		t.Fatal(err)
	}
	r = b.MustGet(t, r.ID)
	support := b.as(store.RoleSupport)
	if list := support.get("/unknown?tab=expired").wantCode(t, "the list", http.StatusOK).body; !strings.Contains(list, r.ID.String()) {
		t.Error("it is not among those not yet known")
	}
	support.post(itemPath(r)+"/verdict", againForm(r)).wantCode(t, "to send again", http.StatusConflict)
	support.post(itemPath(r)+"/verdict", goodForm(r)).wantCode(t, "what became of it", http.StatusSeeOther)
	if got := b.MustGet(t, r.ID); got.State != dispatch.StateExpired || got.Attempts[0].Outcome != dispatch.OutcomeAccepted {
		t.Errorf("it is %s, %s", got.State, got.Attempts[0].Outcome)
	}
}
