package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

// Replay looks for the record of an earlier admission; see dispatch.Admissions.
func (db *DB) Replay(ctx context.Context, a dispatch.Admission) (r dispatch.Record, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		r, err = db.twin(q, a)
		return err
	})
	return r, err
}

// twin returns the record with the admission's key, when it has the same content. The errors are dispatch.ErrNotFound and
// *dispatch.ConflictError.
func (db *DB) twin(q querier, a dispatch.Admission) (dispatch.Record, error) {
	var id dispatch.NotificationID
	var sameKey bool
	err := q.row(`SELECT id, idempotency_key = ?2 FROM notifications WHERE client = ?1 AND idempotency_key = ?2
		UNION ALL SELECT id, 0 FROM notifications WHERE client = ?1 AND event_id = ?3 AND purpose = ?4 LIMIT 1`,
		[]any{blob(a.Client), a.IdempotencyKey, a.EventID, a.Purpose}, into(id[:]), &sameKey)
	if err != nil {
		return dispatch.Record{}, err
	}
	if !sameKey {
		return dispatch.Record{}, &dispatch.ConflictError{Existing: id}
	}
	r, err := loadRecord(q, "id = ?", blob(id))
	if err != nil {
		return r, err
	}
	if differs := db.differs(r.Notification, db.fresh(a)); len(differs) > 0 {
		return dispatch.Record{}, &dispatch.ConflictError{Existing: id, Differs: differs}
	}
	return r, nil
}

// fresh is the notification that an admission would become, without id and times of ours.
func (db *DB) fresh(a dispatch.Admission) dispatch.Notification {
	number := a.Recipient.Reveal()
	n := dispatch.Notification{Client: a.Client, EventID: a.EventID, IdempotencyKey: a.IdempotencyKey, Purpose: a.Purpose,
		Recipient: db.RecipientRef(a.Recipient), Country: a.Country, Hint: number[max(0, len(number)-2):],
		TextMAC: db.TextMAC(a.Text.Reveal()), ExpiresAt: a.ExpiresAt.UTC(), OccurredAt: a.OccurredAt.UTC(), State: dispatch.StateAccepted}
	n.Encoding, n.Segments = dispatch.Segments(a.Text.Reveal())
	if a.OccurredAt.IsZero() {
		n.OccurredAt = time.Time{}
	}
	if !a.Subject.IsZero() {
		n.Subject = db.SubjectRef(a.Client, a.Subject)
	}
	return n
}

// RecipientRef is the pseudonym of a number.
func (db *DB) RecipientRef(number dispatch.Secret) dispatch.RecipientRef {
	mac := db.index.MAC(seal.KeyRecipient, []byte(number.Reveal()))
	return dispatch.RecipientRef(mac[:16])
}

// SubjectRef is the pseudonym of a client's account reference.
func (db *DB) SubjectRef(c dispatch.ClientID, subject dispatch.Secret) dispatch.SubjectRef {
	mac := db.index.MAC(seal.KeySubject, c[:], []byte(subject.Reveal()))
	return dispatch.SubjectRef(mac[:16])
}

// TextMAC is the keyed MAC of an exact text.
func (db *DB) TextMAC(text string) [32]byte { return db.index.MAC(seal.KeyText, []byte(text)) }

// differs names the request members in which an admission differs from the record with the same key.
func (db *DB) differs(have, want dispatch.Notification) (members []string) {
	for _, m := range []struct {
		name string
		same bool
	}{
		{"event_id", have.EventID == want.EventID},
		{"purpose", have.Purpose == want.Purpose},
		{"subject", have.Subject == want.Subject},
		{"recipient", have.Recipient == want.Recipient},
		{"message", have.TextMAC == want.TextMAC},
		{"expires_at", have.ExpiresAt.Equal(want.ExpiresAt)},
		{"occurred_at", have.OccurredAt.Equal(want.OccurredAt)},
	} {
		if !m.same {
			members = append(members, m.name)
		}
	}
	return members
}

// sealedAdmission is an admission made ready outside the writer: what costs time is done before the transaction.
type sealedAdmission struct {
	dispatch.Admission
	n                     dispatch.Notification
	textKey, numberKey    int
	textSealed, numSealed []byte
}

// Admit stores an admission or finds the twin that was faster; see dispatch.Admissions.
func (db *DB) Admit(ctx context.Context, a dispatch.Admission) (r dispatch.Record, replayed bool, err error) {
	s := sealedAdmission{Admission: a, n: db.fresh(a)}
	if s.n.ID, err = dispatch.NewID[dispatch.NotificationID](db.cfg.Clock.Now(), rand.Reader); err != nil {
		return r, false, err
	}
	if s.textKey, s.textSealed, err = db.cfg.Master.Seal("message", s.n.ID[:], []byte(a.Text.Reveal())); err != nil {
		return r, false, err
	}
	if s.numberKey, s.numSealed, err = db.cfg.Master.Seal("recipient", s.n.Recipient[:], []byte(a.Recipient.Reveal())); err != nil {
		return r, false, err
	}
	err = db.write(ctx, "admit", func(tx *Tx) error {
		r, replayed, err = db.admit(tx, s)
		return err
	})
	return r, replayed, err
}

func (db *DB) admit(tx *Tx, s sealedAdmission) (dispatch.Record, bool, error) {
	n := s.n
	n.AcceptedAt, n.DueAt = tx.Now, tx.Now
	if !n.ExpiresAt.After(n.AcceptedAt) {
		return dispatch.Record{}, false, &dispatch.RefusalError{Member: "expires_at", Rule: dispatch.RuleExpired, Detail: "expires_at is in the past"}
	}
	if err := tx.insertNotification(n); isConstraint(err) {
		r, twinErr := db.twin(tx, s.Admission)
		if errors.Is(twinErr, dispatch.ErrNotFound) {
			return r, false, classify("admit", err) // no twin: it cannot be stored for another reason
		}
		return r, twinErr == nil, twinErr
	} else if err != nil {
		return dispatch.Record{}, false, err
	}
	if err := tx.insertSealed(s); err != nil {
		return dispatch.Record{}, false, err
	}
	r := dispatch.Record{Notification: n}
	c := r.Accept(s.By, s.RequestID, tx.Now)
	if err := tx.apply(r, c); err != nil {
		return dispatch.Record{}, false, classify("admit", err)
	}
	r, err := db.supersede(tx, r.Apply(c), s.Admission)
	return r, false, err
}

func (tx *Tx) insertNotification(n dispatch.Notification) error {
	_, err := tx.exec(`INSERT INTO notifications (id, client, event_id, idempotency_key, purpose, subject, recipient, country, hint, text_mac,
		encoding, segments, accepted_at, expires_at, occurred_at, state, version, final, due_at) VALUES (`+placeholders(15)+`, 'accepted', 0, 0, ?)`,
		blob(n.ID), blob(n.Client), n.EventID, n.IdempotencyKey, n.Purpose, blob(n.Subject), blob(n.Recipient), n.Country, n.Hint,
		n.TextMAC[:], string(n.Encoding), n.Segments, ms(n.AcceptedAt), ms(n.ExpiresAt), ms(n.OccurredAt), ms(n.DueAt))
	return err
}

func (tx *Tx) insertSealed(s sealedAdmission) error {
	if _, err := tx.exec(`INSERT INTO sealed_messages (notification, key_no, sealed) VALUES (?, ?, ?)`, blob(s.n.ID), s.textKey,
		s.textSealed); err != nil {
		return classify("seal the text", err)
	}
	if _, err := tx.exec(`INSERT INTO sealed_recipients (recipient, key_no, sealed, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		blob(s.n.Recipient), s.numberKey, s.numSealed, ms(tx.Now)); err != nil {
		return classify("seal the number", err)
	}
	return nil
}

// subjectHistory bounds how many notifications of one subject are looked at: a subject with more of them in one life is abuse, which limits
// deal with.
const subjectHistory = 100

// supersede withdraws what the new event replaces, or the new event itself when it comes late: after a newer one, or after the client
// withdrew everything for the subject that had happened by then.
func (db *DB) supersede(tx *Tx, r dispatch.Record, a dispatch.Admission) (dispatch.Record, error) {
	if r.Subject.IsZero() {
		return r, nil
	}
	older, late, err := tx.siblings(r)
	if err != nil {
		return r, err
	}
	for _, id := range older {
		if err := tx.withdraw(id, dispatch.ReasonSuperseded, "", a.By, a.RequestID); err != nil {
			return r, err
		}
	}
	why := dispatch.ReasonSuperseded
	if !late {
		if late, err = tx.withdrawnBefore(r); err != nil {
			return r, err
		}
		why = dispatch.ReasonWithdrawnByClient
	}
	if !late {
		return r, nil
	}
	c := r.Withdraw(why, "", a.By, tx.Now)
	if err := tx.apply(r, c); err != nil {
		return r, err
	}
	return r.Apply(c), nil
}

// siblings lists the live notifications that r replaces; late says that a newer one than r is on its way or has been sent. One that ended
// without a send makes nobody late: it would keep the customer from getting any code at all.
func (tx *Tx) siblings(r dispatch.Record) (older []dispatch.NotificationID, late bool, err error) {
	mine := dispatch.Order{OccurredAt: occurred(r.OccurredAt, r.AcceptedAt), ExpiresAt: r.ExpiresAt}
	err = tx.rows(`SELECT id, purpose, occurred_at, accepted_at, expires_at, state, withdrawn_at IS NOT NULL FROM notifications
		WHERE client = ? AND subject = ? ORDER BY rowid DESC LIMIT ?`, []any{blob(r.Client), blob(r.Subject), subjectHistory},
		func(scan func(...any) error) error {
			var other dispatch.Notification
			var withdrawn bool
			if err := scan(into(other.ID[:]), &other.Purpose, at(&other.OccurredAt), at(&other.AcceptedAt), at(&other.ExpiresAt), &other.State,
				&withdrawn); err != nil {
				return err
			}
			theirs := dispatch.Order{OccurredAt: occurred(other.OccurredAt, other.AcceptedAt), ExpiresAt: other.ExpiresAt}
			live := !other.State.Stopped() && !withdrawn
			sent := other.State == dispatch.StateSent || other.State == dispatch.StateDelivered
			switch {
			case other.ID == r.ID || other.Purpose != r.Purpose:
			case (live || sent) && !dispatch.Newer(mine, theirs):
				late = true
			case live:
				older = append(older, other.ID)
			}
			return nil
		})
	return older, late, err
}

// occurred is when an event happened, as far as the storefront's clock is believed: not after it came here.
func occurred(said, came time.Time) time.Time {
	if said.After(came) {
		return came
	}
	return said
}

// withdrawnBefore reports whether the client withdrew everything for the subject that had happened by the time of this event.
func (tx *Tx) withdrawnBefore(r dispatch.Record) (bool, error) {
	if r.OccurredAt.IsZero() {
		return false, nil
	}
	var by time.Time
	err := tx.row(`SELECT occurred_at FROM subject_withdrawals WHERE client = ? AND subject = ?`, []any{blob(r.Client), blob(r.Subject)}, at(&by))
	if errors.Is(err, dispatch.ErrNotFound) {
		return false, nil
	}
	return !occurred(r.OccurredAt, r.AcceptedAt).After(by), err
}

// NotificationByKey reads a client's record by its idempotency key.
func (db *DB) NotificationByKey(ctx context.Context, c dispatch.ClientID, key string) (r dispatch.Record, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		r, err = loadRecord(q, "client = ? AND idempotency_key = ?", blob(c), key)
		return err
	})
	return r, err
}

// NotificationsByEvent reads a client's records of an event: one a purpose.
func (db *DB) NotificationsByEvent(ctx context.Context, c dispatch.ClientID, eventID string) (all []dispatch.Record, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		var ids []dispatch.NotificationID
		err := q.rows(`SELECT id FROM notifications WHERE client = ? AND event_id = ? ORDER BY id`, []any{blob(c), eventID},
			func(scan func(...any) error) error {
				var id dispatch.NotificationID
				err := scan(into(id[:]))
				ids = append(ids, id)
				return err
			})
		for _, id := range ids {
			r, loadErr := loadRecord(q, "id = ?", blob(id))
			err = errors.Join(err, loadErr)
			all = append(all, r)
		}
		return err
	})
	return all, err
}

// open reads the sealed text and number of a notification. The error is dispatch.ErrUnreadable when either is gone or does not open.
func (db *DB) open(q querier, n dispatch.Notification) (text, number dispatch.Secret, err error) {
	if text, err = db.openOne(q, "message", `SELECT key_no, sealed FROM sealed_messages WHERE notification = ?`, n.ID[:]); err != nil {
		return text, number, err
	}
	number, err = db.openOne(q, "recipient", `SELECT key_no, sealed FROM sealed_recipients WHERE recipient = ?`, n.Recipient[:])
	return text, number, err
}

func (db *DB) openOne(q querier, kind, query string, record []byte) (dispatch.Secret, error) {
	var no int
	var sealed []byte
	err := q.row(query, []any{bytes.Clone(record)}, &no, &sealed)
	if err != nil && !errors.Is(err, dispatch.ErrNotFound) {
		return dispatch.Secret{}, fmt.Errorf("sealed %s: %w", kind, err) // it could not be asked for: that says nothing about the row
	}
	if err == nil {
		var value []byte
		if value, err = db.cfg.Master.Open(no, kind, record, sealed); err == nil {
			return dispatch.NewSecret(string(value)), nil
		}
	}
	return dispatch.Secret{}, fmt.Errorf("sealed %s: %w: %w", kind, dispatch.ErrUnreadable, err)
}
