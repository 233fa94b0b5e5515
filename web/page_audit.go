package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// auditQuery is the address of the audit log, read.
type auditQuery struct {
	filter  store.AuditFilter
	cut     store.AuditCut
	object  string
	notices []string
	errors  views.FieldErrors
	badCut  bool
}

// readAudit reads the query of /audit. Its times are in UTC.
func readAudit(values url.Values) (q auditQuery) {
	q.cut.Limit = usualRows
	for _, name := range sortedKeys(values) {
		for _, v := range values[name] {
			if v != "" && !q.take(name, v) {
				q.notices = append(q.notices, "“"+name[:min(len(name), 40)]+"” is not understood; it was left out.")
			}
		}
	}
	if !q.filter.From.IsZero() && !q.filter.To.IsZero() && !q.filter.From.Before(q.filter.To) {
		q.errors = append(q.errors, views.FieldError{Field: "to", Text: "The end must be later than the beginning."})
	}
	q.badCut = q.badCut || q.cut.Before > 0 && q.cut.After > 0
	return q
}

func (q *auditQuery) take(name, v string) (ok bool) {
	var err error
	switch name {
	case "action":
		if ok = slices.Contains(dispatch.Actions(), dispatch.Action(v)); ok {
			q.filter.Action = dispatch.Action(v)
		}
		return ok
	case "actor":
		if ok = slices.Contains(dispatch.ActorKinds(), dispatch.ActorKind(v)); ok {
			q.filter.Actor = dispatch.ActorKind(v)
		}
		return ok
	case "object":
		return q.takeObject(v)
	case "from":
		q.filter.From, err = readTime(v, time.UTC)
	case "to":
		q.filter.To, err = readTime(v, time.UTC)
	case "before":
		q.cut.Before, err = strconv.ParseInt(v, 10, 64)
		q.badCut = q.badCut || err != nil || q.cut.Before < 1
		return true
	case "after":
		q.cut.After, err = strconv.ParseInt(v, 10, 64)
		q.badCut = q.badCut || err != nil || q.cut.After < 1
		return true
	default:
		return false
	}
	return err == nil
}

// takeObject reads what the events are to be about: a notification, a client, or the person or key that acted.
func (q *auditQuery) takeObject(v string) bool {
	if id, err := dispatch.ParseNotificationID(v); err == nil {
		q.filter.Notification, q.object = id, id.String()
		return true
	}
	if id, err := dispatch.ParseClientID(v); err == nil {
		q.filter.Client, q.object = id, id.String()
		return true
	}
	if id, err := dispatch.ParseStaffID(v); err == nil {
		q.filter.Actor, q.filter.ActorID, q.object = dispatch.ActorStaff, id.String(), id.String()
		return true
	}
	if id, err := dispatch.ParseAPIKeyID(v); err == nil {
		q.filter.Actor, q.filter.ActorID, q.object = dispatch.ActorClient, id.String(), id.String()
		return true
	}
	return false
}

func (q auditQuery) pairs() (all []pair) {
	for _, p := range []pair{{"action", string(q.filter.Action)}, {"actor", string(q.filter.Actor)}, {"object", q.object},
		{"from", writeTime(q.filter.From)}, {"to", writeTime(q.filter.To)}} {
		if p.value != "" {
			all = append(all, p)
		}
	}
	return all
}

// showAudit serves GET /audit.
func (s *Server) showAudit(c echo.Context) error {
	q := readAudit(c.QueryParams())
	if q.badCut {
		return pageFail(http.StatusBadRequest, "The place in the log that the address names does not exist. Begin at the newest event.")
	}
	status, page := http.StatusOK, store.AuditPage{}
	if len(q.errors) > 0 {
		status = http.StatusBadRequest
	} else {
		var err error
		if page, err = s.deps.Staff.Audit(c.Request().Context(), q.filter, q.cut); err != nil {
			return err
		}
	}
	return render(c, status, views.AuditPage(s.shell(c), buildAudit(q, page)))
}

// buildAudit makes the page of the log from its events.
func buildAudit(q auditQuery, page store.AuditPage) views.Audit {
	utc := views.Clock{Zone: time.UTC, Name: "UTC"}
	m := views.Audit{Notices: q.notices, Errors: q.errors, Open: len(q.errors) > 0, Action: string(q.filter.Action),
		Actor: string(q.filter.Actor), Object: q.object, From: localTime(q.filter.From, utc), To: localTime(q.filter.To, utc)}
	for _, a := range dispatch.Actions() {
		m.Actions = append(m.Actions, views.Choice{Value: string(a), Label: actionWords(a)})
	}
	for _, k := range dispatch.ActorKinds() {
		m.Actors = append(m.Actors, views.Choice{Value: string(k), Label: actorKindWords(k)})
	}
	for _, ev := range page.Events {
		m.Rows = append(m.Rows, auditRow(ev, page.Names))
	}
	all := q.pairs()
	for i, p := range all {
		rest := slices.Delete(slices.Clone(all), i, i+1)
		m.Chips = append(m.Chips, views.Chip{Label: auditChip(p), Remove: withQuery(views.PathAudit, encodePairs(rest))})
	}
	m.Pager = auditPager(q, page)
	if page.Reached > 0 {
		m.Notices = append(m.Notices, fmt.Sprintf("Looked through the events from number %d on. Older ones are on the next page.", page.Reached))
	}
	if len(m.Rows) == 0 && page.Reached == 0 {
		m.Empty = &views.Empty{Kind: views.NothingMatches, Title: "No event matches", Text: "Take one of the filters away, or all.",
			Links: []views.Link{{Text: "Clear all", Path: views.PathAudit}}}
	}
	return m
}

func auditPager(q auditQuery, page store.AuditPage) (p views.Pager) {
	p.Shown = views.Plural(len(page.Events), "event", "events")
	query := encodePairs(q.pairs())
	to := func(name string, seq int64) string {
		return withQuery(views.PathAudit, joinQuery(query, name+"="+strconv.FormatInt(seq, 10)))
	}
	newest, oldest := page.Reached, page.Reached
	if n := len(page.Events); n > 0 {
		newest = page.Events[0].Seq
		if oldest == 0 || q.cut.After > 0 {
			oldest = page.Events[n-1].Seq
		}
	}
	if page.Newer && newest > 0 {
		p.Newer = to("after", newest)
	}
	if page.Older && oldest > 0 {
		p.Older = to("before", oldest)
	}
	return p
}

func auditChip(p pair) string {
	switch p.name {
	case "action":
		return actionWords(dispatch.Action(p.value))
	case "actor":
		return actorKindWords(dispatch.ActorKind(p.value))
	case "from":
		return "From " + p.value
	case "to":
		return "Before " + p.value
	}
	return p.value
}

func actorKindWords(k dispatch.ActorKind) string {
	switch k {
	case dispatch.ActorClient:
		return "A storefront"
	case dispatch.ActorStaff:
		return "A member of staff"
	case dispatch.ActorWorker:
		return "This service"
	case dispatch.ActorProvider:
		return "A provider"
	case dispatch.ActorOperator:
		return "An operator"
	}
	return string(k)
}

// auditRow is one event of the log.
func auditRow(ev dispatch.Event, names store.Names) views.AuditRow {
	r := views.AuditRow{Seq: ev.Seq, At: ev.At, Action: actionWords(ev.Action), RequestID: ev.RequestID}
	r.Who, r.How = actorName(ev.By, ev.Client, names)
	switch {
	case !ev.Notification.IsZero():
		r.Object = ev.Notification.String()
		r.Path = views.NotificationPath(r.Object)
	case ev.Provider != "":
		r.Object = ev.Provider
	case !ev.Client.IsZero():
		r.Object = orID(names.Clients[ev.Client], ev.Client.String())
	}
	r.Detail = auditDetail(ev)
	return r
}

// auditDetail says in a few words what an event changed and why.
func auditDetail(ev dispatch.Event) (text string) {
	add := func(part string) {
		if text != "" && part != "" {
			text += "; "
		}
		text += part
	}
	if ev.From != "" {
		add(views.StatusOf(ev.From).Word + " → " + views.StatusOf(ev.To).Word)
	}
	if ev.Reason != "" {
		add(views.ReasonWords(ev.Reason))
	}
	if ev.Attempt > 0 && ev.Outcome != "" {
		add(fmt.Sprintf("attempt %d: %s", ev.Attempt, views.OutcomeOf(ev.Outcome).Word))
	}
	if ev.Grade != "" {
		add(views.GradeWords(ev.Grade))
	}
	if ev.Cause != "" {
		add(ev.Cause)
	}
	if ev.Count != 0 {
		add("count " + strconv.FormatInt(ev.Count, 10))
	}
	return text
}

// showEvidence serves GET /evidence.
func (s *Server) showEvidence(c echo.Context) error {
	return render(c, http.StatusOK, views.EvidencePage(s.shell(c)))
}
