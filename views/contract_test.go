package views_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"sentonce/dispatch"
	"sentonce/views"
	"sentonce/views/sample"
)

// TestFormsHaveTheFieldsOfTheContract: machines that act as a browser rely on these names (DESIGN §9).
func TestFormsHaveTheFieldsOfTheContract(t *testing.T) {
	t.Parallel()
	id := "ntf_01kb7v2q00x9f3m0zc8hwd5t6r"
	want := map[string]map[string][]string{
		"login":         {"/login": {"email", "password", "code"}},
		"overview":      {"/search": {"q"}, "/logout": nil},
		"item-unknown":  {views.VerdictPath(id): {"attempt", "version", "verdict", "next", "reason", "evidence_kind", "evidence_ref", "note"}, views.ReconcilePath(id): nil, views.ClaimPath(id): {"action"}},
		"item-expired":  {views.VerdictPath(id): {"attempt", "version", "verdict", "next", "reason", "evidence_kind", "evidence_ref", "note"}},
		"item-proposal": {"/notifications/" + id + "/proposals/prp_01kb7v5m2d8q4w6e0r1t3y5u7i/approve": {"version", "note"}},
		"reveal":        {"/notifications/" + id + "/reveal": {"reason", "note"}},
	}
	for _, s := range sample.States(sample.Options{Assets: assets(t)}) {
		for action, fields := range want[s.Name] {
			form := formTo(parse(t, render(t, s.Component)), action)
			if form == nil {
				t.Errorf("%s: no form to %s", s.Name, action)
				continue
			}
			got := fieldsOf(form)
			for _, f := range fields {
				if !slices.Contains(got, f) {
					t.Errorf("%s: the form to %s lacks %q, it has %v", s.Name, action, f, got)
				}
			}
			delete(want[s.Name], action)
		}
		if len(want[s.Name]) == 0 {
			delete(want, s.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not looked at: %v", want)
	}
}

func formTo(all []*html.Node, action string) *html.Node {
	for _, f := range named(all, "form") {
		if attr(f, "action") == action {
			return f
		}
	}
	return nil
}

func fieldsOf(form *html.Node) []string {
	var names []string
	for n := range form.Descendants() {
		if name := attr(n, "name"); n.Type == html.ElementNode && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// TestTheVerdictIsNotSuggested: nothing but the harmless end is chosen beforehand, and what is impossible is not offered.
func TestTheVerdictIsNotSuggested(t *testing.T) {
	t.Parallel()
	for _, s := range sample.States(sample.Options{Assets: assets(t)}) {
		if s.Name != "item-unknown" && s.Name != "item-unknown-claimed" {
			continue
		}
		for _, n := range named(parse(t, render(t, s.Component)), "input") {
			if has(n, "checked") && attr(n, "value") != "close" {
				t.Errorf("%s: %s=%s is chosen beforehand", s.Name, attr(n, "name"), attr(n, "value"))
			}
			if s.Name == "item-unknown-claimed" && attr(n, "value") == "send_again" {
				t.Error("“send again” is offered though it is impossible")
			}
		}
	}
}

// TestFieldF59_WhatOthersWroteStaysText: names, ids and notes come from outside; none of them becomes an element or an attribute.
func TestFieldF59_WhatOthersWroteStaysText(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{`</script><script>alert(1)</script>`, `" autofocus onfocus=alert(1) x="`, `javascript:alert(1)`, `a'-alert(1)-'b`, `<!--`, `{{7*7}}`} {
		shell := views.Shell{Assets: assets(t), Clock: page(), User: &views.User{Name: hostile}, Path: "/?x=" + hostile, Query: hostile, Flash: &views.Alert{Title: hostile}}
		list := views.NotificationsPage(shell, views.Notifications{Query: hostile, Notices: []string{hostile}, Chips: []views.Chip{{Label: hostile, Remove: hostile}},
			Rows: []views.NotificationRow{{ID: hostile, State: dispatch.StateUnknown, Note: hostile, Client: hostile, Provider: hostile, Recipient: views.Masked{Country: hostile}}}})
		item := views.NotificationPage(shell, views.Notification{ID: hostile, Head: views.Head{State: dispatch.StateUnknown, Sentence: hostile}, Facts: []views.Fact{{Name: "Event", ID: hostile}, {Name: "x", Text: hostile, Path: hostile}},
			Entries: []views.Entry{{Word: hostile, By: hostile, Text: hostile, Call: &views.Attempt{Provider: hostile, Answer: views.Answer{Status: hostile, Code: hostile}}}}, Live: views.Live{Path: "/x?" + hostile},
			Verdict: &views.VerdictForm{Note: hostile, EvidenceRef: hostile}, Ask: &views.AskNow{Provider: hostile}})
		problem := views.ErrorPage(shell, views.Error{Status: 409, Title: hostile, Text: hostile, Kept: hostile, RequestID: hostile})
		for _, c := range []string{render(t, list), render(t, item), render(t, problem)} {
			all := parse(t, c)
			if !strings.Contains(text(all[0]), strings.Join(strings.Fields(hostile), " ")) {
				t.Errorf("%q is not shown as it is", hostile)
			}
			for _, n := range all {
				if n.Data == "script" && n.FirstChild != nil || has(n, "autofocus") || has(n, "onfocus") {
					t.Errorf("%q became part of the page: <%s %v>", hostile, n.Data, n.Attr)
				}
				if strings.HasPrefix(attr(n, "href"), "javascript:") {
					t.Errorf("%q became a link", hostile)
				}
			}
		}
	}
}

// TestRolesSeeOnlyWhatTheyMayPress: a page for a role that may only read has no form but search, preferences and sign-out.
func TestRolesSeeOnlyWhatTheyMayPress(t *testing.T) {
	t.Parallel()
	harmless := []string{views.PathSearch, views.PathPreference, views.PathLogout}
	for _, s := range sample.States(sample.Options{Assets: assets(t)}) {
		if s.Name != "item-unknown-auditor" && s.Name != "unknown-auditor" && s.Name != "client-reader" {
			continue
		}
		for _, n := range parse(t, render(t, s.Component)) {
			if n.Data == "form" && !slices.Contains(harmless, attr(n, "action")) {
				t.Errorf("%s has a form to %s", s.Name, attr(n, "action"))
			}
			if n.Data == "button" && has(n, "formaction") {
				t.Errorf("%s has a button to %s", s.Name, attr(n, "formaction"))
			}
		}
	}
}
