package store

import (
	"fmt"
	"strings"
	"time"

	"sentonce/dispatch"
)

const notificationColumns = `id, client, event_id, idempotency_key, purpose, subject, recipient, country, hint, text_mac, encoding,
	segments, accepted_at, expires_at, occurred_at, state, reason, version, final, due_at, withdrawn_at, withdrawn_reason, stopped_at, stopped_kind, stopped_id,
	replays, last_seq`

func scanNotification(scan func(...any) error) (n dispatch.Notification, err error) {
	err = scan(into(n.ID[:]), into(n.Client[:]), &n.EventID, &n.IdempotencyKey, &n.Purpose, into(n.Subject[:]), into(n.Recipient[:]),
		&n.Country, &n.Hint, into(n.TextMAC[:]), &n.Encoding, &n.Segments, at(&n.AcceptedAt), at(&n.ExpiresAt), at(&n.OccurredAt), &n.State, opt(&n.Reason),
		&n.Version, &n.Final, at(&n.DueAt), at(&n.WithdrawnAt), opt(&n.WithdrawnReason), at(&n.StoppedAt),
		opt(&n.StoppedBy.Kind), opt(&n.StoppedBy.ID), &n.Replays, &n.LastSeq)
	return n, err
}

// loadRecord reads a notification with its permits, attempts and incidents. where selects one row, e.g. "id = ?".
func loadRecord(q querier, where string, args ...any) (dispatch.Record, error) {
	var r dispatch.Record
	found := false
	err := q.rows(`SELECT `+notificationColumns+` FROM notifications WHERE `+where, args, func(scan func(...any) error) (err error) {
		found = true
		r.Notification, err = scanNotification(scan)
		return err
	})
	if err != nil {
		return r, fmt.Errorf("notification: %w", err)
	}
	if !found {
		return r, fmt.Errorf("notification: %w", dispatch.ErrNotFound)
	}
	err = loadParts(q, &r)
	return r, err
}

// loadParts leaves out what the first version cannot have: attempts and incidents come with a later one.
func loadParts(q querier, r *dispatch.Record) error {
	id := blob(r.ID)
	err := q.rows(`SELECT n, granted_at, spent_at, void_at FROM permits WHERE notification = ? ORDER BY n`, []any{id},
		func(scan func(...any) error) error {
			var p dispatch.Permit
			err := scan(&p.Number, at(&p.GrantedAt), at(&p.SpentAt), at(&p.VoidAt))
			r.Permits = append(r.Permits, p)
			return err
		})
	if err != nil {
		return fmt.Errorf("permits: %w", err)
	}
	if r.Version <= 1 {
		return nil
	}
	err = q.rows(`SELECT `+attemptColumns+` FROM attempts WHERE notification = ? ORDER BY number`, []any{id},
		func(scan func(...any) error) error {
			a, err := scanAttempt(scan)
			r.Attempts = append(r.Attempts, a)
			return err
		})
	if err != nil {
		return fmt.Errorf("attempts: %w", err)
	}
	err = q.rows(`SELECT id, kind, attempt, opened_at, closed_at, closed_kind, closed_id, why FROM incidents WHERE notification = ?
		ORDER BY opened_at, id`, []any{id},
		func(scan func(...any) error) error {
			var i dispatch.Incident
			err := scan(into(i.ID[:]), &i.Kind, &i.Attempt, at(&i.OpenedAt), at(&i.ClosedAt), opt(&i.ClosedBy.Kind), opt(&i.ClosedBy.ID),
				opt(&i.Why))
			r.Incidents = append(r.Incidents, i)
			return err
		})
	if err != nil {
		return fmt.Errorf("incidents: %w", err)
	}
	return nil
}

const attemptColumns = `id, number, provider, outcome, started_at, deadline_at, validity_ms, finished_at, phase, rule, http_status, code,
	answer_id, request_id, answer_sha, message_id, unknown_since, lookup_at, lookups, receipt, receipt_code`

func scanAttempt(scan func(...any) error) (a dispatch.Attempt, err error) {
	var validity int64
	err = scan(into(a.ID[:]), &a.Number, &a.Provider, &a.Outcome, at(&a.StartedAt), at(&a.DeadlineAt), &validity, at(&a.FinishedAt),
		opt(&a.Phase), opt(&a.Rule), opt(&a.HTTPStatus), opt(&a.Code), opt(&a.AnswerID), opt(&a.RequestID), into(a.AnswerSHA[:]),
		opt(&a.MessageID), at(&a.UnknownSince), at(&a.LookupAt), &a.Lookups, opt(&a.Receipt), opt(&a.ReceiptCode))
	a.Validity = time.Duration(validity) * time.Millisecond
	return a, err
}

// placeholders is "?, ?, …" for n values.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
