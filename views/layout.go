package views

import "github.com/a-h/templ"

// htmxConfig: no style of htmx's own (the policy forbids it), no history of its own, and an answer that is an error is never put into a page.
const htmxConfig = `{"includeIndicatorCSS":false,"history":false,"noSwap":[204,304,"4xx","5xx"]}`

func themes() []string    { return []string{"auto", "light", "dark"} }
func densities() []string { return []string{"comfortable", "compact"} }

func (s Shell) theme() string {
	if s.Theme == "light" || s.Theme == "dark" {
		return s.Theme
	}
	return "auto"
}

func (s Shell) density() string {
	if s.Density == "compact" {
		return "compact"
	}
	return "comfortable"
}

func onOff(on bool) string    { return yesNo(on, "on", "off") }
func trueFalse(v bool) string { return yesNo(v, "true", "false") }

// currentPage marks the link to the page that one is on.
func currentPage(current bool) templ.Attributes {
	if current {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// alertGlyph is the drawing of an alert, so that its kind is not told by colour alone.
func alertGlyph(t Tone) Glyph {
	switch t {
	case ToneGood:
		return GlyphDone
	case ToneWarn:
		return GlyphAlert
	case ToneBad:
		return GlyphRefused
	}
	return GlyphInfo
}

// shortcuts are the keys that app.js listens for.
func shortcuts(nav []NavItem) []Fact {
	all := []Fact{{Name: "?", Text: "This list"}, {Name: "/", Text: "Search"}}
	for _, n := range nav {
		all = append(all, Fact{Name: "g " + n.Key, Text: "Go to " + n.Label})
	}
	return append(all, Fact{Name: "j  k", Text: "Next and previous row"}, Fact{Name: "x", Text: "Choose the row"},
		Fact{Name: "[  ]", Text: "Newer and older, or previous and next item"}, Fact{Name: "c", Text: "Claim"},
		Fact{Name: "l", Text: "Live updates on or off"}, Fact{Name: ".", Text: "Copy the id"})
}

// attributes let a part of a page ask for its newer self. app.js says when: it fires "tick".
func (l Live) attributes() templ.Attributes {
	if l.Path == "" {
		return nil
	}
	return templ.Attributes{"data-live": true, "hx-get": l.Path, "hx-trigger": "tick", "hx-swap": "outerMorph"}
}
