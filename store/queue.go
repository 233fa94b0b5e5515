package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"sentonce/dispatch"
)

// Due lists what is due in turns over the clients; see dispatch.Queue.
func (db *DB) Due(ctx context.Context, now time.Time, after dispatch.ClientID, limit int) (all []dispatch.Waiting, err error) {
	err = db.engine.snapshot(ctx, func(q querier) error {
		clients, err := waitingClients(q)
		if err != nil {
			return err
		}
		lines := make([][]dispatch.Waiting, len(clients))
		for i, c := range startingAfter(clients, after) {
			if lines[i], err = dueOf(q, c, now, limit); err != nil {
				return err
			}
		}
		all = inTurns(lines, limit)
		return refusals(q, all)
	})
	return all, err
}

// waitingClients lists the clients that have anything waiting, by one index probe each.
func waitingClients(q querier) (clients []dispatch.ClientID, err error) {
	err = q.rows(`WITH RECURSIVE c (client) AS (
			SELECT min(client) FROM notifications WHERE state = 'accepted'
			UNION ALL
			SELECT (SELECT min(client) FROM notifications WHERE state = 'accepted' AND client > c.client) FROM c WHERE c.client IS NOT NULL)
		SELECT client FROM c WHERE client IS NOT NULL`, nil,
		func(scan func(...any) error) error {
			var c dispatch.ClientID
			err := scan(into(c[:]))
			clients = append(clients, c)
			return err
		})
	return clients, err
}

// startingAfter turns the list so that the client behind `after` comes first.
func startingAfter(clients []dispatch.ClientID, after dispatch.ClientID) []dispatch.ClientID {
	i := slices.IndexFunc(clients, func(c dispatch.ClientID) bool { return bytes.Compare(c[:], after[:]) > 0 })
	if i <= 0 {
		return clients
	}
	return slices.Concat(clients[i:], clients[:i])
}

func dueOf(q querier, c dispatch.ClientID, now time.Time, limit int) (line []dispatch.Waiting, err error) {
	err = q.rows(`SELECT id, due_at, expires_at, version FROM notifications WHERE state = 'accepted' AND client = ? AND due_at <= ?
		ORDER BY due_at LIMIT ?`, []any{blob(c), now.UnixMilli(), limit},
		func(scan func(...any) error) error {
			w := dispatch.Waiting{Client: c}
			err := scan(into(w.ID[:]), at(&w.DueAt), at(&w.ExpiresAt), &w.Version)
			line = append(line, w)
			return err
		})
	return line, err
}

// inTurns takes one of each line, round after round.
func inTurns(lines [][]dispatch.Waiting, limit int) (all []dispatch.Waiting) {
	for round := 0; ; round++ {
		taken := false
		for _, line := range lines {
			if round < len(line) {
				if len(all) == limit {
					return all
				}
				all, taken = append(all, line[round]), true
			}
		}
		if !taken {
			return all
		}
	}
}

// refusals fills in which providers refused a message for themselves; a notification without an attempt has none.
func refusals(q querier, all []dispatch.Waiting) error {
	for i, w := range all {
		if w.Version <= 1 {
			continue
		}
		r, err := loadRecord(q, "id = ?", blob(w.ID))
		if errors.Is(err, dispatch.ErrUnreadable) {
			continue // the claim deals with it; it must not hold up the others
		}
		if err != nil {
			return err
		}
		all[i].RefusedBy = r.RefusedBy()
		all[i].Attempts = len(r.Attempts)
	}
	return nil
}

// NextDue is the next instant at which something becomes due; see dispatch.Queue.
func (db *DB) NextDue(ctx context.Context, now time.Time) (next time.Time, ok bool, err error) {
	err = db.engine.snapshot(ctx, func(q querier) error {
		clients, err := waitingClients(q)
		for _, c := range clients {
			var due time.Time
			err = errors.Join(err, q.row(`SELECT min(due_at) FROM notifications WHERE state = 'accepted' AND client = ? AND due_at > ?`,
				[]any{blob(c), now.UnixMilli()}, at(&due)))
			if !due.IsZero() && (next.IsZero() || due.Before(next)) {
				next = due
			}
		}
		return err
	})
	return next, !next.IsZero(), err
}

// Claim spends a permit; see dispatch.Queue. The text is opened before the transaction, so that a row which cannot be read costs no permit.
func (db *DB) Claim(ctx context.Context, o dispatch.ClaimOrder) (job dispatch.Job, err error) {
	err = db.engine.snapshot(ctx, func(q querier) error {
		r, err := loadRecord(q, "id = ?", blob(o.ID))
		if err != nil {
			return err
		}
		if r.State != dispatch.StateAccepted {
			return fmt.Errorf("claim in state %s: %w", r.State, dispatch.ErrStale)
		}
		job.Text, job.Recipient, err = db.open(q, r.Notification)
		return err
	})
	if errors.Is(err, dispatch.ErrUnreadable) {
		return job, errors.Join(err, db.setAside(ctx, o.ID))
	}
	if err != nil {
		return job, err
	}
	id, err := dispatch.NewID[dispatch.AttemptID](db.cfg.Clock.Now(), rand.Reader)
	if err != nil {
		return job, err
	}
	var stopped error
	err = db.write(ctx, "claim", func(tx *Tx) error {
		stopped, err = db.claim(tx, o, id, &job)
		return err
	})
	return job, errors.Join(err, stopped)
}

// claim returns stopped when the record may not be sent any more; that it has been stopped is then committed.
func (db *DB) claim(tx *Tx, o dispatch.ClaimOrder, id dispatch.AttemptID, job *dispatch.Job) (stopped, err error) {
	r, err := loadRecord(tx, "id = ?", blob(o.ID))
	if err != nil {
		return nil, err
	}
	life := r.Life(tx.Now)
	timeout := dispatch.CallDeadline(o.Timeout, life).Truncate(time.Millisecond)
	validity, fits := dispatch.Validity(o.Timeout, life, o.Can)
	terms := db.terms(tx)
	if !fits && life >= terms.MinRemaining {
		return nil, fmt.Errorf("claim for %s: its life is shorter than the provider can express: %w", o.Provider, dispatch.ErrStale)
	}
	a := dispatch.Attempt{ID: id, Provider: o.Provider, DeadlineAt: tx.Now.Add(timeout), Validity: validity}
	c, stopped := r.Start(a, terms)
	if stopped != nil && !errors.Is(stopped, dispatch.ErrStopped) {
		return nil, stopped
	}
	if err := tx.apply(r, c); err != nil {
		return nil, classify("claim", err)
	}
	number := len(r.Permits)
	job.Reference = dispatch.Reference{Notification: r.ID, Attempt: id, Number: number}
	job.Provider, job.StartedAt, job.ExpiresAt, job.Timeout, job.Validity = o.Provider, tx.Now, r.ExpiresAt, timeout, validity
	return stopped, nil
}

// terms is what the rules need of the policy and the moment.
func (db *DB) terms(tx *Tx) dispatch.Terms {
	p := db.cfg.Terms()
	return dispatch.Terms{Now: tx.Now, MinRemaining: p.MinRemaining, MaxAttempts: p.MaxAttempts}
}

func (db *DB) setAside(ctx context.Context, id dispatch.NotificationID) error {
	return db.write(ctx, "set aside", func(tx *Tx) error {
		r, err := loadRecord(tx, "id = ?", blob(id))
		if err != nil {
			return err
		}
		c, err := r.SetAside(tx.Now)
		if err != nil {
			return err
		}
		return tx.apply(r, c)
	})
}

// MayStillSend is asked before the first byte; see dispatch.Queue.
func (db *DB) MayStillSend(ctx context.Context, ref dispatch.Reference) error {
	return db.engine.snapshot(ctx, func(q querier) error {
		r, err := loadRecord(q, "id = ?", blob(ref.Notification))
		if err != nil {
			return err
		}
		p := db.cfg.Terms()
		return r.MayStillSend(ref.Number, dispatch.Terms{Now: db.cfg.Clock.Now(), MinRemaining: p.MinRemaining})
	})
}

// Finish stores a result; see dispatch.Queue.
func (db *DB) Finish(ctx context.Context, ref dispatch.Reference, x dispatch.Exchange, f dispatch.FinishFacts) error {
	return db.write(ctx, "finish", func(tx *Tx) error {
		r, err := loadRecord(tx, "id = ?", blob(ref.Notification))
		if err != nil {
			return err
		}
		t := db.terms(tx)
		t.Delay, t.Schedule, t.Elsewhere, t.NoReceipts, t.Unavailable = f.Delay, f.Schedule, f.Elsewhere, f.NoReceipts, f.Unavailable
		c, err := r.Finish(ref.Number, x, t)
		if err != nil {
			return err
		}
		return classify("finish", tx.apply(r, c))
	})
}

// Recover turns what a dead process left pending into unknown. It runs once, after the lock is taken and before anything is dispatched.
// schedule gives a provider's ages for lookups. It returns how many attempts it found.
func (db *DB) Recover(ctx context.Context, schedule func(provider string) []time.Duration) (int, error) {
	var ids []dispatch.NotificationID
	err := db.engine.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT notification FROM attempts WHERE outcome IN ('pending', 'unknown') AND outcome = 'pending'`, nil, func(scan func(...any) error) error {
			var id dispatch.NotificationID
			err := scan(into(id[:]))
			ids = append(ids, id)
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := db.write(ctx, "recover", func(tx *Tx) error { return db.interrupt(tx, id, schedule) }); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

func (db *DB) interrupt(tx *Tx, id dispatch.NotificationID, schedule func(string) []time.Duration) error {
	r, err := loadRecord(tx, "id = ?", blob(id))
	if err != nil {
		return err
	}
	t := db.terms(tx)
	if a, ok := r.OpenAttempt(); ok {
		t.Schedule = schedule(a.Provider)
	}
	c, err := r.Interrupt(t)
	if err != nil {
		return err
	}
	return tx.apply(r, c)
}
