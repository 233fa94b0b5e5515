package views

import (
	"time"

	"sentonce/dispatch"
)

// Assets gives the hashed address of a file of package static.
type Assets interface {
	URL(name string) string
}

// Shell is what every page has around it. The web tier makes one for each request.
type Shell struct {
	Assets      Assets
	Clock       Clock
	Environment Environment
	User        *User // nil: nobody is signed in, and the page has no navigation
	Nav         []NavItem
	Path        string // of this page with its query: where a preference form comes back to; never holds a number
	Query       string // what the search box shows; never a number
	Theme       string // "auto", "light", "dark"
	Density     string // "comfortable", "compact"
	Live        bool   // the person wants pages to follow what happens
	KeysOff     bool   // the person has turned single-key shortcuts off
	Version     string
	Banners     []Alert // what concerns everybody, e.g. quarantine
	Flash       *Alert  // what came of the last action
}

// Environment says where one is; it is shown as a text.
type Environment struct {
	Name string // e.g. "PRODUCTION"
	Live bool   // messages reach customers
}

// User is the person who is signed in.
type User struct {
	Name, Email, Role string // the role as a word, e.g. "Support"
}

// NavItem is one entry of the navigation. Who sees which is decided by the web tier.
type NavItem struct {
	Label, Path string
	Glyph       Glyph
	Key         string // the second key of the shortcut "g …"
	Group       string // a heading above it, "" for none
	Count       int    // 0: none is shown
	CountOf     string // what the count counts, for those who hear it: "open"
	Current     bool
}

// Navigation lists every entry in its order, without counts and without a current one.
func Navigation() []NavItem {
	return []NavItem{
		{Label: "Overview", Path: PathOverview, Glyph: GlyphOverview, Key: "o"},
		{Label: "Notifications", Path: PathNotifications, Glyph: GlyphList, Key: "n"},
		{Label: "Unknown", Path: PathUnknown, Glyph: GlyphUnknown, Key: "u", CountOf: "open"},
		{Label: "Evidence", Path: PathEvidence, Glyph: GlyphEvidence, Key: "e", Group: "Proof"},
		{Label: "Audit log", Path: PathAudit, Glyph: GlyphAudit, Key: "a"},
		{Label: "Providers", Path: PathProviders, Glyph: GlyphProviders, Key: "p", Group: "Operation"},
		{Label: "Clients and keys", Path: PathClients, Glyph: GlyphKey, Key: "c"},
		{Label: "Staff", Path: PathStaff, Glyph: GlyphPeople, Key: "t"},
		{Label: "Settings", Path: PathSettings, Glyph: GlyphSettings, Key: "s"},
	}
}

// Alert is a message in a box. Its tone is info, good, warn or bad.
type Alert struct {
	Tone  Tone
	Title string
	Text  string
	Links []Link
}

// Link is a text with an address.
type Link struct{ Text, Path string }

// FieldError is one fault of a form, in words that say how to mend it.
type FieldError struct{ Field, Text string }

// FieldErrors are the faults of one form, in the order of its fields.
type FieldErrors []FieldError

// Of is the fault of a field, "" when it has none.
func (e FieldErrors) Of(field string) string {
	for _, f := range e {
		if f.Field == field {
			return f.Text
		}
	}
	return ""
}

// Masked is a recipient as everybody sees it.
type Masked struct {
	Country string // ISO 3166-1 alpha-2, "" when it has none
	Hint    string // the last two digits
	Ref     string // the pseudonym, rcp_…
	Erased  bool
}

// Pager leads to the neighbouring pages of a keyset.
type Pager struct {
	Newer, Older string // addresses; "" at the end
	Shown        string // e.g. "25 of 10,000+"
}

// Live makes a part of a page follow what happens: the part asks Path again, which answers 204 while Rev is the newest. A finished part has no
// Path.
type Live struct {
	Path string // holds the revision, e.g. "/unknown?tab=all&rev=81"
	Rev  int64
}

// Chip is an applied filter with the address that takes it away.
type Chip struct{ Label, Remove string }

// Tab is one of the lists of a page.
type Tab struct {
	Label, Path string
	Count       string
	Current     bool
}

// Empty says why there is nothing to see; the three kinds are NothingYet, NothingMatches and NotAvailable.
type Empty struct {
	Kind  EmptyKind
	Title string
	Text  string
	Code  string // an example to paste
	Links []Link
}

// EmptyKind is one of the three reasons for an empty list.
type EmptyKind string

// The kinds.
const (
	NothingYet     EmptyKind = "nothing-yet"     // what will appear here
	NothingMatches EmptyKind = "nothing-matches" // the filters leave nothing
	NotAvailable   EmptyKind = "not-available"   // purged, or not for this role
)

// Fact is a name and its value. At most one of the values is set.
type Fact struct {
	Name  string
	Text  string
	Time  time.Time
	ID    string // shown with a copy button, which needs Name
	State dispatch.State
	Path  string // a link around Text
}
