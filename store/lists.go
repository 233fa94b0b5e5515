package store

import (
	"context"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// Filter says which notifications a list shows. Zero members filter nothing; together they all hold.
type Filter struct {
	IDs       []dispatch.NotificationID // these only, e.g. what a search found
	States    []dispatch.State          // any of them
	Reason    dispatch.Reason
	Provider  string // an attempt was made there
	Client    dispatch.ClientID
	Purpose   string
	Recipient dispatch.RecipientRef
	From, To  time.Time // accepted in [From, To)
	Attempts  int       // at least so many
}

// Cut says which stretch of a list is read: the newest rows, those older than Before, or those newer than After and nearest to it. At most one
// of the two is set. Ids order by time, and equal times by chance but always alike, so that no row is skipped or shown twice.
type Cut struct {
	Before, After dispatch.NotificationID
	Limit         int
}

// Row is one notification of a list.
type Row struct {
	ID         dispatch.NotificationID
	Client     dispatch.ClientID
	Purpose    string
	Recipient  dispatch.RecipientRef
	Country    string
	Hint       string
	State      dispatch.State
	Reason     dispatch.Reason
	Final      bool
	AcceptedAt time.Time
	ExpiresAt  time.Time
	Withdrawn  bool
	Attempts   int
	Provider   string // of the last attempt
	Incident   bool   // one is open
}

// Page is one stretch of a list, newest first.
type Page struct {
	Rows         []Row
	Newer, Older bool // there are more on that side
}

// List reads one stretch of a list. It counts nothing and passes over nothing: the time it takes is that of its rows, as long as one member of
// the filter alone, or the range of time, is narrow enough.
func (db *DB) List(ctx context.Context, f Filter, c Cut) (p Page, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		s, err := f.source(q)
		if err != nil {
			return err
		}
		rows, err := s.rows(q, c.Before, c.After, c.Limit+1)
		if err != nil {
			return err
		}
		more := len(rows) > c.Limit
		p.Rows = rows[:min(len(rows), c.Limit)]
		if !c.After.IsZero() {
			reverse(p.Rows)
			p.Newer, p.Older = more, true
			return nil
		}
		p.Newer, p.Older = !c.Before.IsZero(), more
		return nil
	})
	return p, err
}

func reverse(rows []Row) {
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
}

// CountList counts a list up to a limit; limit + 1 means "more than that".
func (db *DB) CountList(ctx context.Context, f Filter, limit int) (int, error) {
	return db.countAfter(ctx, f, dispatch.NotificationID{}, limit)
}

// CountNewer counts the rows of a list that are newer than one of them, up to a limit; limit + 1 means "more than that".
func (db *DB) CountNewer(ctx context.Context, f Filter, than dispatch.NotificationID, limit int) (int, error) {
	return db.countAfter(ctx, f, than, limit)
}

func (db *DB) countAfter(ctx context.Context, f Filter, than dispatch.NotificationID, limit int) (n int, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		s, err := f.source(q)
		if err != nil {
			return err
		}
		query, args := s.ids(dispatch.NotificationID{}, than, limit+1)
		return q.row(`SELECT count(*) FROM (`+query+`)`, args, &n)
	})
	return n, err
}

// Neighbours are the rows of a list before and after one of them; zero at an end.
func (db *DB) Neighbours(ctx context.Context, f Filter, id dispatch.NotificationID) (newer, older dispatch.NotificationID, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		s, err := f.source(q)
		if err != nil {
			return err
		}
		read := func(before, after dispatch.NotificationID, dst *dispatch.NotificationID) error {
			query, args := s.ids(before, after, 1)
			return q.rows(query, args, func(scan func(...any) error) error { return scan(into(dst[:])) })
		}
		if err := read(dispatch.NotificationID{}, id, &newer); err != nil {
			return err
		}
		return read(id, dispatch.NotificationID{}, &older)
	})
	return newer, older, err
}

const rowColumns = `n.id, n.client, n.purpose, n.recipient, n.country, n.hint, n.state, n.reason, n.final, n.accepted_at, n.expires_at,
	n.withdrawn_at IS NOT NULL, (SELECT max(number) FROM attempts WHERE notification = n.id),
	(SELECT provider FROM attempts WHERE notification = n.id ORDER BY number DESC LIMIT 1),
	EXISTS (SELECT 1 FROM incidents WHERE notification = n.id AND closed_at IS NULL)`

func scanRow(scan func(...any) error) (r Row, err error) {
	err = scan(into(r.ID[:]), into(r.Client[:]), &r.Purpose, into(r.Recipient[:]), &r.Country, &r.Hint, &r.State, opt(&r.Reason), &r.Final,
		at(&r.AcceptedAt), at(&r.ExpiresAt), &r.Withdrawn, opt(&r.Attempts), opt(&r.Provider), &r.Incident)
	return r, err
}

func (s source) rows(q querier, before, after dispatch.NotificationID, limit int) (rows []Row, err error) {
	ids, args := s.ids(before, after, limit)
	order := "DESC"
	if !after.IsZero() {
		order = "ASC"
	}
	err = q.rows(`SELECT `+rowColumns+` FROM (`+ids+`) p CROSS JOIN notifications n ON n.id = p.id ORDER BY p.id `+order, args,
		func(scan func(...any) error) error {
			r, err := scanRow(scan)
			rows = append(rows, r)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return rows, nil
}
