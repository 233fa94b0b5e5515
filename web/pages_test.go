package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web"
)

func TestPagesAreGuardedByTheirHeaders(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, withEngine)
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
			"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"Cross-Origin-Opener-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
	}
	for path, br := range map[string]*staffBrowser{"/profile": b.as(store.RoleSupport), "/login": b.browser(), "/staff": b.as(store.RoleSupport),
		"/profile?": b.browser(), "/staff/nobody": b.as(store.RoleAdmin)} {
		page := br.get(path)
		for name, value := range want {
			if got := strings.Join(page.header.Values(name), " | "); got != value {
				t.Errorf("%s (%d): %s is %q, want %q", path, page.code, name, got, value)
			}
		}
	}
}

func TestFieldF60_AssetsMayBeKeptAndPagesMayNot(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br := b.as(store.RoleSupport)
	page := br.get("/profile")
	_, rest, ok := strings.Cut(page.body, `rel="stylesheet" href="`)
	sheet, _, _ := strings.Cut(rest, `"`)
	if !ok || !strings.HasPrefix(sheet, "/static/app.") {
		t.Fatalf("the page names no style sheet: %.500s", page.body)
	}
	asset := b.browser().get(sheet).wantCode(t, "the style sheet", http.StatusOK)
	if got := asset.header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("Cache-Control of an asset is %q", got)
	}
	b.browser().get("/static/app.css").wantCode(t, "an asset without its hash", http.StatusNotFound)
	out := br.post("/logout", nil)
	if got := out.header.Get("Clear-Site-Data"); got != `"cache", "storage"` {
		t.Errorf("Clear-Site-Data is %q", got)
	}
	if got := br.get("/profile"); got.code == http.StatusOK || strings.Contains(got.body, "support@example.org") {
		t.Errorf("after the sign-out the page still answers %d", got.code)
	}
}

func TestFieldF68_ForeignFormsAreRefusedAndAnEndedSessionIsTold(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br := b.as(store.RoleSupport)
	form := url.Values{"theme": {"dark"}}
	for name, header := range map[string]http.Header{
		"by fetch metadata": {"Sec-Fetch-Site": {"cross-site"}}, "from a sibling": {"Sec-Fetch-Site": {"same-site"}},
		"by origin": {"Origin": {"https://evil.example"}}, "without an origin": {"Origin": {"null"}},
	} {
		page := br.do("POST", "/profile/prefer", form, header)
		if page.code != http.StatusForbidden || !strings.Contains(page.body, "<h1>") {
			t.Errorf("%s: %d", name, page.code)
		}
	}
	b.browser().do("POST", "/login", loginForm("support@example.org", staffPassword), http.Header{"Sec-Fetch-Site": {"cross-site"}}).
		wantCode(t, "a foreign sign-in", http.StatusForbidden)
	if p, err := b.Person(t.Context(), b.people[store.RoleSupport]); err != nil || p.Theme != "auto" {
		t.Errorf("a foreign form was carried out: %v %v", p.Theme, err)
	}
	br.do("POST", "/profile/prefer", form, http.Header{"Origin": {b.url}}).wantCode(t, "an own form", http.StatusSeeOther)

	// In another tab the person signs out and in again: the form of the first tab is the same person's, and counts.
	br.post("/logout", nil)
	br.post("/login", loginForm("support@example.org", staffPassword)).wantCode(t, "sign-in", http.StatusSeeOther)
	br.post("/profile/prefer", url.Values{"theme": {"light"}}).wantCode(t, "the form of the first tab", http.StatusSeeOther)

	br.post("/logout", nil)
	part := br.do("GET", "/profile", nil, http.Header{"Hx-Request": {"true"}}).wantCode(t, "a part after the sign-out", http.StatusUnauthorized)
	if part.body != "" {
		t.Errorf("a part of a page got %q", part.body)
	}
}

// broken is an engine that has a fault.
type broken struct{ engine }

func (broken) Status() []dispatch.ProviderStatus { panic("+4915112345678 must not be told") }

func TestFieldF57_AFaultIsOneWholeErrorPageWithItsStatusInTheLog(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, func(d *web.Deps) { d.Providers, d.Reconciler = broken{}, engine{} })
	br := b.as(store.RoleAdmin)
	page := br.get("/providers").wantCode(t, "a page that panics", http.StatusInternalServerError)
	id := page.header.Get("X-Request-Id")
	if !strings.Contains(page.body, id) || strings.Count(page.body, "</html>") != 1 || strings.Count(page.body, "<h1") != 1 {
		t.Errorf("the page is not whole: %s", page.body)
	}
	if strings.Contains(page.body+b.log.String(), "+49151") {
		t.Error("what the panic held is told")
	}
	found := false
	for _, line := range strings.Split(b.log.String(), "\n") {
		if strings.Contains(line, `"msg":"request"`) && strings.Contains(line, id) {
			found = strings.Contains(line, `"status":500`)
		}
	}
	if !found {
		t.Error("the log has another status, or another id")
	}
	br.get("/staff").wantCode(t, "the next request", http.StatusOK)
}

func TestUnknownAddressesArePagesForBrowsersAndProblemsForPrograms(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	page := b.browser().do("GET", "/nowhere", nil, http.Header{"Accept": {"text/html,*/*"}}).wantCode(t, "a browser", http.StatusNotFound)
	if !strings.Contains(page.body, "<h1>") {
		t.Errorf("a browser gets %q", page.body)
	}
	for _, path := range []string{"/nowhere", "/v1/nowhere", "/v1/notifications"} {
		problem := b.browser().get(path)
		if got := problem.header.Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("a program gets %q for %s", got, path)
		}
	}
}
