package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sentonce/dispatch"
)

// Reveal is a person's request to see a number.
type Reveal struct {
	Notification dispatch.NotificationID
	By           dispatch.Person
	Reason       string // one of RevealReasons
	Note         string // mandatory where the reason is "other"
	RequestID    string
}

// RevealReasons lists the reasons for showing a number.
func RevealReasons() []string {
	return []string{"customer_on_the_line", "provider_asks", "legal_request", "other"}
}

// Faults lists what is wrong with the request's form.
func (v Reveal) Faults() (faults []dispatch.Fault) {
	if !slices.Contains(RevealReasons(), v.Reason) {
		faults = append(faults, dispatch.Fault{Field: "reason", Text: "Choose a reason."})
	}
	if v.Reason == "other" && strings.TrimSpace(v.Note) == "" {
		faults = append(faults, dispatch.Fault{Field: "note", Text: "Say what the other reason is."})
	}
	if why := dispatch.TextFault(v.Note, dispatch.MaxEvidenceRef); why != "" {
		faults = append(faults, dispatch.Fault{Field: "note", Text: why})
	}
	return faults
}

// RevealNumber returns the recipient's number, after writing who saw it and why. The errors are dispatch.ErrForbidden, *dispatch.FormError,
// dispatch.ErrNotFound and dispatch.ErrUnreadable (the number is gone).
func (db *DB) RevealNumber(ctx context.Context, v Reveal) (number dispatch.Secret, err error) {
	if !v.By.MayDecide() {
		return number, fmt.Errorf("reveal with the role %s: %w", v.By.Role, dispatch.ErrForbidden)
	}
	if faults := v.Faults(); len(faults) > 0 {
		return number, &dispatch.FormError{Faults: faults}
	}
	err = db.write(ctx, "reveal a number", func(tx *Tx) error {
		r, err := loadRecord(tx, "id = ?", blob(v.Notification))
		if err != nil {
			return err
		}
		number, err = db.openOne(tx, "recipient", `SELECT key_no, sealed FROM sealed_recipients WHERE recipient = ?`, r.Recipient[:])
		if err != nil {
			return err
		}
		id, err := newID[dispatch.RevealID](tx)
		if err != nil {
			return err
		}
		if _, err := tx.exec(`INSERT INTO reveals (id, notification, staff, at, reason, note) VALUES (?, ?, ?, ?, ?, ?)`, blob(id), blob(r.ID),
			blob(v.By.ID), ms(tx.Now), v.Reason, strings.TrimSpace(v.Note)); err != nil {
			return fmt.Errorf("reveal: %w", err)
		}
		_, err = tx.event(dispatch.Event{By: v.By.Actor(), Action: dispatch.ActionRecipientRevealed, Client: r.Client, Notification: r.ID,
			Cause: v.Reason, RequestID: v.RequestID})
		return err
	})
	if err != nil {
		return dispatch.Secret{}, err
	}
	return number, nil
}
