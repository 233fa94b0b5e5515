package web_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web"
)

// whoMay repeats, for every page, who may use it (DESIGN §9), apart from the route table, so that nobody widens a role by the way. The letters
// stand for support, compliance, auditor and admin; "-" is a page for those who are not signed in.
func whoMay() map[string]string {
	return map[string]string{
		"GET /login": "-", "POST /login": "-", "GET /invitation": "-", "POST /invitation": "-",
		"POST /logout": "scax", "GET /profile": "scax", "POST /profile/prefer": "scax", "POST /profile/password": "scax",
		"GET /profile/totp": "scax", "POST /profile/totp": "scax", "POST /profile/totp/codes": "scax", "POST /profile/totp/remove": "scax",
		"POST /profile/sessions/end": "scax",

		"GET /staff": "x", "GET /staff/invite": "x", "POST /staff/invite": "x", "GET /staff/:id": "x", "POST /staff/:id": "x",
		"GET /staff/:id/:step": "x", "POST /staff/:id/:step": "x",

		"GET /": "scax", "GET /notifications": "sca", "GET /notifications/newer": "sca", "GET /notifications/:id": "sca", "POST /search": "sc",
		"POST /views": "sca", "POST /views/:id/delete": "sca", "GET /audit": "ca", "GET /evidence": "ca", "GET /evidence.zip": "ca",
		"GET /providers": "scax", "GET /providers/:name/pause": "scx", "POST /providers/:name/pause": "scx",
		"GET /providers/:name/resume": "scx", "POST /providers/:name/resume": "scx",
		"GET /clients": "x", "GET /clients/new": "x", "POST /clients/new": "x", "GET /clients/:id": "x", "POST /clients/:id/keys": "x",
		"GET /clients/:id/keys/:key/rotate": "x", "POST /clients/:id/keys/:key/rotate": "x", "GET /clients/:id/keys/:key/revoke": "x",
		"POST /clients/:id/keys/:key/revoke": "x", "GET /settings": "scax", "GET /settings/:name": "x", "POST /settings/:name": "x",

		"GET /unknown": "sca", "POST /unknown/claim-next": "sc", "POST /unknown/reconcile": "sc", "POST /unknown/preview": "sc",
		"GET /unknown/preview": "sc", "POST /unknown/bulk": "sc", "GET /unknown/bulk/:bulk": "sca",
		"POST /notifications/:id/verdict": "sc", "POST /notifications/:id/reconcile": "sc", "POST /notifications/:id/claim": "sc",
		"POST /notifications/:id/proposals/:proposal/approve": "sc", "POST /notifications/:id/proposals/:proposal/decline": "sc",
		"POST /notifications/:id/incidents/:incident/close": "sc", "GET /notifications/:id/reveal": "sc", "POST /notifications/:id/reveal": "sc",
		"GET /notifications/:id/withdraw": "sc", "POST /notifications/:id/withdraw": "sc",
	}
}

func letter(r store.Role) string {
	return map[store.Role]string{store.RoleSupport: "s", store.RoleCompliance: "c", store.RoleAuditor: "a", store.RoleAdmin: "x"}[r]
}

func TestEveryPageIsForExactlyTheRolesOfTheDesign(t *testing.T) {
	t.Parallel()
	want := whoMay()
	for _, r := range web.PageTable() {
		got := ""
		if r.Visitor {
			got = "-"
		}
		for _, role := range store.Roles() {
			if slices.Contains(r.Roles, role) {
				got += letter(role)
			}
		}
		line := r.Method + " " + r.Path
		if who, known := want[line]; !known {
			t.Errorf("%s is for %q: say here who may", line, got)
		} else if who != got {
			t.Errorf("%s is for %q, want %q", line, got, who)
		}
		delete(want, line)
	}
	for line := range want {
		t.Errorf("%s does not exist", line)
	}
}

// Their own are the session, the profile and the bookmarks, which nobody else sees.
func TestAuditorsPostNothingButTheirOwn(t *testing.T) {
	t.Parallel()
	for line, who := range whoMay() {
		method, path, _ := strings.Cut(line, " ")
		own := path == "/logout" || strings.HasPrefix(path, "/profile/") || path == "/views" || path == "/views/:id/delete"
		if method == http.MethodPost && strings.Contains(who, "a") && !own {
			t.Errorf("%s is for auditors", line)
		}
	}
}

// engine stands for the providers and the reconciler of a server that sends nothing.
type engine struct{}

func (engine) Status() []dispatch.ProviderStatus {
	return []dispatch.ProviderStatus{{Name: "main", Breaker: "closed"}}
}
func (engine) Hold(string, bool) bool { return true }
func (engine) Ask(context.Context, dispatch.LookupJob, dispatch.Actor) (dispatch.LookupResult, error) {
	return dispatch.LookupFailed, nil
}

func withEngine(d *web.Deps) { d.Providers, d.Reconciler = engine{}, engine{} }

func TestFieldF69_EveryRouteRefusesEveryRoleThatItIsNotFor(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, withEngine)
	parameter := regexp.MustCompile(`:[a-z]+`)
	refused := 0
	for _, r := range web.PageTable() {
		path := parameter.ReplaceAllString(r.Path, "x")
		use := func(br *staffBrowser, header http.Header) pageAnswer {
			if header == nil {
				header = http.Header{}
			}
			header.Set("Sec-Fetch-Site", "same-origin")
			return br.do(r.Method, path, url.Values{"a": {"b"}}, header)
		}
		for _, role := range store.Roles() {
			got := use(b.as(role), nil)
			toLogin := got.code == http.StatusSeeOther && strings.HasPrefix(got.location(), "/login?next")
			switch allowed := r.Visitor || slices.Contains(r.Roles, role); {
			case !allowed && (got.code != http.StatusForbidden || !strings.Contains(got.body, "<h1>")):
				t.Errorf("%s %s as %s answered %d, want a page with 403", r.Method, r.Path, role, got.code)
			case allowed && (got.code == http.StatusForbidden || toLogin || got.code >= 500):
				t.Errorf("%s %s as %s answered %d", r.Method, r.Path, role, got.code)
			case !allowed:
				refused++
			}
		}
		if r.Visitor {
			continue
		}
		if got := use(b.browser(), nil); got.code != http.StatusSeeOther || !strings.HasPrefix(got.location(), "/login") {
			t.Errorf("%s %s without a session answered %d to %q", r.Method, r.Path, got.code, got.location())
		}
		if got := use(b.browser(), http.Header{"Authorization": {"Bearer " + b.apiKey()}}); got.code != http.StatusSeeOther {
			t.Errorf("%s %s with an API key answered %d", r.Method, r.Path, got.code)
		}
	}
	if got := len(b.causes(dispatch.ActionAccessRefused)); got != refused {
		t.Errorf("%d refusals are in the audit log, want %d", got, refused)
	}
}

// apiKey makes a key with every scope, as a storefront has one.
func (b *staffBench) apiKey() string {
	b.t.Helper()
	b.keys++
	secret, err := b.AddAPIKey(b.t.Context(), store.NewAPIKey{Client: b.Client, Name: "key " + strings.Repeat("i", b.keys), Scopes: dispatch.Scopes(),
		By: dispatch.Actor{Kind: dispatch.ActorOperator}})
	if err != nil {
		b.t.Fatal(err)
	}
	return secret.Reveal()
}

func TestPagesTakeNoOtherMethod(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, withEngine)
	br := b.as(store.RoleAdmin)
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		for _, path := range []string{"/staff", "/profile", "/login"} {
			if got := br.do(method, path, nil, nil); got.code != http.StatusMethodNotAllowed || !strings.Contains(got.body, "<h1>") {
				t.Errorf("%s %s answered %d", method, path, got.code)
			}
		}
	}
	br.get("/logout").wantCode(t, "GET /logout", http.StatusMethodNotAllowed)
	br.get("/profile").wantCode(t, "the session after it", http.StatusOK)
}

// TestEachRoleSeesOnlyWhatItMayDo follows every link of every page and looks at every form.
func TestEachRoleSeesOnlyWhatItMayDo(t *testing.T) {
	t.Parallel()
	for _, role := range store.Roles() {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			b := newStaffBench(t, withEngine)
			b.History(t)
			br, may := b.as(role), mayPost(role)
			seen, todo := map[string]bool{}, []string{"/"}
			link := regexp.MustCompile(`href="(/[^"]*)"`)
			form := regexp.MustCompile(`<form[^>]*method="post"[^>]*action="([^"]*)"`)
			for len(todo) > 0 && len(seen) < 150 {
				path := todo[0]
				todo = todo[1:]
				page := br.get(path)
				if page.code >= 400 {
					t.Errorf("%s is offered and answers %d", path, page.code)
				}
				for _, m := range link.FindAllStringSubmatch(page.body, -1) {
					next, _, _ := strings.Cut(strings.ReplaceAll(m[1], "&amp;", "&"), "#")
					if !seen[next] && !strings.HasPrefix(next, "/static/") {
						seen[next] = true
						todo = append(todo, next)
					}
				}
				for _, m := range form.FindAllStringSubmatch(page.body, -1) {
					if action := strings.ReplaceAll(m[1], "&amp;", "&"); !may(action) && action != "/search" {
						t.Errorf("%s offers the form %s, which %s may not send", path, action, role)
					}
				}
			}
		})
	}
}

// mayPost finds out from the table whether a role may post to an address.
func mayPost(role store.Role) func(path string) bool {
	parameter := regexp.MustCompile(`:[a-z]+`)
	var patterns []*regexp.Regexp
	for line, who := range whoMay() {
		method, path, _ := strings.Cut(line, " ")
		if method == http.MethodPost && (strings.Contains(who, letter(role)) || who == "-") {
			patterns = append(patterns, regexp.MustCompile("^"+parameter.ReplaceAllString(path, "[^/]+")+"$"))
		}
	}
	return func(path string) bool {
		path, _, _ = strings.Cut(path, "?")
		return slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(path) })
	}
}
