package web

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// worklist is the page of the doubts. With a revision in its address it answers whether the list is still what the page shows.
func (s *Server) worklist(c echo.Context) error {
	w, strange := readWorkList(c.QueryParams(), personOf(c).ID)
	shown := w.Limit
	w.Limit++
	ctx := c.Request().Context()
	items, err := s.deps.Staff.Worklist(ctx, w)
	if err != nil {
		return err
	}
	rev := revision(items)
	if seen := c.QueryParam(paramRev); seen != "" {
		return s.worklistChanged(c, w, seen == strconv.FormatInt(rev, 10))
	}
	b := workBuilder{query: w, who: decider(c), now: s.deps.Clock.Now()}
	if b.counts, err = s.deps.Staff.WorkCounts(ctx, w); err != nil {
		return err
	}
	if b.bursts, err = s.deps.Staff.Bursts(ctx); err != nil {
		return err
	}
	sh := s.shell(c)
	if len(strange) > 0 {
		sh.Banners = append(sh.Banners, views.Alert{Tone: views.ToneWarn, Title: "A part of the address was not understood",
			Text: "It was left out: " + strings.Join(strange, ", ") + "."})
	}
	return render(c, http.StatusOK, views.WorklistPage(sh, b.page(items, shown, rev)))
}

func (s *Server) worklistChanged(c echo.Context, w store.WorkQuery, same bool) error {
	if same {
		return c.NoContent(http.StatusNoContent)
	}
	m := views.Worklist{Query: queryOf(w), Changed: "The list has changed", Live: views.Live{Path: c.Request().URL.RequestURI()}}
	return render(c, http.StatusOK, views.WorklistChanged(m))
}

// revision is one figure for what a page of the list shows.
func revision(items []store.WorkItem) int64 {
	h := fnv.New64a()
	for _, i := range items {
		fmt.Fprint(h, i.ID, i.State, i.Outcome, i.Claim.Staff, i.ProposalBy, i.IncidentOpen, i.LastLookup)
	}
	return int64(h.Sum64() >> 1)
}

// workBuilder makes the model of the page.
type workBuilder struct {
	query  store.WorkQuery
	who    dispatch.Person
	now    time.Time
	counts store.WorkCounts
	bursts []store.Burst
}

func (b workBuilder) page(items []store.WorkItem, shown int, rev int64) views.Worklist {
	query := queryOf(b.query)
	m := views.Worklist{Open: b.counts.ByTab[store.WorkAll], Summary: b.summary(), Tabs: b.tabs(), Query: query,
		Matches: b.counts.ByTab[b.query.Tab], MayAct: b.who.MayDecide()}
	m.Live = views.Live{Path: views.PathUnknown + "?" + query + "&" + paramRev + "=" + strconv.FormatInt(rev, 10), Rev: rev}
	if b.query.After != (store.WorkKey{}) {
		m.Live.Path = ""
		m.Pager.Newer = views.PathUnknown + "?" + query
	}
	if len(items) > shown {
		items = items[:shown]
		m.Pager.Older = views.PathUnknown + "?" + query + "&" + paramAfter + "=" + writeKey(items[shown-1].Key)
	}
	m.Pager.Shown = views.Plural(len(items), "item", "items")
	if len(items) == 0 {
		m.Empty = b.empty()
		return m
	}
	m.Groups = b.groups(items)
	return m
}

func (b workBuilder) summary() string {
	open := b.counts.ByTab[store.WorkAll]
	if open == 0 {
		return "Nothing is open: what became of every call is known."
	}
	text := capped(open) + " open, the oldest for " + views.Duration(b.counts.Oldest)
	if n := b.counts.ByTab[store.WorkApproval]; n > 0 {
		text += "; " + capped(n) + " wait for approval"
	}
	return text + "."
}

// capped is a count that ends at the limit of counting.
func capped(n int) string {
	if n > store.WorkCountLimit {
		return views.Count(store.WorkCountLimit) + "+"
	}
	return views.Count(n)
}

func tabLabel(t store.WorkTab) string {
	switch t {
	case store.WorkMine:
		return "Mine"
	case store.WorkFree:
		return "Unclaimed"
	case store.WorkApproval:
		return "Waiting for approval"
	case store.WorkAuto:
		return "Auto-running"
	case store.WorkNever:
		return "Expired, not yet known"
	case store.WorkResolved:
		return "Resolved"
	}
	return "All open"
}

func (b workBuilder) tabs() (all []views.Tab) {
	for _, t := range store.WorkTabs() {
		tab := views.Tab{Label: tabLabel(t), Path: views.PathUnknown + "?" + paramTab + "=" + string(t), Current: t == b.query.Tab}
		if n, counted := b.counts.ByTab[t]; counted {
			tab.Count = capped(n)
		}
		all = append(all, tab)
	}
	return all
}

func (b workBuilder) empty() *views.Empty {
	if b.query.Tab != store.WorkAll || b.query.Provider != "" || !b.query.Window.IsZero() {
		return &views.Empty{Kind: views.NothingMatches, Title: "Nothing in this list", Text: "“" + tabLabel(b.query.Tab) + "” holds nothing now.",
			Links: []views.Link{{Text: "Show all that is open", Path: views.PathUnknown}}}
	}
	return &views.Empty{Kind: views.NothingYet, Title: "Nothing is unknown",
		Text: "A call to a provider that ends without a definite answer appears here, until it is known what became of it."}
}

// groups puts the rows of a burst together, at the place of the most urgent one; the others keep their order.
func (b workBuilder) groups(items []store.WorkItem) (all []views.WorkGroup) {
	at := map[int]int{} // burst to group
	rest := -1          // the group that takes single rows at the moment
	for _, item := range items {
		row := b.row(item)
		n := b.burstOf(item)
		if n < 0 {
			if rest < 0 {
				all, rest = append(all, views.WorkGroup{}), len(all)
			}
			all[rest].Rows = append(all[rest].Rows, row)
			continue
		}
		g, known := at[n]
		if !known {
			all, g, rest = append(all, b.burstGroup(b.bursts[n])), len(all), -1
			at[n] = g
		}
		all[g].Rows = append(all[g].Rows, row)
	}
	return all
}

// burstOf is the burst to which an open item belongs, -1 for none.
func (b workBuilder) burstOf(item store.WorkItem) int {
	for n, burst := range b.bursts {
		since := item.Since.Sub(burst.Window)
		if item.State == dispatch.StateUnknown && item.Provider == burst.Provider && since >= 0 && since < store.BurstWindow {
			return n
		}
	}
	return -1
}

func (b workBuilder) burstGroup(burst store.Burst) views.WorkGroup {
	w := store.WorkQuery{Tab: store.WorkAll, Provider: burst.Provider, Window: burst.Window}
	text := fmt.Sprintf("%s through %s, begun within %s", views.Plural(burst.Count, "item", "items"), burst.Provider,
		views.Duration(max(burst.Last.Sub(burst.First), time.Second)))
	return views.WorkGroup{Burst: text, Review: views.PathUnknown + "?" + queryOf(w)}
}

func (b workBuilder) row(i store.WorkItem) views.WorkRow {
	r := views.WorkRow{ID: i.ID.String(), State: i.State, ExpiresAt: i.ExpiresAt, Urgency: urgency(i.ExpiresAt.Sub(b.now)), Since: i.Since,
		NextLookup: i.NextLookup, Provider: i.Provider, Phase: i.Phase, Proposal: i.ProposalBy, Incident: i.IncidentOpen,
		Recipient: views.Masked{Country: i.Country, Hint: i.Hint, Ref: i.Recipient.String(), Erased: i.Hint == ""}}
	if i.LastLookup != "" {
		r.LastAnswer = views.LookupWords(i.LastLookup)
	}
	if i.State != dispatch.StateUnknown || i.Outcome != dispatch.OutcomeUnknown {
		r.Note = views.OutcomeOf(i.Outcome).Word
	} else if !i.WithdrawnAt.IsZero() {
		r.Note = "Withdrawn: no further call is possible"
	}
	r.Claim = views.Claim{By: i.Claim.Name, Mine: i.Claim.Staff == b.who.ID && !b.who.ID.IsZero(), Until: i.Claim.Until,
		MayClaim: b.who.MayDecide() && (i.Outcome == dispatch.OutcomeUnknown || i.Outcome == dispatch.OutcomeUndetermined)}
	return r
}

const (
	almostOver = time.Minute
	soonOver   = 3 * time.Minute
)

func urgency(life time.Duration) views.Tone {
	switch {
	case life <= 0:
		return views.ToneMuted
	case life < almostOver:
		return views.ToneBad
	case life < soonOver:
		return views.ToneWarn
	}
	return views.ToneNeutral
}

// claim takes, gives back or takes over one item.
func (s *Server) claim(c echo.Context) error {
	id, err := notificationID(c)
	if err != nil {
		return err
	}
	form, err := formOf(c)
	if err != nil {
		return err
	}
	order := store.ClaimOrder{Notification: id, By: decider(c), Step: store.ClaimStep(form.Get("action")), Note: strings.TrimSpace(form.Get("note")),
		RequestID: callOf(c).id}
	done := map[store.ClaimStep]string{store.ClaimTake: "You work on it now.", store.ClaimRelease: "You have released it.",
		store.ClaimTakeOver: "You have taken it over."}[order.Step]
	if done == "" {
		return pageFail(http.StatusUnprocessableEntity, "The form does not say what to do. Nothing was changed.")
	}
	err = s.deps.Staff.WorkOn(c.Request().Context(), order)
	var incomplete *dispatch.FormError
	switch {
	case errors.As(err, &incomplete):
		return s.noteMissing(c, id, order.Note, incomplete)
	case err != nil:
		return s.decisionFailed(c, id, err, order.Note)
	}
	s.flash(c, done)
	return seeOther(c, views.NotificationPath(id.String()))
}

// claimNext takes the most urgent item that nobody has.
func (s *Server) claimNext(c echo.Context) error {
	id, err := s.deps.Staff.ClaimNext(c.Request().Context(), decider(c), callOf(c).id)
	if errors.Is(err, dispatch.ErrNotFound) {
		s.flash(c, "There is nothing unclaimed.")
		return seeOther(c, views.PathUnknown)
	}
	if err != nil {
		return err
	}
	s.flash(c, "You work on it now.")
	return seeOther(c, views.NotificationPath(id.String()))
}

const (
	bulkPace  = 500 * time.Millisecond // how soon a decision for many begins after it was made
	bulkRetry = 5 * time.Second        // after an error of the store
)

// RunBulks carries out decisions for many until ctx ends. What is left is carried out by the next run: everything that it has to know is stored.
func (s *Server) RunBulks(ctx context.Context) error {
	if s.deps.Staff == nil {
		<-ctx.Done()
		return nil
	}
	timer := time.NewTimer(bulkPace)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		wait := bulkPace
		more, err := s.deps.Staff.BulkStep(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			s.deps.Log.Warn("a decision for many goes on later", "error", err)
			wait = bulkRetry
		case more:
			wait = 0
		}
		timer.Reset(wait)
	}
}

// idsOf reads the rows that were chosen; what is no id is left out, because it names nothing.
func idsOf(form url.Values) (ids []dispatch.NotificationID) {
	for _, text := range form["id"] {
		if id, err := dispatch.ParseNotificationID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
