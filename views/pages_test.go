package views_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"sentonce/static"
	"sentonce/views"
	"sentonce/views/sample"
)

func assets(t *testing.T) *static.Assets {
	t.Helper()
	a, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parse(t *testing.T, page string) []*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var all []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			all = append(all, n)
		}
	}
	return all
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func named(all []*html.Node, tag string) []*html.Node {
	var found []*html.Node
	for _, n := range all {
		if n.Data == tag {
			found = append(found, n)
		}
	}
	return found
}

// eachPage gives every page in every state to a check.
func eachPage(t *testing.T, check func(t *testing.T, s sample.State, page string, all []*html.Node)) {
	t.Helper()
	states := sample.States(sample.Options{Assets: assets(t)})
	if len(states) < 60 {
		t.Fatalf("only %d states of pages", len(states))
	}
	for _, s := range states {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			page := render(t, s.Component)
			check(t, s, page, parse(t, page))
		})
	}
}

func TestPagesHaveOneHeadingATitleAndUniqueIDs(t *testing.T) {
	t.Parallel()
	eachPage(t, func(t *testing.T, _ sample.State, page string, all []*html.Node) {
		if !strings.HasPrefix(page, "<!doctype html>") {
			t.Errorf("the page begins with %q", page[:20])
		}
		if n := len(named(all, "h1")); n != 1 {
			t.Errorf("%d h1", n)
		}
		if titles := named(all, "title"); len(titles) == 0 || !strings.HasSuffix(text(titles[0]), " – sentonce") {
			t.Error("no title")
		}
		ids := map[string]bool{}
		for _, n := range all {
			if id := attr(n, "id"); id != "" {
				if ids[id] {
					t.Errorf("the id %q is there twice", id)
				}
				ids[id] = true
			}
		}
		for _, n := range all {
			for _, reference := range []string{"for", "aria-describedby", "aria-labelledby", "data-count"} {
				for _, id := range strings.Fields(attr(n, reference)) {
					if !ids[id] {
						t.Errorf("%s=%q leads nowhere", reference, id)
					}
				}
			}
			if target, ok := strings.CutPrefix(attr(n, "href"), "#"); ok && !ids[target] {
				t.Errorf("a link to #%s leads nowhere", target)
			}
		}
	})
}

// TestPagesKeepTheContentPolicy: no script, handler or style in the page, and no htmx attribute that would have to make a function.
func TestPagesKeepTheContentPolicy(t *testing.T) {
	t.Parallel()
	allowed := []string{"hx-get", "hx-trigger", "hx-swap"}
	eachPage(t, func(t *testing.T, _ sample.State, _ string, all []*html.Node) {
		for _, n := range all {
			if n.Data == "style" || n.Data == "script" && (attr(n, "src") == "" || n.FirstChild != nil) {
				t.Errorf("inline %s", n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "style", strings.HasPrefix(a.Key, "on"):
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				case strings.HasPrefix(a.Key, "hx-") && !slices.Contains(allowed, a.Key):
					t.Errorf("<%s %s=%q> is not among the few that are used", n.Data, a.Key, a.Val)
				case strings.Contains(a.Val, "javascript:"), strings.Contains(a.Val, "js:"):
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		}
	})
}

// TestTemplatesKeepTheContentPolicy looks at the sources, for what no sample shows.
func TestTemplatesKeepTheContentPolicy(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d templates: %v", len(files), err)
	}
	forbidden := regexp.MustCompile(`(?i)templ\.Raw|templ\.JS|<style|\sstyle=|\son[a-z]+=|hx-on|hx-vals|js:|javascript:|unsafe`)
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.FindString(string(source)); found != "" {
			t.Errorf("%s has %q", f, found)
		}
	}
}

func TestEveryFieldHasAName(t *testing.T) {
	t.Parallel()
	eachPage(t, func(t *testing.T, _ sample.State, _ string, all []*html.Node) {
		labelled := map[string]bool{}
		for _, l := range named(all, "label") {
			labelled[attr(l, "for")] = true
		}
		for _, n := range all {
			if n.Data != "input" && n.Data != "select" && n.Data != "textarea" || attr(n, "type") == "hidden" || has(n, "hidden") {
				continue
			}
			inside := false
			for p := range n.Ancestors() {
				inside = inside || p.Data == "label" && text(p) != ""
			}
			if !inside && !labelled[attr(n, "id")] && attr(n, "aria-label") == "" {
				t.Errorf("<%s name=%q> has no label", n.Data, attr(n, "name"))
			}
		}
		for _, b := range named(all, "button") {
			if text(b) == "" && attr(b, "aria-label") == "" {
				t.Errorf("a button has no name: %v", b.Attr)
			}
		}
	})
}

// TestEffectsNeverComeByLink: whatever changes something is a POST, to an address of ours that holds no number.
func TestEffectsNeverComeByLink(t *testing.T) {
	t.Parallel()
	steps := regexp.MustCompile(`/(logout|verdict|reconcile|claim|claim-next|approve|decline|delete)$`)
	number := regexp.MustCompile(`%2B\d{6}|\+\d{6}|\b\d{10,}\b`)
	eachPage(t, func(t *testing.T, _ sample.State, _ string, all []*html.Node) {
		for _, n := range all {
			for _, a := range []string{"href", "action", "formaction", "hx-get", "value"} {
				if a != "value" && number.MatchString(attr(n, a)) {
					t.Errorf("a number in an address: %s=%q", a, attr(n, a))
				}
			}
			if n.Data == "a" && steps.MatchString(attr(n, "href")) {
				t.Errorf("a link has an effect: %q", attr(n, "href"))
			}
			if n.Data != "form" {
				continue
			}
			action := attr(n, "action")
			if !strings.HasPrefix(action, "/") || strings.HasPrefix(action, "//") {
				t.Errorf("a form leads to %q", action)
			}
			if attr(n, "method") != "post" && action != views.PathNotifications && action != views.PathAudit {
				t.Errorf("the form to %q is sent by %q", action, attr(n, "method"))
			}
		}
	})
}

// TestErrorPagesSayWhatToDoAndHideTheCause covers every status that the web tier answers with a page.
func TestErrorPagesSayWhatToDoAndHideTheCause(t *testing.T) {
	t.Parallel()
	for _, status := range []int{403, 404, 409, 422, 429, 500, 503, 418} {
		e := views.ErrorOf(status, "req_1")
		html := render(t, views.ErrorPage(views.Shell{Assets: assets(t), Clock: page()}, e))
		if e.Title == "" || e.Text == "" || !strings.Contains(html, "req_1") {
			t.Errorf("%d: %+v", status, e)
		}
	}
}
