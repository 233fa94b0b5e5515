package views_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"sentonce/dispatch"
	"sentonce/views"
)

var update = flag.Bool("update", false, "write the golden files anew")

func now() time.Time { return time.Date(2026, 11, 29, 14, 10, 0, 0, time.UTC) }

func page() views.Clock {
	return views.Clock{Now: now(), Zone: time.FixedZone("CET", 3600), Name: "Europe/Berlin"}
}

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// components are the parts of pages, each in each of its states.
func components() map[string]templ.Component {
	errs := views.FieldErrors{{Field: "note", Text: "Write what you saw."}}
	all := map[string]templ.Component{
		"time-past":       views.Time(page(), now().Add(-3*time.Minute)),
		"time-future":     views.Time(page(), now().Add(40*time.Second)),
		"time-none":       views.Time(page(), time.Time{}),
		"time-in-list":    views.TimeInList(page(), now().Add(-26*time.Hour)),
		"time-utc":        views.TimeUTC(now()),
		"time-left":       views.TimeLeft(page(), now().Add(250*time.Second), views.ToneWarn),
		"id":              views.ID("ntf_01kb7v2q00x9f3m0zc8hwd5t6r", "notification id"),
		"id-none":         views.ID("", "notification id"),
		"id-link":         views.IDLink("ntf_01kb7v2q00x9f3m0zc8hwd5t6r", views.NotificationPath("ntf_01kb7v2q00x9f3m0zc8hwd5t6r")),
		"recipient":       views.Recipient(views.Masked{Country: "DE", Hint: "78", Ref: "rcp_7k2m"}),
		"recipient-gone":  views.Recipient(views.Masked{Erased: true}),
		"pager-middle":    views.PagerBar(views.Pager{Newer: "/n", Older: "/o", Shown: "25 of 10,000+"}),
		"pager-only":      views.PagerBar(views.Pager{Shown: "3 of 3"}),
		"tabs":            views.TabBar("Lists", []views.Tab{{Label: "Mine", Path: "/a", Count: "2"}, {Label: "All", Path: "/b", Current: true}}),
		"chips":           views.FilterChips([]views.Chip{{Label: "Status: Refused", Remove: "/notifications"}}, "/notifications"),
		"chips-none":      views.FilterChips(nil, "/notifications"),
		"field":           views.Field(views.Input{Name: "name", Label: "Name", Hint: "As staff read it.", Value: "Shop", Required: true, Max: 80}, nil),
		"field-password":  views.Field(views.Input{Name: "password", Label: "Password", Type: "password", Value: "never shown", Autocomplete: "current-password"}, nil),
		"textarea-fault":  views.Textarea(views.Input{Name: "note", Label: "Note", Hint: "No code.", Required: true, Max: 500}, errs),
		"select":          views.Select(views.Input{Name: "reason", Label: "Reason"}, views.ReasonCodes(), nil),
		"select-chosen":   views.Select(views.Input{Name: "reason", Label: "Reason", Value: "incident"}, views.ReasonCodes(), nil),
		"radios":          views.Radios(views.Input{Name: "next", Label: "Next", Value: "close"}, []views.Choice{{Value: "close", Label: "Close", Hint: "Nothing is sent."}, {Value: "send_again", Label: "Send again", Off: "No life is left."}}, nil),
		"checks":          views.Checks(views.Input{Name: "scopes", Label: "May"}, []views.Choice{{Value: "read", Label: "Read", Chosen: true}, {Value: "admit", Label: "Hand over"}}, nil),
		"checkline":       views.Checkline("attest", "yes", "I looked at it myself.", nil),
		"summary":         views.ErrorSummary(errs),
		"summary-none":    views.ErrorSummary(nil),
		"toggle-on":       views.Toggle("/profile/prefer", "shortcuts", "Shortcuts", true, "/profile"),
		"toggle-off":      views.Toggle("/profile/prefer", "shortcuts", "Shortcuts", false, "/profile"),
		"progress":        views.Progress(9, 14, "9 of 14 done"),
		"chart-stacked":   views.StackedChart(sampleChart()),
		"chart-lines":     views.LineChart(sampleChart()),
		"chart-empty":     views.LineChart(views.Chart{ID: "c", Title: "Ages", Finding: "No numbers yet."}),
		"chart-bars":      views.BarChart("How it ended", "Two of three.", []views.Measure{{Label: "Sent", Value: 2, Path: "/x"}, {Label: "Unknown", Value: 1}}),
		"confirm":         views.ConfirmForm(views.Confirm{Title: "Revoke a key", Action: "/clients/c/keys/k/revoke", Effects: []string{"It stops at once."}, Button: "Revoke the key", Danger: true, Back: "/clients/c", Inputs: []views.Input{{Name: "note", Label: "Why?", Required: true}}}),
		"empty-yet":       views.EmptyState(views.Empty{Kind: views.NothingYet, Title: "Nothing yet", Text: "It will stand here.", Code: "curl …"}),
		"empty-matches":   views.EmptyState(views.Empty{Kind: views.NothingMatches, Title: "Nothing matches", Text: "Take a filter away.", Links: []views.Link{{Text: "Clear all", Path: "/notifications"}}}),
		"empty-available": views.EmptyState(views.Empty{Kind: views.NotAvailable, Title: "Purged", Text: "Kept for 90 days."}),
		"newer":           views.NewerBar(views.Notifications{Newer: 12, NewerPath: "/notifications", Live: views.Live{Path: "/notifications?rev=3"}}),
		"newer-none":      views.NewerBar(views.Notifications{Live: views.Live{Path: "/notifications?rev=3"}}),
	}
	for _, tone := range []views.Tone{views.ToneInfo, views.ToneGood, views.ToneWarn, views.ToneBad} {
		all["alert-"+string(tone)] = views.AlertBox(views.Alert{Tone: tone, Title: "A title.", Text: "A text.", Links: []views.Link{{Text: "A link", Path: "/"}}})
	}
	for _, s := range dispatch.States() {
		all["status-"+string(s)] = views.StatusBadge(s)
	}
	for _, o := range dispatch.Outcomes() {
		all["outcome-"+string(o)] = views.OutcomeBadge(o)
		all["attempt-"+string(o)] = views.AttemptCard(page(), sampleAttempt(o))
	}
	return all
}

func sampleChart() views.Chart {
	return views.Chart{ID: "c", Title: "Ages", Finding: "Above the limit once.", Series: []string{"One", "Two", "Three", "Four", "Five"}, Limit: 8, LimitIs: "limit", Unit: "min",
		Bars: []views.Bar{{Label: "14:00", Span: "29 Nov 14:00 to 14:05", Values: []int{1, 2, 3, 1, 0}, Path: "/notifications?from=2026-11-29T14:00"}, {Label: "14:05", Span: "29 Nov 14:05 to 14:10", Values: []int{0, -3, 9, 0, 0}}}}
}

func sampleAttempt(o dispatch.Outcome) views.Attempt {
	a := views.Attempt{ID: "att_01kb", Number: 1, Trigger: "First send", Provider: "main", Outcome: o, StartedAt: now().Add(-time.Minute), Timeout: 10 * time.Second}
	switch o {
	case dispatch.OutcomeUnknown, dispatch.OutcomeUndetermined:
		a.Rule, a.Phase, a.FinishedAt = dispatch.R6, dispatch.PhaseWritten, now().Add(-50*time.Second)
	case dispatch.OutcomeRefused:
		a.Rule, a.Phase, a.FinishedAt = dispatch.R4, dispatch.PhaseAnswered, now().Add(-59*time.Second)
		a.Answer = views.Answer{Status: "HTTP 400", Reason: "The number does not exist.", Code: "21211", Who: "said by main"}
	case dispatch.OutcomeNotSent:
		a.Rule, a.Phase, a.FinishedAt = dispatch.R2, dispatch.PhaseConnecting, now().Add(-59*time.Second)
	case dispatch.OutcomeAccepted:
		a.Rule, a.Phase, a.FinishedAt, a.MessageID = dispatch.R8, "", now().Add(-59*time.Second), "SM3f9c"
	}
	return a
}

// TestComponentsLookAsTheyDid compares each part with the file that was reviewed. After a wanted change: go test ./views -update.
func TestComponentsLookAsTheyDid(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name, c := range components() {
		got := lines(render(t, c))
		file := filepath.Join("testdata", name+".html")
		seen[file] = true
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got != string(want) {
			t.Errorf("%s has changed:\n%s\nwant:\n%s", name, got, want)
		}
	}
	files, err := filepath.Glob("testdata/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f] {
			t.Errorf("%s belongs to no component", f)
		}
	}
}

// lines puts each tag on a line of its own, so that a difference can be read.
func lines(html string) string {
	return strings.ReplaceAll(strings.TrimSpace(html), "><", ">\n<") + "\n"
}
