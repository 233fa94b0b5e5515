package store

import (
	"context"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// AuditFilter says which events the log shows. Zero members filter nothing.
type AuditFilter struct {
	Action       dispatch.Action
	Actor        dispatch.ActorKind
	ActorID      string // of that actor
	Client       dispatch.ClientID
	Notification dispatch.NotificationID
	From, To     time.Time // in [From, To)
}

// AuditCut says which stretch is read, by the number of the event; see Cut.
type AuditCut struct {
	Before, After int64
	Limit         int
}

// AuditPage is one stretch of the log, newest first.
type AuditPage struct {
	Events       []dispatch.Event
	Newer, Older bool
	// Reached is how far was looked when fewer rows than the limit were found and the log goes on there: 0: to its end. The next page begins
	// behind it.
	Reached int64
	Names   Names
}

// auditWindow is how many events are looked at for one page where no index serves the filter.
const auditWindow = 50_000

// Audit reads one stretch of the log. Where no index serves the filter it looks at a window of events and says how far it got, so that no page
// takes longer than another.
func (db *DB) Audit(ctx context.Context, f AuditFilter, c AuditCut) (p AuditPage, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		a := auditQuery{f: f, cut: c}
		if err := a.bound(q); err != nil {
			return err
		}
		query, args := a.statement()
		events, err := readEvents(q, query, args...)
		if err != nil {
			return err
		}
		p = a.page(events)
		p.Names, err = namesOf(q, p.Events)
		return err
	})
	return p, err
}

// auditQuery is a filter with the numbers between which it can find anything.
type auditQuery struct {
	f        AuditFilter
	cut      AuditCut
	low      int64 // the least number looked at
	high     int64 // the first number not looked at
	windowed bool  // low or high is the window's end, not the filter's
}

// bound fixes the range of numbers: the cut, the time, and the window where no index helps.
func (a *auditQuery) bound(q querier) error {
	var newest int64
	if err := q.row(`SELECT coalesce(max(seq), 0) FROM events`, nil, &newest); err != nil {
		return err
	}
	a.low, a.high = 1, newest+1
	if !a.f.From.IsZero() {
		seq, err := seqAt(q, a.f.From, newest)
		if err != nil {
			return err
		}
		a.low = max(a.low, seq-lateEvents)
	}
	if !a.f.To.IsZero() {
		seq, err := seqAt(q, a.f.To, newest)
		if err != nil {
			return err
		}
		a.high = min(a.high, seq+lateEvents)
	}
	if a.cut.Before > 0 {
		a.high = min(a.high, a.cut.Before)
	}
	if a.cut.After > 0 {
		a.low = max(a.low, a.cut.After+1)
	}
	if a.indexed() || a.high-a.low <= auditWindow {
		return nil
	}
	a.windowed = true
	if a.cut.After > 0 {
		a.high = a.low + auditWindow
	} else {
		a.low = a.high - auditWindow
	}
	return nil
}

// lateEvents is by how many numbers an event can stand later than its time says: one that was noted late carries the time at which it
// happened.
const lateEvents = 1000

// seqAt is the number of the first event at or after an instant, as far as the log is in the order of time.
func seqAt(q querier, t time.Time, newest int64) (int64, error) {
	low, high := int64(1), newest+1
	for low < high {
		middle := low + (high-low)/2
		var at int64
		if err := q.row(`SELECT at FROM events WHERE seq = ?`, []any{middle}, &at); err != nil {
			return 0, fmt.Errorf("event %d: %w", middle, err)
		}
		if at < t.UnixMilli() {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// common are the actions that belong to every notification and therefore have no index.
func common(a dispatch.Action) bool {
	switch a {
	case dispatch.ActionAccepted, dispatch.ActionDispatchStarted, dispatch.ActionAttemptFinished:
		return true
	}
	return false
}

func person(k dispatch.ActorKind) bool {
	return k == dispatch.ActorStaff || k == dispatch.ActorOperator
}

func (a *auditQuery) indexed() bool {
	return !a.f.Notification.IsZero() || a.f.Action != "" && !common(a.f.Action) || person(a.f.Actor)
}

// statement reads one more row than the limit, in the direction of the cut.
func (a *auditQuery) statement() (query string, args []any) {
	f := a.f
	from, where := `FROM events NOT INDEXED`, `seq >= ? AND seq < ?`
	args = []any{a.low, a.high}
	and := func(sql string, v any) {
		where += ` AND ` + sql
		args = append(args, v)
	}
	switch {
	case !f.Notification.IsZero():
		from = `FROM events INDEXED BY events_notification`
		where += ` AND notification IS NOT NULL`
	case f.Action != "" && !common(f.Action):
		from = `FROM events INDEXED BY events_action`
		where += ` AND action NOT IN ('accepted', 'dispatch_started', 'attempt_finished')`
	case person(f.Actor):
		from = `FROM events INDEXED BY events_people`
		where += ` AND by_kind IN ('staff', 'operator')`
	}
	if !f.Notification.IsZero() {
		and(`notification = ?`, blob(f.Notification))
	}
	if f.Action != "" {
		and(`action = ?`, string(f.Action))
	}
	if f.Actor != "" {
		and(`by_kind = ?`, string(f.Actor))
	}
	if f.ActorID != "" {
		and(`by_id = ?`, f.ActorID)
	}
	if !f.Client.IsZero() {
		and(`client = ?`, blob(f.Client))
	}
	if !f.From.IsZero() {
		and(`at >= ?`, f.From.UnixMilli())
	}
	if !f.To.IsZero() {
		and(`at < ?`, f.To.UnixMilli())
	}
	order := ` DESC`
	if a.cut.After > 0 {
		order = ` ASC`
	}
	return from + ` WHERE ` + where + ` ORDER BY seq` + order + ` LIMIT ?`, append(args, a.cut.Limit+1)
}

func (a *auditQuery) page(events []dispatch.Event) (p AuditPage) {
	more := len(events) > a.cut.Limit
	p.Events = events[:min(len(events), a.cut.Limit)]
	cutShort := a.windowed && !more
	if a.cut.After > 0 {
		for i, j := 0, len(p.Events)-1; i < j; i, j = i+1, j-1 {
			p.Events[i], p.Events[j] = p.Events[j], p.Events[i]
		}
		p.Newer, p.Older = more || cutShort, true
		if cutShort {
			p.Reached = a.high - 1
		}
		return p
	}
	p.Newer, p.Older = a.cut.Before > 0, more || cutShort
	if cutShort {
		p.Reached = a.low
	}
	return p
}
