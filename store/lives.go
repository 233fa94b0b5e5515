package store

import (
	"context"
	"errors"
	"time"

	"sentonce/dispatch"
)

// EndLives ends what is over; see dispatch.Lives. Each record has its own closure, so that one which cannot be read does not hold up the
// others.
func (db *DB) EndLives(ctx context.Context, unavailable bool, limit int) (moved int, err error) {
	ids, err := db.overdue(ctx, limit)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, id := range ids {
		err := db.write(ctx, "end a life", func(tx *Tx) error { return db.endLife(tx, id, unavailable) })
		switch {
		case err == nil:
			moved++
		case errors.Is(err, dispatch.ErrStale):
		case errors.Is(err, dispatch.ErrUnavailable):
			return moved, errors.Join(append(errs, err)...)
		default:
			errs = append(errs, err)
		}
	}
	return moved, errors.Join(errs...)
}

// overdue lists what may be over, each kind by its own index.
func (db *DB) overdue(ctx context.Context, limit int) (ids []dispatch.NotificationID, err error) {
	now := db.cfg.Clock.Now()
	err = db.engine.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT id FROM (SELECT id FROM notifications WHERE state = 'accepted' AND expires_at <= ? ORDER BY expires_at LIMIT ?)
			UNION ALL SELECT id FROM (SELECT id FROM notifications WHERE state = 'dispatch_unknown' AND expires_at <= ? ORDER BY expires_at LIMIT ?)
			UNION ALL SELECT id FROM (SELECT id FROM notifications WHERE state = 'sent' AND final = 0 AND stopped_at <= ?
			                          ORDER BY stopped_at LIMIT ?)
			UNION ALL SELECT id FROM (`+doubtsInStopped+`n.expires_at <= ? LIMIT ?) LIMIT ?`,
			[]any{db.unsentEnd(now).UnixMilli(), limit, now.UnixMilli(), limit, now.Add(-dispatch.ReceiptPatience).UnixMilli(), limit,
				now.UnixMilli(), limit, limit},
			func(scan func(...any) error) error {
				var id dispatch.NotificationID
				err := scan(into(id[:]))
				ids = append(ids, id)
				return err
			})
	})
	return ids, err
}

// doubtsInStopped lists notifications that evidence on an earlier attempt has stopped while a later one is in doubt: the doubt has its end,
// too. There are hardly ever any; the index holds open attempts only.
const doubtsInStopped = `SELECT n.id AS id, n.expires_at AS expires_at FROM attempts a JOIN notifications n ON n.id = a.notification
	WHERE a.outcome IN ('pending', 'unknown') AND a.outcome = 'unknown' AND n.stopped_at IS NOT NULL AND `

// unsentEnd is the latest expiry that leaves too little life for a call now. Too little is less than min_remaining, so that a life of exactly
// min_remaining may still begin a call.
func (db *DB) unsentEnd(now time.Time) time.Time {
	return now.Add(max(db.cfg.Terms().MinRemaining, time.Millisecond) - time.Millisecond)
}

func (db *DB) endLife(tx *Tx, id dispatch.NotificationID, unavailable bool) error {
	r, err := loadRecord(tx, "id = ?", blob(id))
	if err != nil {
		return err
	}
	t := db.terms(tx)
	t.Unavailable = unavailable
	c, err := r.Expire(t)
	if errors.Is(err, dispatch.ErrStale) {
		c, err = r.Finalise(tx.Now)
	}
	if err != nil {
		return err
	}
	return classify("end a life", tx.apply(r, c))
}

// NextEnd is the next instant at which something is over; see dispatch.Lives.
func (db *DB) NextEnd(ctx context.Context, now time.Time) (next time.Time, ok bool, err error) {
	var unsent, doubt, report, rest time.Time
	err = db.engine.queryRow(ctx, `SELECT
		(SELECT min(expires_at) FROM notifications WHERE state = 'accepted'),
		(SELECT min(expires_at) FROM notifications WHERE state = 'dispatch_unknown'),
		(SELECT min(stopped_at) FROM notifications WHERE state = 'sent' AND final = 0),
		(SELECT min(expires_at) FROM (`+doubtsInStopped+`1))`, nil, at(&unsent), at(&doubt), at(&report), at(&rest))
	if !unsent.IsZero() {
		unsent = unsent.Add(now.Sub(db.unsentEnd(now)))
	}
	if !report.IsZero() {
		report = report.Add(dispatch.ReceiptPatience)
	}
	for _, t := range []time.Time{unsent, doubt, report, rest} {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if !next.IsZero() && !next.After(now) {
		next = now.Add(time.Millisecond)
	}
	return next, !next.IsZero(), err
}
