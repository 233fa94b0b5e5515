package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/web"
)

// held is an engine of two providers that remembers its holds.
type held struct{ on map[string]bool }

func (h held) Status() []dispatch.ProviderStatus {
	return []dispatch.ProviderStatus{{Name: "main", Breaker: "closed", Held: h.on["main"], Timeout: 10 * time.Second},
		{Name: "other", Breaker: "open", Unavailable: true}}
}

func (h held) Hold(provider string, on bool) bool {
	h.on[provider] = on
	return true
}

func TestAPauseIsStoredAppliedAndAnEvent(t *testing.T) {
	t.Parallel()
	engine := held{map[string]bool{}}
	b := newStaffBench(t, func(d *web.Deps) { d.Providers, d.Calls = engine, &web.CallWindow{} })
	br := b.as(store.RoleSupport)
	if a := br.post("/providers/main/pause", url.Values{"note": {"call +4915112345678"}}); a.code != http.StatusUnprocessableEntity ||
		strings.Contains(a.body, "4915112345678") || engine.on["main"] {
		t.Errorf("an incomplete pause answered %d", a.code)
	}
	if a := br.post("/providers/main/pause", url.Values{"reason": {"provider_incident"}}); a.code != http.StatusSeeOther || !engine.on["main"] {
		t.Errorf("a pause answered %d, held %v", a.code, engine.on)
	}
	_, page := br.follow("/providers")
	for _, want := range []string{"A. support", "The provider has an incident", "Paused by a person", "/providers/main/resume"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if a := br.post("/providers/main/pause", url.Values{"reason": {"cost"}}); a.code != http.StatusConflict {
		t.Errorf("a second pause answered %d", a.code)
	}
	if a := br.post("/providers/nobody/pause", url.Values{"reason": {"cost"}}); a.code != http.StatusNotFound {
		t.Errorf("a pause of nobody answered %d", a.code)
	}
	if a := br.post("/providers/main/resume", url.Values{}); a.code != http.StatusSeeOther || engine.on["main"] {
		t.Errorf("the end of a pause answered %d", a.code)
	}
	if a := b.as(store.RoleAuditor).get("/providers/main/pause"); a.code != http.StatusForbidden {
		t.Errorf("an auditor who pauses is answered %d", a.code)
	}
}

func TestASecretStandsInOneAnswerAndNowhereElse(t *testing.T) {
	t.Parallel()
	b := newStaffBench(t, nil)
	br := b.as(store.RoleAdmin)
	path := "/clients/" + b.Client.String()
	last := b.Clock.Now().AddDate(0, 1, 0).Format(time.DateOnly)
	a := br.post(path+"/keys", url.Values{"name": {"live"}, "scopes": {"admit", "read"}, "expires_on": {last}})
	secret := regexp.MustCompile(`snt_[\w-]{43}`).FindString(a.body)
	if a.code != http.StatusOK || secret == "" {
		t.Fatalf("a new key answered %d", a.code)
	}
	key, err := b.Authenticate(t.Context(), dispatch.NewSecret(secret))
	if err != nil || fmt.Sprint(key.Scopes) != "[admit read]" {
		t.Fatalf("the key: %+v, %v", key, err)
	}
	if code, page := br.follow(path); code != http.StatusOK || strings.Contains(page, secret) || !strings.Contains(page, "live") {
		t.Errorf("the client's page (%d) shows the secret, or not the key", code)
	}
	a = br.post(path+"/keys/"+key.ID.String()+"/rotate", url.Values{"overlap": {"1h"}})
	second := regexp.MustCompile(`snt_[\w-]{43}`).FindString(a.body)
	if a.code != http.StatusOK || second == "" || second == secret {
		t.Errorf("a replacement answered %d", a.code)
	}
	if a := br.post(path+"/keys/"+key.ID.String()+"/revoke", url.Values{}); a.code != http.StatusSeeOther {
		t.Errorf("a revocation answered %d", a.code)
	}
	if _, err := b.Authenticate(t.Context(), dispatch.NewSecret(secret)); err == nil {
		t.Error("the revoked key works")
	}
	if strings.Contains(b.log.String(), secret) {
		t.Error("the log holds the secret")
	}
	for _, bad := range []url.Values{{}, {"name": {"x"}, "expires_on": {last}}, {"name": {"x"}, "scopes": {"root"}, "expires_on": {last}},
		{"name": {"x"}, "scopes": {"read"}, "expires_on": {"2001-01-01"}}, {"name": {"x"}, "scopes": {"read"}, "expires_on": {"2999-01-01"}}} {
		if a := br.post(path+"/keys", bad); a.code != http.StatusUnprocessableEntity {
			t.Errorf("%v answered %d", bad, a.code)
		}
	}
}

func TestASettingCountsAtOnceAndHasAHistory(t *testing.T) {
	t.Parallel()
	cell := &store.PolicyCell{}
	b := newStaffBench(t, func(d *web.Deps) { d.Settings = cell })
	if err := b.SeedSettings(t.Context(), store.DefaultPolicy(), cell); err != nil {
		t.Fatal(err)
	}
	br := b.as(store.RoleAdmin)
	change := url.Values{"version": {"1"}, "value": {"5"}, "note": {"more tries"}}
	if a := br.post("/settings/max_attempts", change); a.code != http.StatusOK || !strings.Contains(a.body, `name="confirm"`) || cell.Get().MaxAttempts != 3 {
		t.Errorf("the difference answered %d", a.code)
	}
	change.Set("confirm", "yes")
	if a := br.post("/settings/max_attempts", change); a.code != http.StatusSeeOther || cell.Get().MaxAttempts != 5 {
		t.Errorf("the change answered %d, the policy is %+v", a.code, cell.Get())
	}
	if a := br.post("/settings/max_attempts", change); a.code != http.StatusConflict {
		t.Errorf("a change from an old version answered %d", a.code)
	}
	for _, bad := range []string{"", "0", "x", "5", "99"} {
		v := url.Values{"version": {"2"}, "value": {bad}, "note": {"why"}, "confirm": {"yes"}}
		if a := br.post("/settings/max_attempts", v); a.code != http.StatusUnprocessableEntity {
			t.Errorf("the value %q answered %d", bad, a.code)
		}
	}
	if code, page := br.follow("/settings/max_attempts"); code != http.StatusOK || !strings.Contains(page, "more tries") || !strings.Contains(page, "A. admin") {
		t.Errorf("the history (%d) is not shown", code)
	}
	if code, page := b.as(store.RoleSupport).follow("/settings"); code != http.StatusOK || strings.Contains(page, "/settings/max_attempts") {
		t.Errorf("support sees the settings with %d, or may change them", code)
	}
}
