package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
)

// follow opens an address and goes on where it leads.
func (br *staffBrowser) follow(path string) (int, string) {
	br.b.t.Helper()
	a := br.get(path)
	for n := 0; a.code == http.StatusSeeOther && n < 3; n++ {
		a = br.get(a.header.Get("Location"))
	}
	return a.code, a.body
}

var rowID = regexp.MustCompile(`data-label="Id"[^>]*>.*?/notifications/(ntf_[0-9a-z]{26})`)

// rowsOf lists the ids of a list's rows and where its older rows are.
func rowsOf(page string) (ids []string, older string) {
	for _, m := range rowID.FindAllStringSubmatch(page, -1) {
		ids = append(ids, m[1])
	}
	if m := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(page); m != nil {
		older = strings.ReplaceAll(m[1], "&amp;", "&")
	}
	return ids, older
}

func TestFieldF51_TheListInPagesShowsEachOnceWhileRowsArrive(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	var want []string
	for range 205 {
		want = append(want, b.MustAdmit(t, b.Admission()).ID.String())
	}
	b.Clock.Add(time.Millisecond)
	br := b.as(store.RoleSupport)
	var seen []string
	path := "/notifications"
	for path != "" {
		code, page := br.follow(path)
		if code != http.StatusOK {
			t.Fatalf("%s answered %d", path, code)
		}
		var ids []string
		ids, path = rowsOf(page)
		seen = append(seen, ids...)
		for range 25 {
			b.MustAdmit(t, b.Admission())
		}
	}
	slices.Sort(want)
	slices.Sort(seen)
	if !slices.Equal(seen, want) {
		t.Errorf("%d rows were shown, %d were there", len(seen), len(want))
	}
	for _, bad := range []string{"ntf_x", "42", "cli_00000000000000000000000001", "%00"} {
		if a := br.get("/notifications?before=" + bad); a.code != http.StatusBadRequest {
			t.Errorf("the cursor %q answered %d", bad, a.code)
		}
		if a := b.as(store.RoleAuditor).get("/audit?before=" + bad); bad != "42" && a.code != http.StatusBadRequest {
			t.Errorf("the cursor %q of the log answered %d", bad, a.code)
		}
	}
}

func TestAListSaysHowManyRowsAreNewerAndNothingWhenNoneIs(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	b.MustAdmit(t, b.Admission())
	br := b.as(store.RoleSupport)
	_, page := br.follow("/notifications")
	m := regexp.MustCompile(`hx-get="(/notifications/newer[^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the list does not follow what happens")
	}
	live := strings.ReplaceAll(m[1], "&amp;", "&")
	if a := br.get(live); a.code != http.StatusNoContent {
		t.Errorf("nothing new answered %d", a.code)
	}
	b.Clock.Add(time.Millisecond)
	b.MustAdmit(t, b.Admission())
	b.MustAdmit(t, b.Admission())
	if a := br.get(live); a.code != http.StatusOK || !strings.Contains(a.body, "2 newer notifications") {
		t.Errorf("two new ones answered %d: %s", a.code, a.body)
	}
}

func TestFieldF49_ARangeThatEndsBeforeItBeginsIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br := b.as(store.RoleSupport)
	code, page := br.follow("/notifications?from=2026-07-01&to=2026-06-30")
	if code != http.StatusBadRequest || !strings.Contains(page, "The end must be later than the beginning") {
		t.Errorf("from after to answered %d", code)
	}
	code, page = br.follow("/notifications?colour=red")
	if code != http.StatusOK || !strings.Contains(page, "no filter “colour”") {
		t.Errorf("an unknown filter answered %d and is not named", code)
	}
}

func TestSearchLeadsToWhatWasMeantAndKeepsTheNumberOutOfEverything(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	a := b.Admission()
	r, other := b.MustAdmit(t, a), b.MustAdmit(t, b.Admission())
	number := a.Recipient.Reveal()
	br := b.as(store.RoleSupport)
	for _, q := range []string{number, number[1:], "00" + number[1:], number[:3] + " " + number[3:6] + "-" + number[6:], r.ID.String(), a.EventID,
		a.IdempotencyKey, r.Recipient.String(), r.ID.String()[:29]} {
		answer := br.post("/search", url.Values{"q": {q}})
		to := answer.header.Get("Location")
		if answer.code != http.StatusSeeOther || strings.Contains(to, number[3:]) {
			t.Errorf("a search answered %d and leads to %s", answer.code, to)
			continue
		}
		code, page := br.follow(to)
		if code != http.StatusOK || !strings.Contains(page, r.ID.String()) || strings.Contains(page, other.ID.String()) || strings.Contains(page, number[3:]) {
			t.Errorf("the result at %s (%d) does not show the one, shows another, or the number", to, code)
		}
	}
	if a := br.post("/search", url.Values{"q": {"nothing has this id"}}); a.code != http.StatusNotFound || strings.Contains(a.body, "nothing has this id") {
		t.Errorf("what nobody has answered %d", a.code)
	}
	if strings.Contains(b.log.String(), number[3:]) {
		t.Error("the log holds the number")
	}
	p, err := b.Audit(t.Context(), store.AuditFilter{Action: dispatch.ActionSearched}, store.AuditCut{Limit: 50})
	if err != nil || len(p.Events) != 10 {
		t.Fatalf("%d searches are on record, %v", len(p.Events), err)
	}
	if strings.Contains(fmt.Sprintf("%+v", p.Events), number[3:]) || p.Events[0].Cause != "text" || p.Events[9].Cause == "" {
		t.Errorf("searches on record: %+v", p.Events)
	}
}

func TestTheTimelineTellsTheWholeStory(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	all := b.History(t)
	br := b.as(store.RoleAuditor)
	for name, says := range map[string][]string{
		"doubt":            {"It is not known", "R6", "Written", "Call ended", "never shown", "Attempt 1 through main"},
		"contradicted":     {"Incident opened", "Delivery report", "proven by the call itself", "Attempt 2 through main"},
		"absent":           {"silence is proof", "Verdict", "One more call is allowed"},
		"failed":           {"definitely refused it", "21211", "HTTP 400", "R4"},
		"expired_in_doubt": {"may have one code from it, or none", "ended by the expiry"},
		"delivered":        {"reported that the phone has it", "One code was sent", "SM-delivered"},
		"cancelled":        {"The storefront withdrew it", "shop"},
	} {
		code, page := br.follow("/notifications/" + all[name].String())
		if code != http.StatusOK {
			t.Errorf("%s answered %d", name, code)
			continue
		}
		r := b.MustGet(t, all[name])
		for _, a := range r.Attempts {
			says = append(says, a.ID.String())
		}
		for _, want := range append(says, r.EventID, r.Hint, r.Recipient.String()) {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
	for _, nothing := range []string{"/notifications/ntf_x", "/notifications/ntf_00000000000000000000000004"} {
		if a := br.get(nothing); a.code != http.StatusNotFound {
			t.Errorf("%s answered %d", nothing, a.code)
		}
	}
	id := all["doubt"]
	newest, err := b.NewestEvent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	live := fmt.Sprintf("/notifications/%s?rev=%d", id, newest)
	if a := br.get(live); a.code != http.StatusNoContent {
		t.Errorf("nothing new answered %d", a.code)
	}
	b.MustWithdraw(t, id)
	if a := br.get(live); a.code != http.StatusOK || !strings.Contains(a.body, "withdrawn meanwhile") {
		t.Errorf("news answered %d", a.code)
	}
}

// What a bar of the overview says is what its link shows, and what SQL counts.
func TestABarIsAsLongAsTheListBehindIt(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	b.History(t)
	br := b.as(store.RoleCompliance)
	code, page := br.follow("/")
	if code != http.StatusOK {
		t.Fatalf("the overview answered %d", code)
	}
	n, err := b.CountList(t.Context(), store.Filter{}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d notifications accepted", n); !strings.Contains(page, want) {
		t.Errorf("the overview does not say %q", want)
	}
	listed := 0
	links := map[string]bool{}
	for _, m := range regexp.MustCompile(`href="(/notifications\?from=[^"]+)"`).FindAllStringSubmatch(page, -1) {
		links[strings.ReplaceAll(m[1], "&amp;", "&")] = true
	}
	for link := range links {
		_, list := br.follow(link)
		ids, _ := rowsOf(list)
		listed += len(ids)
	}
	if listed != n || len(links) != 24 {
		t.Errorf("%d bars lead to %d notifications; there are %d", len(links), listed, n)
	}
	for _, role := range store.Roles() {
		if code, page := b.as(role).follow("/"); code != http.StatusOK || (role == store.RoleAdmin) == strings.Contains(page, `href="/notifications`) {
			t.Errorf("%s: the overview answered %d, or links what the role may not see", role, code)
		}
	}
}

func TestViewsAreSavedSharedAndDeletedByTheirOwner(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	compliance, support := b.as(store.RoleCompliance), b.as(store.RoleSupport)
	save := url.Values{"name": {"Refused here"}, "query": {"state=failed"}, "shared": {"yes"}}
	if a := compliance.post("/views", save); a.code != http.StatusSeeOther || a.header.Get("Location") != "/notifications?state=failed" {
		t.Errorf("saving answered %d", a.code)
	}
	_, page := support.follow("/notifications")
	if !strings.Contains(page, "Refused here") || strings.Contains(page, "/delete") {
		t.Error("a shared view is not shown to others, or may be deleted by them")
	}
	if a := support.post("/views", url.Values{"name": {"x"}, "query": {"recipient=%2B4915112345678"}}); a.code != http.StatusUnprocessableEntity {
		t.Errorf("a view with a number answered %d", a.code)
	}
	_, page = compliance.follow("/notifications")
	m := regexp.MustCompile(`action="(/views/view_[0-9a-z]+/delete)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the owner cannot delete the view")
	}
	if a := support.post(m[1], url.Values{}); a.code != http.StatusNotFound {
		t.Errorf("another's view: %d", a.code)
	}
	if a := compliance.post(m[1], url.Values{}); a.code != http.StatusSeeOther {
		t.Errorf("deleting answered %d", a.code)
	}
}

func TestTheAuditLogIsReadByThoseWhoMayAndNamesWho(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	all := b.History(t)
	br := b.as(store.RoleAuditor)
	code, page := br.follow("/audit?object=" + all["failed"].String())
	if code != http.StatusOK || strings.Count(page, `data-label="No."`) != 3 || !strings.Contains(page, "Refused") {
		t.Errorf("the log of one notification (%d) has %d events", code, strings.Count(page, `data-label="No."`))
	}
	for _, role := range []store.Role{store.RoleSupport, store.RoleAdmin} {
		if a := b.as(role).get("/audit"); a.code != http.StatusForbidden {
			t.Errorf("%s is answered %d", role, a.code)
		}
	}
	for _, path := range []string{"/audit?from=2026-01-02T00:00&to=2026-01-01T00:00", "/audit?before=1&after=2", "/audit?after=x"} {
		if a := br.get(path); a.code != http.StatusBadRequest {
			t.Errorf("%s answered %d", path, a.code)
		}
	}
	if code, page := br.follow("/evidence"); code != http.StatusOK || !strings.Contains(page, "not part of this version yet") {
		t.Errorf("the place of the evidence answered %d", code)
	}
}

// A page never changes what it shows (I11).
func TestLookingChangesNoNotification(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	all := b.History(t)
	before := map[string]dispatch.Record{}
	for name, id := range all {
		before[name] = b.MustGet(t, id)
	}
	for _, role := range []store.Role{store.RoleSupport, store.RoleAuditor} {
		br := b.as(role)
		for _, path := range []string{"/", "/notifications", "/unknown", "/providers", "/settings"} {
			if code, _ := br.follow(path); code != http.StatusOK {
				t.Errorf("%s answered %d", path, code)
			}
		}
		for _, id := range all {
			br.follow("/notifications/" + id.String())
		}
	}
	for name, id := range all {
		if after := b.MustGet(t, id); fmt.Sprint(after) != fmt.Sprint(before[name]) {
			t.Errorf("%s has changed by being looked at", name)
		}
	}
}
