package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// showNotification serves GET /notifications/{id}, and its live parts: with rev, 204 while nothing has happened since.
func (s *Server) showNotification(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return pageFail(http.StatusNotFound, "This is not the id of a notification: those begin with ntf_ and have 26 characters behind it.")
	}
	if c.QueryParam("rev") != "" {
		return s.notificationPart(c, id)
	}
	m, err := s.notificationPage(c, id)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.NotificationPage(s.shell(c), m))
}

// notificationPart answers a part of the page that asks for its newer self.
func (s *Server) notificationPart(c echo.Context, id dispatch.NotificationID) error {
	newest, err := s.deps.Staff.NewestEvent(c.Request().Context(), id)
	if err != nil {
		return err
	}
	if c.QueryParam("rev") == strconv.FormatInt(newest, 10) {
		return c.NoContent(http.StatusNoContent)
	}
	m, err := s.notificationPage(c, id)
	if err != nil {
		return err
	}
	if c.Request().Header.Get("HX-Target") == "story" || c.QueryParam("part") == "story" {
		return render(c, http.StatusOK, views.NotificationStory(s.clock(c), m))
	}
	return render(c, http.StatusOK, views.NotificationHead(s.clock(c), m))
}

// notificationPage builds the page of one notification for the person who is signed in.
func (s *Server) notificationPage(c echo.Context, id dispatch.NotificationID) (views.Notification, error) {
	ctx := c.Request().Context()
	st, err := s.deps.Staff.Story(ctx, id)
	if err != nil {
		return views.Notification{}, fmt.Errorf("timeline: %w", err)
	}
	m := buildStory(st, s.deps.Clock.Now())
	arrange(&m, c.QueryParams())
	if personOf(c).Live && (!st.Final || m.Head.State == dispatch.StateUnknown) && len(st.Events) > 0 {
		rev := st.Events[len(st.Events)-1].Seq
		m.Live = views.Live{Path: withQuery(views.NotificationPath(m.ID), joinQuery(arrangement(c.QueryParams()), "rev="+strconv.FormatInt(rev, 10))), Rev: rev}
	}
	if err := s.neighbours(c, id, &m); err != nil {
		return m, err
	}
	return m, s.decisionPart(c, id, &m)
}

// arrangement is how a person wants to see the timeline, as a canonical query.
func arrangement(values url.Values) string {
	var all []pair
	if values.Get("order") == "newest" {
		all = append(all, pair{"order", "newest"})
	}
	if values.Get("only") == "decisions" {
		all = append(all, pair{"only", "decisions"})
	}
	if list := values.Get("list"); list != "" {
		all = append(all, pair{"list", list})
	}
	return encodePairs(all)
}

// arrange turns the timeline as the address says.
func arrange(m *views.Notification, values url.Values) {
	with := func(name, value string) string {
		other := url.Values{"order": values["order"], "only": values["only"], "list": values["list"]}
		other.Set(name, value)
		return withQuery(views.NotificationPath(m.ID), arrangement(other))
	}
	m.Newest = values.Get("order") == "newest"
	m.Order = with("order", map[bool]string{true: "", false: "newest"}[m.Newest])
	some := values.Get("only") == "decisions"
	m.Only = []views.Tab{{Label: "Everything", Path: with("only", ""), Current: !some},
		{Label: "Calls and decisions", Path: with("only", "decisions"), Current: some}}
	if some {
		m.Entries = slices.DeleteFunc(m.Entries, func(e views.Entry) bool {
			return e.Call == nil && e.Word != actionWords(dispatch.ActionVerdictRecorded) && e.Word != actionWords(dispatch.ActionAccepted)
		})
	}
	if m.Newest {
		slices.Reverse(m.Entries)
	}
}

// neighbours leads to the rows before and after within the list that the reader came from; without one, within all.
func (s *Server) neighbours(c echo.Context, id dispatch.NotificationID, m *views.Notification) error {
	var q listQuery
	list := c.QueryParam("list")
	if values, err := url.ParseQuery(list); err == nil && list != "" {
		q = readList(values, zoneOf(c))
		m.Back = views.Link{Text: "Back to the list", Path: withQuery(views.PathNotifications, q.query())}
	}
	if len(q.errors) > 0 {
		q.filter = store.Filter{}
	}
	newer, older, err := s.deps.Staff.Neighbours(c.Request().Context(), q.filter, id)
	if err != nil {
		return fmt.Errorf("neighbours: %w", err)
	}
	query := ""
	if list != "" {
		query = encodePairs([]pair{{"list", list}})
	}
	if !newer.IsZero() {
		m.Newer = withQuery(views.NotificationPath(newer.String()), query)
	}
	if !older.IsZero() {
		m.Older = withQuery(views.NotificationPath(older.String()), query)
	}
	return nil
}
