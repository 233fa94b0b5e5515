package browsertest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// visitor is a person at a browser of their own, with one page open.
type visitor struct {
	t    *testing.T
	w    *world
	ctx  playwright.BrowserContext
	page playwright.Page

	mu         sync.Mutex
	complaints []string // of the console, in the order in which they came
}

// visit opens a browser that nobody has used; change may alter it.
func visit(t *testing.T, change ...func(*playwright.BrowserNewContextOptions)) *visitor {
	t.Helper()
	v := &visitor{t: t, w: theWorld(t)}
	options := playwright.BrowserNewContextOptions{BaseURL: playwright.String(v.w.product.base), ReducedMotion: playwright.ReducedMotionReduce,
		Viewport: &playwright.Size{Width: 1280, Height: 900}}
	for _, c := range change {
		c(&options)
	}
	var err error
	v.ctx, err = v.w.browser.NewContext(options)
	v.must(err)
	t.Cleanup(func() {
		if err := v.ctx.Close(); err != nil {
			t.Error(err)
		}
	})
	v.ctx.SetDefaultTimeout(patience)
	v.ctx.SetDefaultNavigationTimeout(patience)
	v.page, err = v.ctx.NewPage()
	v.must(err)
	v.page.OnConsole(func(m playwright.ConsoleMessage) {
		if m.Type() == "error" {
			v.complain(m.Text())
		}
	})
	v.page.OnPageError(func(err error) { v.complain(err.Error()) })
	return v
}

// withoutScripts switches JavaScript off.
func withoutScripts(o *playwright.BrowserNewContextOptions) {
	o.JavaScriptEnabled = playwright.Bool(false)
}

// signedIn opens a browser and signs in through the form.
func signedIn(t *testing.T, role string, change ...func(*playwright.BrowserNewContextOptions)) *visitor {
	t.Helper()
	v := visit(t, change...)
	v.open("/login")
	v.must(v.page.GetByLabel("E-mail address").Fill(role + "@example.org"))
	v.must(v.page.GetByLabel("Password").Fill(password))
	v.submits(v.button("Sign in"), 200)
	v.shows("main h1", "")
	return v
}

func (v *visitor) complain(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.complaints = append(v.complaints, text)
}

// quiet demands that the console has said nothing wrong since the last time.
func (v *visitor) quiet() {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.complaints) > 0 {
		v.t.Errorf("%s: the console complains: %s", v.page.URL(), strings.Join(v.complaints, "\n"))
	}
	v.complaints = nil
}

func (v *visitor) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatalf("%v\n%s", err, v.where())
	}
}

// where is the address, and what the page says of itself and its faults, for a failing test.
func (v *visitor) where() string {
	if v.page == nil {
		return ""
	}
	found, err := v.page.Evaluate(`() => [...document.querySelectorAll("main h1, main .alert, main .wrong")].map((e) => e.innerText).join(" | ")`)
	if err != nil {
		return v.page.URL() + ": " + err.Error()
	}
	return fmt.Sprintf("at %s: %.800v", v.page.URL(), found)
}

// open goes to an address, which must answer with a page.
func (v *visitor) open(path string) {
	v.t.Helper()
	res, err := v.page.Goto(path)
	v.must(err)
	if res.Status() != 200 {
		v.t.Fatalf("%s answered %d: %s", path, res.Status(), v.where())
	}
}

func (v *visitor) button(name string) playwright.Locator {
	return v.page.GetByRole("button", playwright.PageGetByRoleOptions{Name: name, Exact: playwright.Bool(true)})
}

// submits presses something that leads to another page, which must have this status.
func (v *visitor) submits(target playwright.Locator, want int) {
	v.t.Helper()
	v.leads(func() error { return target.Click() }, want)
}

// leads does something that leads to another page, which must have this status.
func (v *visitor) leads(do func() error, want int) {
	v.t.Helper()
	//lint:ignore SA1019 a form may answer at its own address, which WaitForURL would take for an answer before it comes
	res, err := v.page.ExpectNavigation(do)
	v.must(err)
	if res.Status() != want {
		v.t.Fatalf("the answer is %d, want %d; %s", res.Status(), want, v.where())
	}
}

// shows waits until an element with that text is to be seen.
func (v *visitor) shows(selector, text string) {
	v.t.Helper()
	options := playwright.PageLocatorOptions{}
	if text != "" {
		options.HasText = text
	}
	if err := v.page.Locator(selector, options).First().WaitFor(); err != nil {
		v.t.Fatalf("no %q with %q: %v; %s", selector, text, err, v.where())
	}
}

// absent demands that the page has no such element now.
func (v *visitor) absent(selector string) {
	v.t.Helper()
	count, err := v.page.Locator(selector).Count()
	v.must(err)
	if count > 0 {
		v.t.Errorf("there is %q: %s", selector, v.where())
	}
}

// accessible runs the checker of accessibility over the page as it is.
func (v *visitor) accessible(what string) {
	v.t.Helper()
	_, err := v.page.Evaluate(v.w.axe)
	v.must(err)
	v.axe(what, map[string]any{"type": "tag", "values": []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"}})
}

func (v *visitor) axe(what string, only map[string]any) {
	v.t.Helper()
	found, err := v.page.Evaluate(`async (only) => {
		const result = await axe.run(document, {resultTypes: ["violations"], runOnly: only});
		return result.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.target.join(" ") + ": " +
			(n.any[0] ?? n.all[0] ?? n.none[0])?.message));
	}`, only)
	v.must(err)
	for _, fault := range found.([]any) {
		v.t.Errorf("%s, %s: %v", v.page.URL(), what, fault)
	}
}
