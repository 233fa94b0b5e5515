package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// DueLookups lists the attempts about which their provider is to be asked now; see dispatch.Doubts. Those that were never asked about come
// first, so that a slow provider does not keep anybody from a first answer; then the least life. An attempt whose number cannot be read
// is left out and gets no further question.
func (db *DB) DueLookups(ctx context.Context, now time.Time, limit int) (jobs []dispatch.LookupJob, err error) {
	var blind []dispatch.Reference
	err = db.engine.snapshot(ctx, func(q querier) error {
		refs, err := dueLookups(q, now, limit)
		for _, ref := range refs {
			job, jobErr := db.lookupJob(q, ref)
			switch {
			case errors.Is(jobErr, dispatch.ErrUnreadable):
				blind = append(blind, ref)
			case jobErr != nil:
				err = errors.Join(err, jobErr)
			default:
				jobs = append(jobs, job)
			}
		}
		return err
	})
	for _, ref := range blind {
		err = errors.Join(err, db.askNoMore(ctx, ref))
	}
	return jobs, err
}

func dueLookups(q querier, now time.Time, limit int) (refs []dispatch.Reference, err error) {
	err = q.rows(`SELECT a.notification, a.id, a.number FROM attempts a JOIN notifications n ON n.id = a.notification
		WHERE a.lookup_at <= ? ORDER BY a.lookups > 0, n.expires_at LIMIT ?`, []any{now.UnixMilli(), limit},
		func(scan func(...any) error) error {
			var r dispatch.Reference
			err := scan(into(r.Notification[:]), into(r.Attempt[:]), &r.Number)
			refs = append(refs, r)
			return err
		})
	return refs, err
}

// LookupJob makes the question about one attempt. The errors are dispatch.ErrNotFound and dispatch.ErrUnreadable.
func (db *DB) lookupJob(q querier, ref dispatch.Reference) (job dispatch.LookupJob, err error) {
	r, err := loadRecord(q, "id = ?", blob(ref.Notification))
	if err != nil {
		return job, err
	}
	a, err := r.Attempt(ref.Number)
	if err != nil {
		return job, err
	}
	number, err := db.openOne(q, "recipient", `SELECT key_no, sealed FROM sealed_recipients WHERE recipient = ?`, r.Recipient[:])
	if err != nil {
		return job, err
	}
	until := a.DeadlineAt
	if a.FinishedAt.After(until) && a.Rule != dispatch.R8 {
		until = a.FinishedAt
	}
	return dispatch.LookupJob{
		Reference: a.Ref(r.ID), Provider: a.Provider, UnknownSince: a.UnknownSince, ExpiresAt: r.ExpiresAt,
		Question: dispatch.Question{Reference: a.Ref(r.ID), Recipient: number, StartedAt: a.StartedAt, Until: until, MessageID: a.MessageID,
			SameText: func(text string) bool { return db.TextMAC(text) == r.TextMAC }},
	}, nil
}

// askNoMore ends the questions about an attempt that cannot be asked about.
func (db *DB) askNoMore(ctx context.Context, ref dispatch.Reference) error {
	return db.write(ctx, "end the lookups", func(tx *Tx) error {
		_, err := tx.exec(`UPDATE attempts SET lookup_at = NULL WHERE notification = ? AND number = ?`, blob(ref.Notification), ref.Number)
		return err
	})
}

// NextLookup is the next instant at which a question is due; see dispatch.Doubts.
func (db *DB) NextLookup(ctx context.Context, now time.Time) (next time.Time, ok bool, err error) {
	err = db.engine.queryRow(ctx, `SELECT min(lookup_at) FROM attempts WHERE lookup_at > ?`, []any{now.UnixMilli()}, at(&next))
	return next, !next.IsZero(), err
}

// RecordLookup stores a lookup and draws its conclusion; see dispatch.Doubts.
func (db *DB) RecordLookup(ctx context.Context, l dispatch.LookupReport) (result dispatch.LookupResult, err error) {
	err = db.write(ctx, "record a lookup", func(tx *Tx) error {
		result, err = db.recordLookup(tx, l)
		return err
	})
	return result, err
}

func (db *DB) recordLookup(tx *Tx, l dispatch.LookupReport) (dispatch.LookupResult, error) {
	ref, f := l.Job.Reference, l.Finding
	r, err := loadRecord(tx, "id = ?", blob(ref.Notification))
	if err != nil {
		return "", err
	}
	a, err := r.Attempt(ref.Number)
	if err != nil {
		return "", err
	}
	s := dispatch.Surroundings{Age: tx.Now.Sub(a.UnknownSince), Can: l.Can}
	if s.Bound, err = tx.boundElsewhere(a.Provider, ref, f.Candidates); err != nil {
		return "", err
	}
	if s.Rivals, err = tx.hasRivals(r.Notification, a); err != nil {
		return "", err
	}
	c := dispatch.Conclude(f, s)
	t := db.terms(tx)
	t.Schedule, t.Delay = l.Schedule, l.Delay
	row := dispatch.Lookup{Attempt: a.Number, Provider: l.Job.Provider, AskedAt: l.AskedAt, By: l.By, Candidates: len(f.Candidates),
		Pages: f.Pages, Complete: f.Complete, LaterSeen: f.LaterSeen, HTTPStatus: f.HTTPStatus, SHA256: f.SHA256}
	change, err := r.RecordLookup(row, c, l.AutoResolve, t)
	if err != nil {
		return "", err
	}
	return c.Result, classify("record a lookup", tx.apply(r, change))
}

// boundElsewhere says which of the candidates' ids belong to other attempts at the same provider.
func (tx *Tx) boundElsewhere(provider string, ref dispatch.Reference, candidates []dispatch.Candidate) (map[string]bool, error) {
	bound := map[string]bool{}
	for _, c := range candidates {
		var taken bool
		err := tx.row(`SELECT EXISTS (SELECT 1 FROM attempts WHERE message_id = ? AND provider = ? AND id <> ?)`,
			[]any{c.MessageID, provider, blob(ref.Attempt)}, &taken)
		if err != nil {
			return nil, fmt.Errorf("candidates: %w", err)
		}
		bound[c.MessageID] = taken
	}
	return bound, nil
}

// hasRivals reports whether another notification with the same number and text has an attempt at the same provider that may have made a
// message whose id nobody knows, in a call that overlapped: then a candidate could be either's.
func (tx *Tx) hasRivals(n dispatch.Notification, a dispatch.Attempt) (yes bool, err error) {
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM notifications n JOIN attempts a ON a.notification = n.id
		WHERE n.recipient = ? AND n.id <> ? AND n.text_mac = ? AND a.provider = ? AND a.message_id IS NULL
		  AND a.outcome IN ('pending', 'unknown', 'undetermined', 'accepted')
		  AND abs(a.started_at - ?) <= ?)`,
		[]any{blob(n.Recipient), blob(n.ID), n.TextMAC[:], a.Provider, ms(a.StartedAt), rivalWindow.Milliseconds()}, &yes)
	return yes, err
}

// rivalWindow is how far apart two calls can be and still be confused: providers give times in whole seconds and their clocks are off by a
// minute or two.
const rivalWindow = 10 * time.Minute
