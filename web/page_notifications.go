package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// pathNewer asks how many rows a list has by now that are newer than its first: the filter's parameters, newest and rev.
const pathNewer = views.PathNotifications + "/newer"

// showList serves GET /notifications.
func (s *Server) showList(c echo.Context) error {
	q := readList(c.QueryParams(), zoneOf(c))
	if q.badCut {
		return pageFail(http.StatusBadRequest, "The place in the list that the address names does not exist. Begin at the newest row.")
	}
	if len(q.notices)+len(q.errors) == 0 && c.Request().URL.RawQuery != q.whole() {
		return seeOther(c, withQuery(views.PathNotifications, q.whole()))
	}
	status := http.StatusOK
	if len(q.errors) > 0 {
		status = http.StatusBadRequest
	}
	m, err := s.list(c, q)
	if err != nil {
		return err
	}
	return render(c, status, views.NotificationsPage(s.shell(c), m))
}

// zoneOf is the zone in which a person reads and writes times.
func zoneOf(c echo.Context) *time.Location {
	if z := personOf(c).Zone; z != nil {
		return z
	}
	return time.UTC
}

// listing is what the page of a list is made of.
type listing struct {
	query    listQuery
	page     store.Page
	total    int
	clients  map[dispatch.ClientID]string
	purposes []string
	saved    []store.View
	who      person
	names    []string // of the providers
}

func (s *Server) list(c echo.Context, q listQuery) (m views.Notifications, err error) {
	ctx, st := c.Request().Context(), s.deps.Staff
	l := listing{query: q, who: personOf(c), names: s.providerNames()}
	if l.clients, err = st.ClientNames(ctx); err != nil {
		return m, err
	}
	if l.purposes, err = st.Purposes(ctx); err != nil {
		return m, err
	}
	if l.saved, err = st.Views(ctx, l.who.ID); err != nil {
		return m, err
	}
	if len(q.errors) == 0 {
		if l.page, err = st.List(ctx, q.filter, q.cut); err != nil {
			return m, err
		}
		if l.total, err = st.CountList(ctx, q.filter, store.CountedTo); err != nil {
			return m, err
		}
	}
	return buildList(l, s.clock(c)), nil
}

func (s *Server) providerNames() (names []string) {
	if s.deps.Providers == nil {
		return nil
	}
	for _, p := range s.deps.Providers.Status() {
		names = append(names, p.Name)
	}
	return names
}

// buildList makes the page of a list from its records.
func buildList(l listing, clock views.Clock) views.Notifications {
	q := l.query
	m := views.Notifications{Query: q.query(), Notices: q.notices, Filter: buildFilter(l, clock), Chips: buildChips(l, clock),
		MayShare: l.who.Role == store.RoleCompliance, Pager: buildPager(l)}
	m.Views, m.Unsaved = buildViews(l, clock)
	for _, r := range l.page.Rows {
		m.Rows = append(m.Rows, buildRow(r, l.clients[r.Client]))
	}
	first := q.cut.Before.IsZero() && q.cut.After.IsZero()
	if first && l.who.Live && len(q.errors) == 0 && len(l.page.Rows) > 0 {
		m.Live = newerLive(q, l.page.Rows[0].ID, 0)
		m.NewerPath = withQuery(views.PathNotifications, q.query())
	}
	if len(m.Rows) == 0 {
		m.Empty = emptyList(q)
	}
	return m
}

func newerLive(q listQuery, newest dispatch.NotificationID, rev int) views.Live {
	query := joinQuery(q.query(), encodePairs([]pair{{"newest", newest.String()}, {"rev", strconv.Itoa(rev)}}))
	return views.Live{Path: withQuery(pathNewer, query), Rev: int64(rev)}
}

func emptyList(q listQuery) *views.Empty {
	if q.query() == "" {
		return &views.Empty{Kind: views.NothingYet, Title: "No notification yet",
			Text: "As soon as a storefront hands over an event, it stands here.",
			Code: "curl -X POST …/v1/notifications -H 'Authorization: Bearer snt_…' -H 'Idempotency-Key: k-1' -d @event.json"}
	}
	return &views.Empty{Kind: views.NothingMatches, Title: "Nothing matches these filters", Text: "Take one of them away, or all.",
		Links: []views.Link{{Text: "Clear all", Path: views.PathNotifications}}}
}

// buildRow is one line of the list.
func buildRow(r store.Row, client string) views.NotificationRow {
	return views.NotificationRow{ID: r.ID.String(), AcceptedAt: r.AcceptedAt, State: r.State, Note: rowNote(r), Purpose: r.Purpose,
		Recipient: views.Masked{Country: r.Country, Hint: r.Hint, Ref: r.Recipient.String()}, Attempts: r.Attempts, Provider: r.Provider,
		ExpiresAt: r.ExpiresAt, Client: client, Incident: r.Incident}
}

// rowNote says under the state what the state does not.
func rowNote(r store.Row) string {
	switch {
	case r.Withdrawn && !r.State.Stopped():
		return "withdrawn; waits for the outcome"
	case r.State == dispatch.StateAccepted && r.Attempts > 0:
		return "not sent so far; waits for the next call"
	case r.State == dispatch.StateSent || r.State == dispatch.StateDelivered || r.State == dispatch.StateUndelivered || r.Reason == "":
		return ""
	}
	return views.ReasonWords(r.Reason)
}

func buildPager(l listing) (p views.Pager) {
	p.Shown = fmt.Sprintf("%s of %s", views.Count(len(l.page.Rows)), views.Capped(l.total, store.CountedTo))
	if len(l.page.Rows) == 0 {
		return p
	}
	query := l.query.query()
	if l.page.Newer {
		p.Newer = withQuery(views.PathNotifications, joinQuery(query, encodePairs(cursor("after", l.page.Rows[0].ID))))
	}
	if l.page.Older {
		p.Older = withQuery(views.PathNotifications, joinQuery(query, encodePairs(cursor("before", l.page.Rows[len(l.page.Rows)-1].ID))))
	}
	return p
}

// buildChips are the applied filters, each with the address that takes it away.
func buildChips(l listing, clock views.Clock) (chips []views.Chip) {
	all := pairs(l.query.filter)
	for i, p := range all {
		rest := slices.Delete(slices.Clone(all), i, i+1)
		chips = append(chips, views.Chip{Label: chipLabel(p, l, clock), Remove: withQuery(views.PathNotifications, encodePairs(rest))})
	}
	return chips
}

func chipLabel(p pair, l listing, clock views.Clock) string {
	f := l.query.filter
	switch p.name {
	case "state":
		return views.StatusOf(dispatch.State(p.value)).Word
	case "reason":
		return "Because " + views.ReasonWords(f.Reason)
	case "provider":
		return "Provider " + p.value
	case "client":
		return "Client " + orID(l.clients[f.Client], p.value)
	case "purpose":
		return "Purpose " + p.value
	case "recipient":
		return "Recipient " + p.value
	case "id":
		return p.value
	case "from":
		return "From " + clock.Exact(f.From) + " " + clock.Name
	case "to":
		return "Before " + clock.Exact(f.To) + " " + clock.Name
	}
	return "At least " + views.Plural(f.Attempts, "attempt", "attempts")
}

func orID(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

// buildFilter is the form of filters.
func buildFilter(l listing, clock views.Clock) views.NotificationFilter {
	f := l.query.filter
	m := views.NotificationFilter{ReasonValue: string(f.Reason), ProviderValue: f.Provider, ClientValue: f.Client.String(),
		PurposeValue: f.Purpose, Recipient: f.Recipient.String(), From: localTime(f.From, clock), To: localTime(f.To, clock),
		Open: len(l.query.errors) > 0, Errors: l.query.errors}
	if f.Attempts > 0 {
		m.Attempts = strconv.Itoa(f.Attempts)
	}
	for _, s := range dispatch.States() {
		m.States = append(m.States, views.Choice{Value: string(s), Label: views.StatusOf(s).Word, Chosen: slices.Contains(f.States, s)})
	}
	for _, r := range dispatch.Reasons() {
		m.Reason = append(m.Reason, views.Choice{Value: string(r), Label: views.ReasonWords(r), Chosen: r == f.Reason})
	}
	for _, name := range withValue(l.names, f.Provider) {
		m.Provider = append(m.Provider, views.Choice{Value: name, Label: name})
	}
	for _, p := range withValue(l.purposes, f.Purpose) {
		m.Purpose = append(m.Purpose, views.Choice{Value: p, Label: p})
	}
	for id, name := range l.clients {
		m.Client = append(m.Client, views.Choice{Value: id.String(), Label: name})
	}
	slices.SortFunc(m.Client, func(a, b views.Choice) int { return strings.Compare(a.Label, b.Label) })
	return m
}

// withValue adds the chosen value to a list that has it not (any more).
func withValue(all []string, v string) []string {
	if v == "" || slices.Contains(all, v) {
		return all
	}
	return append(slices.Clone(all), v)
}

func localTime(t time.Time, clock views.Clock) string {
	if t.IsZero() {
		return ""
	}
	return clock.In(t).Format("2006-01-02T15:04")
}

// buildViews are the lists that everybody has and those that were saved; unsaved says that the filter is none of them.
func buildViews(l listing, clock views.Clock) (all []views.SavedView, unsaved bool) {
	query := l.query.query()
	midnight := clock.In(clock.Now)
	midnight = time.Date(midnight.Year(), midnight.Month(), midnight.Day(), 0, 0, 0, 0, midnight.Location())
	for _, v := range []struct {
		name string
		f    store.Filter
	}{
		{"All", store.Filter{}},
		{"In flight", store.Filter{States: []dispatch.State{dispatch.StateAccepted, dispatch.StateDispatching}}},
		{"Unknown", store.Filter{States: []dispatch.State{dispatch.StateUnknown}}},
		{"Expired today", store.Filter{States: []dispatch.State{dispatch.StateExpired}, From: midnight, To: midnight.AddDate(0, 0, 1)}},
		{"Called more than once", store.Filter{Attempts: 2}},
	} {
		all = append(all, views.SavedView{Name: v.name, Path: withQuery(views.PathNotifications, encodePairs(pairs(v.f))), Current: encodePairs(pairs(v.f)) == query})
	}
	for _, v := range l.saved {
		all = append(all, views.SavedView{ID: v.ID.String(), Name: v.Name, Path: withQuery(views.PathNotifications, v.Query), Shared: v.Shared,
			Own: v.Owner == l.who.ID, Current: v.Query == query})
	}
	return all, !slices.ContainsFunc(all, func(v views.SavedView) bool { return v.Current })
}

// showNewer serves the bar "N newer – show": 204 while nothing has come since the page asked last.
func (s *Server) showNewer(c echo.Context) error {
	values := c.QueryParams()
	newest, err := dispatch.ParseNotificationID(values.Get("newest"))
	rev, revErr := strconv.Atoi(values.Get("rev"))
	values.Del("newest")
	values.Del("rev")
	q := readList(values, zoneOf(c))
	if err != nil || revErr != nil || q.badCut || len(q.errors)+len(q.notices) > 0 {
		return pageFail(http.StatusBadRequest, "The address of the live part is not understood.")
	}
	n, err := s.deps.Staff.CountNewer(c.Request().Context(), q.filter, newest, store.CountedTo)
	if err != nil {
		return err
	}
	if n == rev {
		return c.NoContent(http.StatusNoContent)
	}
	return render(c, http.StatusOK, views.NewerBar(views.Notifications{Newer: n, NewerPath: withQuery(views.PathNotifications, q.query()),
		Live: newerLive(q, newest, n)}))
}

// saveView keeps the list under a name: name, query, shared.
func (s *Server) saveView(c echo.Context) error {
	form, err := formOf(c)
	if err != nil {
		return err
	}
	name, who := strings.TrimSpace(form.Get("name")), personOf(c)
	values, err := url.ParseQuery(form.Get("query"))
	q := readList(values, time.UTC)
	if err != nil || name == "" || len([]rune(name)) > 40 || len(q.notices)+len(q.errors) > 0 || len(q.query()) > 2000 {
		return pageFail(http.StatusUnprocessableEntity, "A view needs a name of at most 40 characters and filters that this list knows.")
	}
	if q.cut = (store.Cut{Limit: q.cut.Limit}); q.badCut {
		return pageFail(http.StatusUnprocessableEntity, "A view keeps filters, not a place in the list.")
	}
	shared := form.Get("shared") == "yes" && who.Role == store.RoleCompliance
	if _, err := s.deps.Staff.SaveView(c.Request().Context(), store.View{Owner: who.ID, Name: name, Query: q.query(), Shared: shared}); err != nil {
		return err
	}
	s.flash(c, "The view is saved.")
	return seeOther(c, withQuery(views.PathNotifications, q.query()))
}

// deleteView forgets one of the person's own views.
func (s *Server) deleteView(c echo.Context) error {
	id, err := dispatch.ParseViewID(c.Param("id"))
	if err == nil {
		err = s.deps.Staff.DeleteView(c.Request().Context(), personOf(c).ID, id)
	}
	if err != nil {
		return fmt.Errorf("view: %w", err)
	}
	s.flash(c, "The view is deleted.")
	return seeOther(c, views.PathNotifications)
}

// foundIDs is the address of a list of these notifications only.
func foundIDs(ids []dispatch.NotificationID) string {
	return withQuery(views.PathNotifications, encodePairs(pairs(store.Filter{IDs: ids})))
}

// noteSearch writes that somebody searched, and for what kind of thing.
func (s *Server) noteSearch(ctx context.Context, c echo.Context, kind string) error {
	return s.deps.Staff.Note(ctx, dispatch.Event{By: personOf(c).actor(), Action: dispatch.ActionSearched, Cause: kind, RequestID: callOf(c).id})
}
