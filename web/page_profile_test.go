package web_test

import (
	"encoding/base32"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"sentonce/dispatch"
	"sentonce/store"
)

// enrol sets up a second factor in a browser and returns its secret and the recovery codes.
func (br *staffBrowser) enrol() (secret string, codes []string) {
	t := br.b.t
	t.Helper()
	page := br.get("/profile/totp").wantCode(t, "the offer", http.StatusOK)
	found := regexp.MustCompile(`secret=([A-Z2-7]+)`).FindStringSubmatch(page.body)
	if found == nil {
		t.Fatalf("the page offers no secret: %s", page.body)
	}
	done := br.post("/profile/totp", url.Values{"code": {br.b.code(found[1])}}).wantCode(t, "the enrolment", http.StatusOK)
	for _, m := range regexp.MustCompile(`<li>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</li>`).FindAllStringSubmatch(done.body, -1) {
		codes = append(codes, m[1])
	}
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes are shown, want 10", len(codes))
	}
	return found[1], codes
}

// code is what the authenticator shows at the bench's instant.
func (b *staffBench) code(secret string) string {
	b.t.Helper()
	code, err := totp.GenerateCode(secret, b.Clock.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	return code
}

func TestSecondFactorIsAskedAndItsCodesWorkOnce(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	secret, codes := b.as(store.RoleSupport).enrol()
	with := func(code string) pageAnswer {
		form := loginForm("support@example.org", staffPassword)
		form.Set("code", code)
		return b.browser().post("/login", form)
	}
	with("").wantCode(t, "no code", http.StatusUnprocessableEntity)
	with("000000").wantCode(t, "a wrong code", http.StatusUnprocessableEntity)
	with(b.code(secret)).wantCode(t, "the code of the enrolment", http.StatusUnprocessableEntity)
	b.Clock.Add(30 * time.Second)
	fresh := b.code(secret)
	with(fresh[:3]+" "+fresh[3:]).wantCode(t, "a fresh code", http.StatusSeeOther)
	with(fresh).wantCode(t, "the same code again", http.StatusUnprocessableEntity)
	with(strings.ToUpper(codes[0])).wantCode(t, "a recovery code", http.StatusSeeOther)
	with(codes[0]).wantCode(t, "the same recovery code again", http.StatusUnprocessableEntity)
	b.Clock.Add(5 * time.Minute)
	with(b.code(secret)).wantCode(t, "a later code", http.StatusSeeOther)
}

func TestSecondFactorIsStoredSealed(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	secret, codes := b.as(store.RoleSupport).enrol()
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	for name, plain := range map[string]string{"the secret": string(raw), "its text": secret, "a recovery code": codes[0],
		"its letters": strings.ReplaceAll(codes[0], "-", "")} {
		if b.onDisk(plain) {
			t.Errorf("%s is in the data directory", name)
		}
		if strings.Contains(b.log.String(), plain) {
			t.Errorf("%s is in the log", name)
		}
	}
}

func TestTokensAreStoredAsHashesAlone(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br := b.browser()
	br.post("/login", loginForm("support@example.org", staffPassword)).wantCode(t, "sign-in", http.StatusSeeOther)
	_, invite, err := b.Invite(t.Context(), store.NewStaff{Email: "x@example.org", Name: "X", Role: store.RoleSupport,
		By: dispatch.Actor{Kind: dispatch.ActorOperator}}, false)
	if err != nil {
		t.Fatal(err)
	}
	b.browser().get("/invitation?token="+invite.Reveal()).wantCode(t, "the link", http.StatusOK)
	for name, token := range map[string]string{"session": br.token(), "invitation": invite.Reveal(), "password": staffPassword} {
		if token == "" || b.onDisk(token) || strings.Contains(b.log.String(), token) {
			t.Errorf("the %s's token is on the disk or in the log", name)
		}
	}
}

func TestWhoMustHaveASecondFactorDoesNothingBefore(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	err := b.ChangeStaff(t.Context(), store.StaffChange{ID: b.people[store.RoleSupport], Role: store.RoleSupport, MustTOTP: true,
		By: dispatch.Actor{Kind: dispatch.ActorOperator}})
	if err != nil {
		t.Fatal(err)
	}
	br := b.as(store.RoleSupport)
	if to := br.get("/profile").wantCode(t, "a page before", http.StatusSeeOther).location(); to != "/profile/totp" {
		t.Errorf("it leads to %q", to)
	}
	br.post("/profile/prefer", url.Values{"theme": {"dark"}}).wantCode(t, "a form before", http.StatusForbidden)
	br.enrol()
	br.get("/profile").wantCode(t, "a page afterwards", http.StatusOK)
	br.post("/profile/totp/remove", url.Values{"password": {staffPassword}}).wantCode(t, "removal of what is required", http.StatusConflict)
}

func TestStepsThatNeedThePasswordRenewTheSession(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br := b.as(store.RoleSupport)
	_, codes := br.enrol()
	before := br.token()
	br.post("/profile/totp/codes", url.Values{"password": {"wrong"}}).wantCode(t, "a wrong password", http.StatusUnprocessableEntity)
	page := br.post("/profile/totp/codes", url.Values{"password": {staffPassword}}).wantCode(t, "new codes", http.StatusOK)
	if br.token() == before || strings.Contains(page.body, codes[0]) {
		t.Error("the session or the codes are the old ones")
	}
	if fits, err := b.RecoveryCodeFits(t.Context(), b.people[store.RoleSupport], dispatch.NewSecret(codes[1])); err != nil || fits {
		t.Errorf("an old recovery code works still: %t %v", fits, err)
	}
	br.post("/profile/totp/remove", url.Values{"password": {staffPassword}}).wantCode(t, "removal", http.StatusSeeOther)
	b.browser().post("/login", loginForm("support@example.org", staffPassword)).wantCode(t, "sign-in without a code", http.StatusSeeOther)
}

func TestPreferencesAreKeptAndCheckedAndLeadBack(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br := b.as(store.RoleAuditor)
	for _, form := range []url.Values{{"zone": {"Europe/Berlin"}}, {"theme": {"dark"}}, {"density": {"compact"}}, {"live": {"off"}}, {"shortcuts": {"off"}}} {
		form.Set("back", "/profile#zone")
		if to := br.post("/profile/prefer", form).wantCode(t, "a preference", http.StatusSeeOther).location(); to != "/profile#zone" {
			t.Errorf("it leads back to %q", to)
		}
	}
	for _, form := range []url.Values{{"zone": {"Local"}}, {"zone": {"Mars/Base"}}, {"zone": {"../../etc/passwd"}}, {"theme": {"pink"}}, {}} {
		br.post("/profile/prefer", form).wantCode(t, form.Encode(), http.StatusUnprocessableEntity)
	}
	page := br.get("/profile")
	if !strings.Contains(page.body, `data-theme="dark" data-density="compact" data-live="off" data-keys="off"`) || !strings.Contains(page.body, "Europe/Berlin") {
		t.Errorf("the page does not follow: %.400s", page.body)
	}
	if to := br.post("/profile/prefer", url.Values{"theme": {"light"}, "back": {"//evil.example"}}).location(); to != "/" {
		t.Errorf("it leads to %q", to)
	}
}

func TestOtherSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br, other, stranger := b.as(store.RoleSupport), b.as(store.RoleSupport), b.as(store.RoleAuditor)
	if page := br.get("/profile"); strings.Count(page.body, "Another browser")+strings.Count(page.body, `data-label="Browser"`) < 2 {
		t.Errorf("two sessions are not listed: %s", page.body)
	}
	br.post("/profile/sessions/end", nil).wantCode(t, "ending the others", http.StatusSeeOther)
	if page := br.get("/profile").wantCode(t, "the own session", http.StatusOK); !strings.Contains(page.body, "signed out everywhere else") {
		t.Error("the page does not say what was done")
	}
	if page := br.get("/profile"); strings.Contains(page.body, "signed out everywhere else") {
		t.Error("the sentence is shown twice")
	}
	other.get("/profile").wantCode(t, "the other session", http.StatusSeeOther)
	stranger.get("/profile").wantCode(t, "the session of another person", http.StatusOK)
	if got := b.causes(dispatch.ActionSessionsEnded); !slices.Equal(got, []string{b.people[store.RoleSupport].String()}) {
		t.Errorf("events: %v", got)
	}
}
