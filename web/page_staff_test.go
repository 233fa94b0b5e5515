package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"sentonce/dispatch"
	"sentonce/store"
)

func TestAdminChangesAnAccountAndItsSessionsEnd(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, withEngine)
	admin, path := b.as(store.RoleAdmin), "/staff/"+b.people[store.RoleSupport].String()
	open := func() pageAnswer { return b.as(store.RoleSupport).get("/profile") }
	signedIn := b.as(store.RoleSupport)
	if page := admin.get("/staff").wantCode(t, "the list", http.StatusOK); !strings.Contains(page.body, "support@example.org") {
		t.Errorf("the list lacks an account: %s", page.body)
	}
	admin.get(path).wantCode(t, "an account", http.StatusOK)
	admin.post(path, url.Values{"role": {"auditor"}}).wantCode(t, "an auditor without an end", http.StatusUnprocessableEntity)
	admin.post(path, url.Values{"role": {"king"}}).wantCode(t, "an invented role", http.StatusUnprocessableEntity)
	admin.post(path, url.Values{"role": {"support"}, "ends_on": {"2001-01-01"}}).wantCode(t, "a day of the past", http.StatusUnprocessableEntity)
	signedIn.get("/profile").wantCode(t, "the person meanwhile", http.StatusOK)
	admin.post(path, url.Values{"role": {"compliance"}, "ends_on": {"2099-12-31"}}).wantCode(t, "a change", http.StatusSeeOther)
	signedIn.get("/profile").wantCode(t, "the person afterwards", http.StatusSeeOther)
	p, err := b.Person(t.Context(), b.people[store.RoleSupport])
	if err != nil || p.Role != store.RoleCompliance || p.EndsAt.Format("2006-01-02T15:04") != "2100-01-01T00:00" {
		t.Errorf("the account is %+v, %v", p, err)
	}
	if page := admin.get(path); !strings.Contains(page.body, "2099-12-31") {
		t.Error("the page does not show the last day")
	}
	for _, step := range []string{"require-totp", "waive-totp", "end-sessions", "disable"} {
		br := b.as(store.RoleSupport)
		admin.get(path+"/"+step).wantCode(t, step+" asks", http.StatusOK)
		admin.post(path+"/"+step, nil).wantCode(t, step, http.StatusSeeOther)
		br.get("/profile").wantCode(t, "the session after "+step, http.StatusSeeOther)
	}
	admin.post(path+"/invite", nil).wantCode(t, "a link for a disabled account", http.StatusConflict)
	admin.post(path+"/enable", nil).wantCode(t, "enable", http.StatusSeeOther)
	open().wantCode(t, "a new session", http.StatusOK)
	admin.post(path+"/explode", nil).wantCode(t, "an invented step", http.StatusNotFound)
}

func TestNobodyChangesTheOwnAccount(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, withEngine)
	admin, path := b.as(store.RoleAdmin), "/staff/"+b.people[store.RoleAdmin].String()
	admin.post(path, url.Values{"role": {"compliance"}}).wantCode(t, "the own role", http.StatusConflict)
	for _, step := range []string{"disable", "require-totp", "invite", "reset-totp"} {
		admin.post(path+"/"+step, nil).wantCode(t, "the own "+step, http.StatusConflict)
	}
	admin.get("/staff").wantCode(t, "afterwards", http.StatusOK)
}

func TestTwoAdminsWhoDisableEachOtherLeaveOne(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, withEngine)
	one, two := b.people[store.RoleAdmin], b.hire("second@example.org", store.RoleAdmin)
	by := func(id dispatch.StaffID) dispatch.Actor {
		return dispatch.Actor{Kind: dispatch.ActorStaff, ID: id.String()}
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	wg.Go(func() { errs[0] = b.DisableStaff(t.Context(), two, by(one)) })
	wg.Go(func() { errs[1] = b.DisableStaff(t.Context(), one, by(two)) })
	wg.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("both or neither: %v", errs)
	}
}

func TestLinkOfAnInvitationReplacesOlderOnesAndAPassword(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, withEngine)
	admin, id := b.as(store.RoleAdmin), b.people[store.RoleSupport]
	signedIn := b.as(store.RoleSupport)
	link := func() string {
		page := admin.post("/staff/"+id.String()+"/invite", nil).wantCode(t, "a link", http.StatusOK)
		_, token, _ := strings.Cut(page.body, "/invitation?token=")
		token, _, _ = strings.Cut(token, "<")
		return token
	}
	first, second := link(), link()
	form := url.Values{"token": {first}, "new_password": {"a newer password"}, "new_password_again": {"a newer password"}}
	b.browser().post("/invitation", form).wantCode(t, "the older link", http.StatusNotFound)
	signedIn.get("/profile").wantCode(t, "the session before", http.StatusOK)
	form.Set("token", second)
	b.browser().post("/invitation", form).wantCode(t, "the newer link", http.StatusSeeOther)
	signedIn.get("/profile").wantCode(t, "the session afterwards", http.StatusSeeOther)
	b.browser().post("/login", loginForm("support@example.org", "a newer password")).wantCode(t, "sign-in", http.StatusSeeOther)
}
