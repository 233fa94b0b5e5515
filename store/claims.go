package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// claimLease is the longest time for which a person holds an item without doing anything about it.
const claimLease = 15 * time.Minute

// WorkClaim says who works on an item, and until when. The zero value means nobody.
type WorkClaim struct {
	Staff dispatch.StaffID
	Name  string
	Since time.Time
	Until time.Time
	Note  string // why it was taken over from another person
}

// claimOf is the claim on an item that has not ended.
func claimOf(q querier, id dispatch.NotificationID, now time.Time) (c WorkClaim, err error) {
	err = q.row(`SELECT c.staff, s.name, c.since, c.until, c.note FROM claims c JOIN staff s ON s.id = c.staff
		WHERE c.notification = ? AND c.until > ?`, []any{blob(id), ms(now)}, into(c.Staff[:]), &c.Name, at(&c.Since), at(&c.Until), &c.Note)
	if errors.Is(err, dispatch.ErrNotFound) {
		return WorkClaim{}, nil
	}
	if err != nil {
		return c, fmt.Errorf("claim: %w", err)
	}
	return c, nil
}

// leaseEnd is when a claim that begins now ends: with the life where that is shorter, because then there is nothing left to decide in time.
func leaseEnd(r dispatch.Record, now time.Time) time.Time {
	if life := r.Life(now); life > 0 {
		return now.Add(min(claimLease, life))
	}
	return now.Add(claimLease)
}

// undecided reports whether a person can still say something about a record.
func undecided(r dispatch.Record) bool {
	for _, a := range r.Attempts {
		if a.Outcome == dispatch.OutcomeUnknown || a.Outcome == dispatch.OutcomeUndetermined {
			return true
		}
	}
	return false
}

// ClaimStep is what a person does about a claim.
type ClaimStep string

// The steps.
const (
	ClaimTake     ClaimStep = "claim"
	ClaimRelease  ClaimStep = "release"
	ClaimTakeOver ClaimStep = "take_over"
)

// ClaimOrder is one step of one person.
type ClaimOrder struct {
	Notification dispatch.NotificationID
	By           dispatch.Person
	Step         ClaimStep
	Note         string // why it is taken over
	RequestID    string
}

// WorkOn claims, releases or takes over an item. Claiming what one holds renews it; releasing what one does not hold changes nothing. The errors
// are dispatch.ErrForbidden, *dispatch.FormError, dispatch.ErrNotFound, and *dispatch.NotNowError when another person holds it or it is settled.
func (db *DB) WorkOn(ctx context.Context, o ClaimOrder) error {
	return db.write(ctx, "claim an item", func(tx *Tx) error {
		if !o.By.MayDecide() {
			return fmt.Errorf("claim with the role %s: %w", o.By.Role, dispatch.ErrForbidden)
		}
		r, err := loadRecord(tx, "id = ?", blob(o.Notification))
		if err != nil {
			return err
		}
		held, err := claimOf(tx, r.ID, tx.Now)
		if err != nil {
			return err
		}
		return tx.workOn(r, held, o)
	})
}

func (tx *Tx) workOn(r dispatch.Record, held WorkClaim, o ClaimOrder) error {
	mine := held.Staff == o.By.ID
	switch {
	case o.Step == ClaimRelease && !mine:
		return nil
	case o.Step == ClaimRelease:
		if _, err := tx.exec(`DELETE FROM claims WHERE notification = ?`, blob(r.ID)); err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		return tx.claimEvent(r, o, dispatch.ActionClaimReleased)
	case !undecided(r):
		return &dispatch.NotNowError{Why: "it is settled"}
	case mine:
		return tx.renewClaim(r, o.By.ID)
	case held.Staff.IsZero():
		return tx.putClaim(r, o, dispatch.ActionClaimed)
	case o.Step != ClaimTakeOver:
		return &dispatch.NotNowError{Why: held.Name + " has claimed it"}
	}
	if o.Note == "" {
		return &dispatch.FormError{Faults: []dispatch.Fault{{Field: "note", Text: "Say why you take it over."}}}
	}
	if why := dispatch.TextFault(o.Note, dispatch.MaxEvidenceRef, r.KnownWords()...); why != "" {
		return &dispatch.FormError{Faults: []dispatch.Fault{{Field: "note", Text: why}}}
	}
	return tx.putClaim(r, o, dispatch.ActionClaimTakenOver)
}

func (tx *Tx) putClaim(r dispatch.Record, o ClaimOrder, action dispatch.Action) error {
	if action == dispatch.ActionClaimed {
		o.Note = ""
	}
	_, err := tx.exec(`INSERT INTO claims (notification, staff, since, until, note) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET staff = excluded.staff, since = excluded.since, until = excluded.until, note = excluded.note`,
		blob(r.ID), blob(o.By.ID), ms(tx.Now), ms(leaseEnd(r, tx.Now)), o.Note)
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	return tx.claimEvent(r, o, action)
}

func (tx *Tx) claimEvent(r dispatch.Record, o ClaimOrder, action dispatch.Action) error {
	_, err := tx.event(dispatch.Event{By: o.By.Actor(), Action: action, Client: r.Client, Notification: r.ID, RequestID: o.RequestID})
	return err
}

// renewClaim prolongs a person's own claim, because the person does something about the item. It is no event.
func (tx *Tx) renewClaim(r dispatch.Record, by dispatch.StaffID) error {
	_, err := tx.exec(`UPDATE claims SET until = ? WHERE notification = ? AND staff = ? AND until > ?`, ms(leaseEnd(r, tx.Now)), blob(r.ID),
		blob(by), ms(tx.Now))
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	return nil
}

// ClaimNext claims the item with the least life that nobody has claimed. The error is dispatch.ErrNotFound when there is none.
func (db *DB) ClaimNext(ctx context.Context, by dispatch.Person, requestID string) (id dispatch.NotificationID, err error) {
	err = db.write(ctx, "claim the next item", func(tx *Tx) error {
		if !by.MayDecide() {
			return fmt.Errorf("claim with the role %s: %w", by.Role, dispatch.ErrForbidden)
		}
		err := tx.row(`SELECT n.id FROM notifications n LEFT JOIN claims c ON c.notification = n.id AND c.until > ?
			WHERE n.state = 'dispatch_unknown' AND n.expires_at > ? AND c.staff IS NULL ORDER BY n.expires_at LIMIT 1`,
			[]any{ms(tx.Now), ms(tx.Now)}, into(id[:]))
		if err != nil {
			return err
		}
		r, err := loadRecord(tx, "id = ?", blob(id))
		if err != nil {
			return err
		}
		return tx.workOn(r, WorkClaim{}, ClaimOrder{Notification: id, By: by, Step: ClaimTake, RequestID: requestID})
	})
	return id, err
}
