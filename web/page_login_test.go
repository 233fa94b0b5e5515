package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web"
)

func loginForm(email, password string) url.Values {
	return url.Values{"email": {email}, "password": {password}}
}

func TestSignInLeadsToWhereOneWantedToGoAndIsAnEvent(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br := b.browser()
	to := br.get("/profile?x=1").wantCode(t, "a page without a session", http.StatusSeeOther).location()
	if to != "/login?next=%2Fprofile%3Fx%3D1" {
		t.Errorf("it leads to %q", to)
	}
	if page := br.get(to).wantCode(t, "sign-in", http.StatusOK); !strings.Contains(page.body, "/profile?x=1") || !strings.Contains(page.body, "<h1>Sign in</h1>") {
		t.Errorf("the sign-in does not remember where to go: %s", page.body)
	}
	form := loginForm("SUPPORT@example.org ", staffPassword)
	form.Set("next", "/profile?x=1")
	if to := br.post("/login", form).wantCode(t, "sign-in", http.StatusSeeOther).location(); to != "/profile?x=1" {
		t.Errorf("it leads to %q", to)
	}
	br.get("/profile").wantCode(t, "the profile", http.StatusOK)
	id := b.people[store.RoleSupport].String()
	if got := b.causes(dispatch.ActionSignedIn); !slices.Equal(got, []string{id}) {
		t.Errorf("events of the sign-in: %v", got)
	}
	br.post("/logout", nil).wantCode(t, "sign-out", http.StatusSeeOther)
	br.get("/profile").wantCode(t, "the profile afterwards", http.StatusSeeOther)
	if got := b.causes(dispatch.ActionSignedOut); !slices.Equal(got, []string{id}) {
		t.Errorf("events of the sign-out: %v", got)
	}
}

func TestSignInTellsNothingOfWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	gone := b.hire("gone@example.org", store.RoleSupport)
	if err := b.DisableStaff(t.Context(), gone, dispatch.Actor{Kind: dispatch.ActorOperator}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Invite(t.Context(), store.NewStaff{Email: "invited@example.org", Name: "I", Role: store.RoleSupport,
		By: dispatch.Actor{Kind: dispatch.ActorOperator}}, false); err != nil {
		t.Fatal(err)
	}
	ask := func(email, password string) string {
		p := b.browser().post("/login", loginForm(email, password)).wantCode(t, email, http.StatusUnprocessableEntity)
		return strings.ReplaceAll(p.body, email, "E")
	}
	want := ask("support@example.org", "wrong")
	for email, password := range map[string]string{"nobody@example.org": "wrong", "gone@example.org": staffPassword, "invited@example.org": ""} {
		if got := ask(email, password); got != want {
			t.Errorf("%s is answered in another way: %s", email, got)
		}
	}
	if n := len(b.causes(dispatch.ActionSignInFailed)); n != 4 {
		t.Errorf("%d events of failures, want 4", n)
	}
}

func TestFieldF66_SessionIsRenewedAndEnded(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	login := func(br *staffBrowser, password string) {
		t.Helper()
		br.post("/login", loginForm("support@example.org", password)).wantCode(t, "sign-in", http.StatusSeeOther)
	}
	br := b.browser()
	br.jar.SetCookies(b.address(), []*http.Cookie{{Name: "sentonce", Value: "chosen-by-the-client", Path: "/"}})
	login(br, staffPassword)
	first := br.token()
	if first == "" || first == "chosen-by-the-client" {
		t.Fatalf("the token after the sign-in is %q", first)
	}
	login(br, staffPassword)
	if br.token() == first {
		t.Error("a second sign-in keeps the token")
	}
	stolen := func(token string) *staffBrowser {
		other := b.browser()
		other.jar.SetCookies(b.address(), []*http.Cookie{{Name: "sentonce", Value: token, Path: "/"}})
		return other
	}
	stolen(first).get("/profile").wantCode(t, "the token before the second sign-in", http.StatusSeeOther)
	second := br.token()
	br.post("/logout", nil)
	stolen(second).get("/profile").wantCode(t, "the token after sign-out", http.StatusSeeOther)

	login(br, staffPassword)
	other := b.as(store.RoleSupport)
	other.get("/profile").wantCode(t, "a second browser", http.StatusOK)
	const next = "another good password 11"
	form := url.Values{"password": {staffPassword}, "new_password": {next}, "new_password_again": {next}}
	before := br.token()
	br.post("/profile/password", form).wantCode(t, "password change", http.StatusSeeOther)
	other.get("/profile").wantCode(t, "the second browser after it", http.StatusSeeOther)
	br.get("/profile").wantCode(t, "the own browser after it", http.StatusOK)
	if br.token() == before {
		t.Error("the token was not renewed")
	}
	b.browser().post("/login", loginForm("support@example.org", staffPassword)).wantCode(t, "the old password", http.StatusUnprocessableEntity)
	login(b.browser(), next)
}

func TestChangesOfAnAccountCountAtTheNextRequest(t *testing.T) {
	t.Parallel()
	operator := dispatch.Actor{Kind: dispatch.ActorOperator}
	for name, change := range map[string]func(*staffBench, dispatch.StaffID) error{
		"disabled": func(b *staffBench, id dispatch.StaffID) error { return b.DisableStaff(t.Context(), id, operator) },
		"role": func(b *staffBench, id dispatch.StaffID) error {
			return b.ChangeStaff(t.Context(), store.StaffChange{ID: id, Role: store.RoleAuditor, By: operator})
		},
		"end date": func(b *staffBench, id dispatch.StaffID) error {
			return b.ChangeStaff(t.Context(), store.StaffChange{ID: id, Role: store.RoleSupport, EndsAt: b.Clock.Now().Add(time.Hour), By: operator})
		},
		"sessions ended": func(b *staffBench, id dispatch.StaffID) error { return b.EndSessions(t.Context(), id, "", operator) },
		"idle":           func(b *staffBench, _ dispatch.StaffID) error { b.Clock.Add(store.SessionIdle); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newStaffBench(t, nil)
			br := b.as(store.RoleSupport)
			br.get("/profile").wantCode(t, "before", http.StatusOK)
			if err := change(b, b.people[store.RoleSupport]); err != nil {
				t.Fatal(err)
			}
			br.get("/profile").wantCode(t, "after", http.StatusSeeOther)
			br.post("/profile/prefer", url.Values{"theme": {"dark"}}).wantCode(t, "a form after", http.StatusSeeOther)
			if p, err := b.Person(t.Context(), b.people[store.RoleSupport]); err != nil || p.Theme != "auto" {
				t.Errorf("the form was carried out: %v %v", p, err)
			}
		})
	}
}

func TestEndOfAnAuditorIsHonouredAtEachRequest(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	err := b.ChangeStaff(t.Context(), store.StaffChange{ID: b.people[store.RoleAuditor], Role: store.RoleAuditor,
		EndsAt: b.Clock.Now().Add(10 * time.Minute), By: dispatch.Actor{Kind: dispatch.ActorOperator}})
	if err != nil {
		t.Fatal(err)
	}
	br := b.as(store.RoleAuditor)
	br.get("/profile").wantCode(t, "before the end", http.StatusOK)
	b.Clock.Add(10 * time.Minute)
	br.get("/profile").wantCode(t, "at the end", http.StatusSeeOther)
	b.Clock.Add(-time.Minute)
	br.get("/profile").wantCode(t, "with the session of before", http.StatusSeeOther)
	b.Clock.Add(time.Minute)
	b.browser().post("/login", loginForm("auditor@example.org", staffPassword)).wantCode(t, "sign-in after the end", http.StatusUnprocessableEntity)
}

func TestSessionLivesWhileItIsUsedButNotForEverAndNotByItself(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br, polled := b.as(store.RoleSupport), b.as(store.RoleSupport)
	polled.get("/profile").wantCode(t, "the page that polls", http.StatusOK)
	for used := time.Duration(0); used < store.SessionLifetime-25*time.Minute; used += 25 * time.Minute {
		b.Clock.Add(25 * time.Minute)
		br.get("/profile").wantCode(t, "in use after "+used.String(), http.StatusOK)
		if poll := polled.do("GET", "/profile", nil, http.Header{"Hx-Request": {"true"}}); used > 30*time.Minute && poll.code != http.StatusUnauthorized {
			t.Fatalf("a page that only polls keeps its session alive: %d after %v", poll.code, used)
		}
	}
	b.Clock.Add(25 * time.Minute)
	br.get("/profile").wantCode(t, "after twelve hours", http.StatusSeeOther)
}

func TestCookieIsSecureBehindTLSAndPlainWithout(t *testing.T) {
	t.Parallel()
	for scheme, want := range map[string]string{
		"http":  "sentonce=T; Path=/; HttpOnly; SameSite=Lax",
		"https": "__Host-sentonce=T; Path=/; HttpOnly; Secure; SameSite=Lax",
	} {
		b := newStaffBench(t, func(d *web.Deps) { d.PublicURL = &url.URL{Scheme: scheme, Host: "sms.example.org"} })
		p := b.browser().post("/login", loginForm("support@example.org", staffPassword)).wantCode(t, "sign-in", http.StatusSeeOther)
		got := p.header.Get("Set-Cookie")
		name, rest, _ := strings.Cut(got, "=")
		value, attributes, _ := strings.Cut(rest, ";")
		if name+"=T;"+attributes != want || len(value) < 40 {
			t.Errorf("over %s: %s", scheme, got)
		}
	}
}

func TestTriesAtOnceDoNotSlipPastTheCounter(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	var wg sync.WaitGroup
	codes := make(chan int, 20)
	for range 20 {
		wg.Go(func() { codes <- b.browser().post("/login", loginForm("support@example.org", "wrong")).code })
	}
	wg.Wait()
	close(codes)
	tried := 0
	for code := range codes {
		if code == http.StatusUnprocessableEntity {
			tried++
		} else if code != http.StatusTooManyRequests {
			t.Errorf("a try answered %d", code)
		}
	}
	if tried > 6 {
		t.Errorf("%d of 20 tries at once were verified", tried)
	}
}

func TestWaitingGrowsSurvivesARestartAndIsNeverForGood(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	try := func(email, password string) int { return b.browser().post("/login", loginForm(email, password)).code }
	for _, email := range []string{"support@example.org", "nobody@example.org"} {
		for range 6 {
			if code := try(email, "wrong"); code != http.StatusUnprocessableEntity {
				t.Fatalf("an early try answered %d", code)
			}
		}
		if code := try(email, staffPassword); code != http.StatusTooManyRequests {
			t.Fatalf("a try too many as %s answered %d", email, code)
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Reopen(t)
	again := newServerOn(t, b)
	waits := []time.Duration{}
	for range 12 {
		wait, err := b.CountTry(t.Context(), []store.Try{{Kind: "account", Value: "Support@example.org", Free: 5}})
		if err != nil {
			t.Fatal(err)
		}
		if wait > 0 {
			waits = append(waits, wait)
			b.Clock.Add(wait)
		}
		if _, err := b.CountTry(t.Context(), []store.Try{{Kind: "account", Value: "support@example.org", Free: 5}}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.IsSorted(waits) || waits[0] > 2*time.Second || waits[len(waits)-1] != 15*time.Minute {
		t.Errorf("the waiting grows like %v", waits)
	}
	b.Clock.Add(15 * time.Minute)
	if code := again.browser().post("/login", loginForm("support@example.org", staffPassword)).code; code != http.StatusSeeOther {
		t.Errorf("after the longest waiting the right password answered %d", code)
	}
	if code := again.browser().post("/login", loginForm("support@example.org", "wrong")).code; code != http.StatusUnprocessableEntity {
		t.Errorf("a success did not forgive the tries: %d", code)
	}
}

func TestTriesFromOneAddressWaitToo(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	last := 0
	for i := range 40 {
		last = b.browser().post("/login", loginForm("guess"+string(rune('a'+i%26))+string(rune('a'+i/26))+"@example.org", "wrong")).code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the fortieth try from one address answered %d", last)
	}
}

func TestNextLeadsOnlyToPagesOfOurs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"/unknown?tab=mine": "/unknown?tab=mine", "https://evil.example/": "/", "//evil.example/x": "/",
		`/\evil.example`: "/", "/\t/evil.example": "/", "javascript:alert(1)": "/", "": "/", "x": "/", "/a b": "/", "/%2F/evil": "/%2F/evil"} {
		if got := web.LocalPath(in); got != want {
			t.Errorf("%q leads to %q, want %q", in, got, want)
		}
	}
}

func TestInvitationWorksOnceAndForADay(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	admin := b.as(store.RoleAdmin)
	invite := url.Values{"email": {"new@example.org"}, "name": {"Nora New"}, "role": {"support"}}
	page := admin.post("/staff/invite", invite).wantCode(t, "invitation", http.StatusOK)
	_, token, _ := strings.Cut(page.body, "/invitation?token=")
	token, _, _ = strings.Cut(token, "<")
	admin.post("/staff/invite", invite).wantCode(t, "the same address again", http.StatusUnprocessableEntity)

	br := b.browser()
	if p := br.get("/invitation?token="+token).wantCode(t, "the link", http.StatusOK); !strings.Contains(p.body, "Nora New") {
		t.Errorf("the page names nobody: %s", p.body)
	}
	form := url.Values{"token": {token}, "new_password": {"twelve letters"}, "new_password_again": {"twelve letters!"}}
	br.post("/invitation", form).wantCode(t, "two passwords that differ", http.StatusUnprocessableEntity)
	form["new_password_again"] = form["new_password"]
	br.post("/invitation", form).wantCode(t, "acceptance", http.StatusSeeOther)
	br.post("/invitation", form).wantCode(t, "acceptance again", http.StatusNotFound)
	br.post("/login", loginForm("new@example.org", "twelve letters")).wantCode(t, "sign-in", http.StatusSeeOther)

	_, late, err := b.Invite(t.Context(), store.NewStaff{Email: "late@example.org", Name: "L", Role: store.RoleSupport,
		By: dispatch.Actor{Kind: dispatch.ActorOperator}}, false)
	if err != nil {
		t.Fatal(err)
	}
	b.Clock.Add(store.InviteLife)
	br.get("/invitation?token="+late.Reveal()).wantCode(t, "a link of yesterday", http.StatusNotFound)
	if len(b.causes(dispatch.ActionStaffInvited)) != 2 || len(b.causes(dispatch.ActionInvitationAccepted)) != 1 {
		t.Errorf("events: %v %v", b.causes(dispatch.ActionStaffInvited), b.causes(dispatch.ActionInvitationAccepted))
	}
}
