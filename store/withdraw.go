package store

import (
	"context"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// Withdraw stops a client's notification, or forbids any further permit while its outcome is open. It is idempotent and returns the record as
// it stands afterwards. The error is dispatch.ErrNotFound for another client's.
func (db *DB) Withdraw(ctx context.Context, w dispatch.Withdrawal) (r dispatch.Record, err error) {
	err = db.write(ctx, "withdraw", func(tx *Tx) error {
		if r, err = loadRecord(tx, "id = ? AND client = ?", blob(w.ID), blob(w.Client)); err != nil {
			return err
		}
		if err := tx.withdraw(w.ID, dispatch.ReasonWithdrawnByClient, string(w.Cause), w.By, w.RequestID); err != nil {
			return err
		}
		r, err = loadRecord(tx, "id = ?", blob(w.ID))
		return err
	})
	return r, err
}

// withdraw applies the rule to one record; what has stopped or is withdrawn stays as it is.
func (tx *Tx) withdraw(id dispatch.NotificationID, why dispatch.Reason, cause string, by dispatch.Actor, requestID string) error {
	r, err := loadRecord(tx, "id = ?", blob(id))
	if err != nil {
		return err
	}
	c := r.Withdraw(why, cause, by, tx.Now)
	for i := range c.Effects {
		c.Effects[i].Event.RequestID = requestID
	}
	return tx.apply(r, c)
}

// WithdrawSubject withdraws everything of a client for one subject that happened by w.OccurredAt, and remembers that instant, so that an event
// which happened before and comes later is withdrawn on arrival. Without an instant it withdraws what is here. It returns how many it withdrew.
func (db *DB) WithdrawSubject(ctx context.Context, w dispatch.SubjectWithdrawal) (count int, err error) {
	subject := db.SubjectRef(w.Client, w.Subject)
	err = db.write(ctx, "withdraw subject", func(tx *Tx) error {
		ids, err := tx.liveOf(w.Client, subject, w.OccurredAt)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := tx.withdraw(id, dispatch.ReasonWithdrawnByClient, string(w.Cause), w.By, w.RequestID); err != nil {
				return err
			}
		}
		count = len(ids)
		if err := tx.rememberWithdrawal(w.Client, subject, w.OccurredAt); err != nil {
			return err
		}
		_, err = tx.event(dispatch.Event{By: w.By, Action: dispatch.ActionSubjectWithdrawn, Client: w.Client, Cause: string(w.Cause),
			Count: int64(count), RequestID: w.RequestID})
		return err
	})
	return count, err
}

// rememberWithdrawal keeps the newest instant that the storefront named. Instants of ours are not kept: they would be compared with the
// storefront's clock, which may be off.
func (tx *Tx) rememberWithdrawal(c dispatch.ClientID, s dispatch.SubjectRef, said time.Time) error {
	if said.IsZero() {
		return nil
	}
	_, err := tx.exec(`INSERT INTO subject_withdrawals (client, subject, occurred_at) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET occurred_at = max(occurred_at, excluded.occurred_at)`, blob(c), blob(s), ms(occurred(said, tx.Now)))
	if err != nil {
		return fmt.Errorf("remember the withdrawal: %w", err)
	}
	return nil
}

// liveOf lists what of a subject can still be withdrawn and happened by an instant, which is the storefront's like those of its events; the
// zero time, and an event that does not say when it happened, exclude nothing.
func (tx *Tx) liveOf(c dispatch.ClientID, s dispatch.SubjectRef, by time.Time) (ids []dispatch.NotificationID, err error) {
	err = tx.rows(`SELECT id FROM notifications WHERE client = ?1 AND subject = ?2 AND stopped_at IS NULL AND withdrawn_at IS NULL
		AND (?3 IS NULL OR occurred_at IS NULL OR occurred_at <= ?3) ORDER BY id`, []any{blob(c), blob(s), ms(by)},
		func(scan func(...any) error) error {
			var id dispatch.NotificationID
			err := scan(into(id[:]))
			ids = append(ids, id)
			return err
		})
	return ids, err
}
