package store

import (
	"context"
	"fmt"

	"sentonce/dispatch"
)

// event appends one event to the log and returns its number. The schema's trigger moves the notification that it names.
func (tx *Tx) event(ev dispatch.Event) (int64, error) {
	seq := tx.nextSeq()
	if ev.At.IsZero() {
		ev.At = tx.Now
	}
	_, err := tx.exec(`INSERT INTO events (seq, at, by_kind, by_id, action, client, notification, attempt, from_state, to_state, version, final,
		reason, outcome, grade, provider, cause, count, evidence, evidence_id, evidence_sha, request_id) VALUES (`+placeholders(22)+`)`,
		seq, ms(ev.At), string(ev.By.Kind), ev.By.ID, string(ev.Action), blob(ev.Client), blob(ev.Notification), number(ev.Attempt),
		text(ev.From), text(ev.To), number(ev.Version), ev.Final, text(ev.Reason), text(ev.Outcome), text(ev.Grade), text(ev.Provider),
		text(ev.Cause), number(ev.Count), text(ev.Evidence), evidenceID(ev), evidenceSum(ev), text(ev.RequestID))
	if err != nil {
		return 0, fmt.Errorf("event: %w", err)
	}
	return seq, nil
}

func evidenceID(ev dispatch.Event) any {
	if ev.Evidence == "" {
		return nil
	}
	return ev.EvidenceID[:]
}

func evidenceSum(ev dispatch.Event) any {
	if ev.Evidence == "" {
		return nil
	}
	return ev.EvidenceSHA[:]
}

// Note appends an event that belongs to no notification.
func (db *DB) Note(ctx context.Context, ev dispatch.Event) error {
	return db.write(ctx, string(ev.Action), func(tx *Tx) error {
		_, err := tx.event(ev)
		return err
	})
}
