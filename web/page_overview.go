package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// span is a length of time that charts can show, in bars of whole hours.
type span struct {
	name, label string
	length, bar time.Duration
}

func spans() []span {
	return []span{{"24h", "24 h", 24 * time.Hour, time.Hour}, {"7d", "7 days", 7 * 24 * time.Hour, 6 * time.Hour},
		{"30d", "30 days", 30 * 24 * time.Hour, 24 * time.Hour}}
}

// spanOf is the span that an address names, the first one where it names none.
func spanOf(name string) span {
	for _, s := range spans() {
		if s.name == name {
			return s
		}
	}
	return spans()[0]
}

// spanTabs are the spans as a choice on a page.
func spanTabs(path string, chosen span) (tabs []views.Tab) {
	for _, s := range spans() {
		tabs = append(tabs, views.Tab{Label: s.label, Path: path + "?range=" + s.name, Current: s == chosen})
	}
	return tabs
}

// bars are the bounds of a span's bars, the newest last: it ends with the hour that is under way.
func (s span) bars(now time.Time) (starts []time.Time, end time.Time) {
	end = now.UTC().Truncate(time.Hour).Add(time.Hour)
	for t := end.Add(-s.length); t.Before(end); t = t.Add(s.bar) {
		starts = append(starts, t)
	}
	return starts, end
}

// figures are what the overview is made of.
type overviewFigures struct {
	now         store.Gauges
	providers   []dispatch.ProviderStatus
	clockPaused bool
	hours       []store.HourCount
	span        span
	lists       bool // this person may see the lists behind the numbers
	worklist    bool
	latency     *CallWindow
}

// showOverview serves GET /, and its live part: with rev, 204 while nothing has changed.
func (s *Server) showOverview(c echo.Context) error {
	f, err := s.overviewFigures(c.Request().Context(), c)
	if err != nil {
		return err
	}
	m := buildOverview(f, s.clock(c))
	rev := revisionOf(m.Tiles, m.Headline)
	if personOf(c).Live {
		m.Live = views.Live{Path: views.PathOverview + "?range=" + f.span.name + "&rev=" + strconv.FormatInt(rev, 10), Rev: rev}
	}
	if asked := c.QueryParam("rev"); asked != "" {
		if asked == strconv.FormatInt(rev, 10) {
			return c.NoContent(http.StatusNoContent)
		}
		return render(c, http.StatusOK, views.OverviewNow(m))
	}
	return render(c, http.StatusOK, views.OverviewPage(s.shell(c), m))
}

// revisionOf is a number that changes with what a part of a page shows.
func revisionOf(parts ...any) int64 {
	var sum uint32 = 2166136261 // FNV-1a
	for _, b := range []byte(fmt.Sprint(parts...)) {
		sum = (sum ^ uint32(b)) * 16777619
	}
	return int64(sum)
}

func (s *Server) overviewFigures(ctx context.Context, c echo.Context) (f overviewFigures, err error) {
	role := personOf(c).Role
	f.span, f.latency = spanOf(c.QueryParam("range")), s.deps.Calls
	f.lists, f.worklist = s.pages.maySee(role, views.PathNotifications), s.pages.maySee(role, views.PathUnknown)
	if f.now, err = s.deps.Staff.Gauges(ctx); err != nil {
		return f, err
	}
	if s.deps.Providers != nil {
		f.providers = s.deps.Providers.Status()
	}
	if s.deps.ClockPaused != nil {
		f.clockPaused = s.deps.ClockPaused()
	}
	starts, end := f.span.bars(s.deps.Clock.Now())
	f.hours, err = s.deps.Staff.Hourly(ctx, starts[0], end)
	return f, err
}

// buildOverview makes the page from its figures.
func buildOverview(f overviewFigures, clock views.Clock) views.Overview {
	m := views.Overview{Ranges: spanTabs(views.PathOverview, f.span), Tiles: tilesOf(f)}
	m.Tone, m.Headline = views.ToneGood, "Nothing needs you."
	var what []string
	for _, t := range m.Tiles {
		if t.Tone == views.ToneBad || t.Tone == views.ToneWarn {
			what = append(what, strings.ToLower(t.Label)+": "+t.Value)
			if m.Tone != views.ToneBad {
				m.Tone = t.Tone
			}
		}
	}
	if len(what) > 0 {
		m.Headline = "Look at " + strings.Join(what, ", ") + "."
	}
	m.Flow, m.Doubts = flowChart(f, clock), doubtChart(f, clock)
	m.Settled, m.Finding = settledBars(f)
	m.Age = views.Chart{ID: "age", Title: "Oldest doubt", Finding: ageFinding(f.now)}
	m.Latency = views.Chart{ID: "latency", Title: "How fast providers answer", Finding: latencyFinding(f)}
	m.Wait = views.Chart{ID: "wait", Title: "Waiting for the first call", Finding: waitFinding(f.now)}
	return m
}

func ageFinding(g store.Gauges) string {
	if g.UnknownOpen == 0 {
		return "There is none."
	}
	return "It is " + views.Duration(g.UnknownOldestAge.Truncate(time.Second)) + " old."
}

func waitFinding(g store.Gauges) string {
	if g.Waiting == 0 {
		return "Nothing waits."
	}
	return views.Plural(int(g.Waiting), "notification waits", "notifications wait") + "; the longest has been due for " + views.Duration(g.OldestDue.Truncate(time.Millisecond)) + "."
}

func latencyFinding(f overviewFigures) string {
	var parts []string
	for _, p := range f.providers {
		if l := f.latency.Of(p.Name); l.Median > 0 {
			parts = append(parts, fmt.Sprintf("%s: half within %s, 95 %% within %s", p.Name, views.Duration(l.Median), views.Duration(l.P95)))
		}
	}
	if len(parts) == 0 {
		return "There was no call since this process began."
	}
	return strings.Join(parts, "; ") + "."
}

// The ages of a doubt from which on it needs a person.
const (
	doubtWarns = time.Minute
	doubtBad   = 10 * time.Minute
)

// tilesOf are the numbers that say whether a person is needed.
func tilesOf(f overviewFigures) []views.Tile {
	tone := func(bad bool, t views.Tone) views.Tone {
		if bad {
			return t
		}
		return views.ToneNeutral
	}
	g := f.now
	age, ageTone := "none", views.ToneNeutral
	if g.UnknownOpen > 0 {
		age, ageTone = coarseAge(g.UnknownOldestAge), tone(g.UnknownOldestAge >= doubtWarns, views.ToneWarn)
		if g.UnknownOldestAge >= doubtBad {
			ageTone = views.ToneBad
		}
	}
	unavailable, held := 0, 0
	for _, p := range f.providers {
		if p.Held {
			held++
		} else if p.Unavailable {
			unavailable++
		}
	}
	tiles := []views.Tile{
		{Label: "Oldest unknown", Value: age, Note: "how long a doubt has been open", Path: f.work(), Tone: ageTone},
		{Label: "Unknown outcomes", Value: views.Count(int(g.UnknownOpen)), Note: "nothing of them is sent again", Path: f.work(), Tone: tone(g.UnknownOpen > 0, views.ToneWarn)},
		{Label: "Open incidents", Value: views.Count(int(g.IncidentsOpen)), Note: "evidence that contradicts", Path: f.work(), Tone: tone(g.IncidentsOpen > 0, views.ToneBad)},
		{Label: "Waiting to be sent", Value: views.Count(int(g.Waiting)), Note: "accepted, and not called yet", Path: f.list(store.Filter{States: []dispatch.State{dispatch.StateAccepted}}), Tone: views.ToneNeutral},
		{Label: "Providers without calls", Value: fmt.Sprintf("%d of %d", unavailable+held, len(f.providers)), Note: fmt.Sprintf("%d by themselves, %d paused by a person", unavailable, held), Path: views.PathProviders, Tone: tone(unavailable+held > 0, views.ToneBad)},
	}
	if f.clockPaused {
		tiles = append(tiles, views.Tile{Label: "The clock was set back", Value: "paused", Note: "nothing is sent until it has caught up", Tone: views.ToneBad})
	}
	return tiles
}

func coarseAge(d time.Duration) string {
	if d < time.Minute {
		return "under 1 min"
	}
	return views.Duration(d.Truncate(time.Minute))
}

func (f overviewFigures) work() string {
	if !f.worklist {
		return ""
	}
	return views.PathUnknown
}

// list is the address of a list, "" for who may not see it.
func (f overviewFigures) list(filter store.Filter) string {
	if !f.lists {
		return ""
	}
	return withQuery(views.PathNotifications, encodePairs(pairs(filter)))
}

// flowSeries are the pieces of a bar: what became of what was accepted in it.
func flowSeries() []struct {
	name   string
	states []dispatch.State
} {
	return []struct {
		name   string
		states []dispatch.State
	}{
		{"Sent", []dispatch.State{dispatch.StateSent, dispatch.StateDelivered, dispatch.StateUndelivered}},
		{"In flight", []dispatch.State{dispatch.StateAccepted, dispatch.StateDispatching}},
		{"Unknown", []dispatch.State{dispatch.StateUnknown}},
		{"Refused", []dispatch.State{dispatch.StateFailed}},
		{"Not sent", []dispatch.State{dispatch.StateExpired, dispatch.StateCancelled}},
	}
}

// sumHours adds the counters of the hours from start on, within one bar.
func (f overviewFigures) sum(start time.Time, match func(what string) bool) (n int) {
	end := start.Add(f.span.bar)
	for _, h := range f.hours {
		if !h.Hour.Before(start) && h.Hour.Before(end) && match(h.What) {
			n += h.N
		}
	}
	return n
}

// flowChart shows for each bar what became of the notifications that were accepted in it. A bar leads to just these.
func flowChart(f overviewFigures, clock views.Clock) views.Chart {
	c := views.Chart{ID: "flow", Title: "What became of what was accepted"}
	for _, s := range flowSeries() {
		c.Series = append(c.Series, s.name)
	}
	starts, _ := f.span.bars(clock.Now)
	all, sent := 0, 0
	for _, start := range starts {
		b := views.Bar{Label: barLabel(f.span, clock, start), Span: barSpan(f.span, clock, start),
			Path: f.list(store.Filter{From: start, To: start.Add(f.span.bar)})}
		for _, s := range flowSeries() {
			n := f.sum(start, func(what string) bool { return slices.Contains(s.states, dispatch.State(what)) })
			b.Values = append(b.Values, n)
			all += n
		}
		sent += b.Values[0]
		c.Bars = append(c.Bars, b)
	}
	c.Finding = fmt.Sprintf("%s accepted; %s of them sent.", views.Plural(all, "notification", "notifications"), views.Percent(sent, all))
	return c
}

// doubtChart shows how many doubts began and ended.
func doubtChart(f overviewFigures, clock views.Clock) views.Chart {
	c := views.Chart{ID: "doubts", Title: "Doubts", Series: []string{"Opened", "Settled"}}
	starts, _ := f.span.bars(clock.Now)
	opened, settled := 0, 0
	for _, start := range starts {
		b := views.Bar{Label: barLabel(f.span, clock, start), Span: barSpan(f.span, clock, start),
			Path: f.list(store.Filter{From: start, To: start.Add(f.span.bar)})}
		b.Values = []int{f.sum(start, func(what string) bool { return what == store.CountOpened }),
			f.sum(start, func(what string) bool { return strings.HasPrefix(what, store.CountSettled) })}
		opened, settled = opened+b.Values[0], settled+b.Values[1]
		c.Bars = append(c.Bars, b)
	}
	c.Finding = fmt.Sprintf("%d opened, %d settled.", opened, settled)
	return c
}

// settledBars says on what doubts were settled.
func settledBars(f overviewFigures) (all []views.Measure, finding string) {
	byGrade := map[dispatch.Grade]int{}
	total := 0
	for _, h := range f.hours {
		if grade, ok := strings.CutPrefix(h.What, store.CountSettled); ok {
			byGrade[dispatch.Grade(grade)] += h.N
			total += h.N
		}
	}
	for _, g := range dispatch.Grades() {
		if g != dispatch.GradeWire {
			words := views.GradeWords(g)
			all = append(all, views.Measure{Label: strings.ToUpper(words[:1]) + words[1:], Value: byGrade[g]})
		}
	}
	if total == 0 {
		return all, "No doubt was settled in this time."
	}
	return all, fmt.Sprintf("%s by hand.", views.Percent(byGrade[dispatch.GradeHuman], total))
}

func barLabel(s span, clock views.Clock, start time.Time) string {
	if s.bar < 24*time.Hour && s.length <= 24*time.Hour {
		return clock.In(start).Format("15:04")
	}
	return clock.In(start).Format("2 Jan")
}

func barSpan(s span, clock views.Clock, start time.Time) string {
	return clock.In(start).Format("2 Jan 15:04") + " to " + clock.In(start.Add(s.bar)).Format("2 Jan 15:04") + " " + clock.Name
}
