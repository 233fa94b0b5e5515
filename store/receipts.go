package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// RecordReceipt keeps an authentic delivery report as evidence and draws its conclusions. ref is its verified reference, if it has one; else
// the provider's id has to name an attempt. A report that names nothing here is kept as well.
func (db *DB) RecordReceipt(ctx context.Context, provider string, rep dispatch.Report, ref *dispatch.Reference) (fate dispatch.ReceiptFate, err error) {
	err = db.write(ctx, "record a receipt", func(tx *Tx) error {
		fate, err = db.recordReceipt(tx, provider, rep, ref)
		return err
	})
	return fate, err
}

func (db *DB) recordReceipt(tx *Tx, provider string, rep dispatch.Report, ref *dispatch.Reference) (dispatch.ReceiptFate, error) {
	rc := dispatch.Receipt{Provider: provider, ReceivedAt: tx.Now, Report: rep}
	r, n, err := tx.addressee(provider, rep, ref)
	unmatched := errors.Is(err, dispatch.ErrNotFound)
	if err != nil && !unmatched {
		return "", err
	}
	if unmatched {
		r, n = dispatch.Record{}, 0
	}
	recent, err := tx.keptLately(r.ID, n, rc)
	switch {
	case err != nil:
		return "", err
	case unmatched && recent:
		return dispatch.ReceiptUnmatched, nil
	case unmatched:
		return dispatch.ReceiptUnmatched, tx.keepUnmatched(rc, ref)
	case recent:
		return dispatch.ReceiptRepeated, nil
	}
	if rc.Repeat, err = tx.reported(r.ID, n, rc); err != nil {
		return "", err
	}
	c, err := r.RecordReceipt(n, rc, db.terms(tx))
	if err != nil {
		return "", err
	}
	fate := dispatch.ReceiptMatched
	if rc.Repeat {
		fate = dispatch.ReceiptRepeated
	}
	return fate, classify("record a receipt", tx.apply(r, c))
}

// repeatPace bounds what a report that comes again and again can add to the evidence: one row in that time. A call-back is authentic for
// ever, and whoever has captured one can send it as often as they like.
const repeatPace = time.Minute

// keptLately reports whether the same report, about the same attempt (or about nothing here), was kept within repeatPace.
func (tx *Tx) keptLately(n dispatch.NotificationID, attempt int, rc dispatch.Receipt) (yes bool, err error) {
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM receipts WHERE message_id = ? AND raw = ? AND code = ? AND provider = ? AND notification IS ?
		AND attempt IS ? AND received_at > ?)`,
		[]any{rc.MessageID, rc.Raw, rc.Code, rc.Provider, blob(n), number(attempt), ms(tx.Now.Add(-repeatPace))}, &yes)
	if err != nil {
		return false, fmt.Errorf("recent receipts: %w", err)
	}
	return yes, nil
}

// addressee finds the attempt that a report is about: by its reference, else by the provider's id.
func (tx *Tx) addressee(provider string, rep dispatch.Report, ref *dispatch.Reference) (dispatch.Record, int, error) {
	if ref != nil {
		r, err := loadRecord(tx, "id = ?", blob(ref.Notification))
		if err != nil {
			return r, 0, err
		}
		a, err := r.Attempt(ref.Number)
		if err == nil && (a.ID != ref.Attempt || a.Provider != provider) {
			err = fmt.Errorf("attempt of the reference: %w", dispatch.ErrNotFound)
		}
		return r, ref.Number, err
	}
	var id dispatch.NotificationID
	var n int
	err := tx.row(`SELECT notification, number FROM attempts WHERE message_id = ? AND provider = ? ORDER BY started_at LIMIT 1`,
		[]any{rep.MessageID, provider}, into(id[:]), &n)
	if err != nil {
		return dispatch.Record{}, 0, err
	}
	r, err := loadRecord(tx, "id = ?", blob(id))
	return r, n, err
}

// reported says whether the same report about the attempt is on record. One that came when it still named nothing here does not count: it
// moved nothing.
func (tx *Tx) reported(id dispatch.NotificationID, n int, rc dispatch.Receipt) (yes bool, err error) {
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM receipts WHERE message_id = ? AND raw = ? AND code = ? AND provider = ? AND notification IS ?
		AND attempt IS ?)`, []any{rc.MessageID, rc.Raw, rc.Code, rc.Provider, blob(id), number(n)}, &yes)
	if err != nil {
		return false, fmt.Errorf("earlier receipts: %w", err)
	}
	return yes, nil
}

func (tx *Tx) keepUnmatched(rc dispatch.Receipt, ref *dispatch.Reference) (err error) {
	if rc.Repeat, err = tx.reported(dispatch.NotificationID{}, 0, rc); err != nil {
		return err
	}
	if rc.ID, err = newID[dispatch.ReceiptID](tx); err != nil {
		return err
	}
	var forgotten dispatch.NotificationID
	if ref != nil {
		forgotten = ref.Notification
	}
	if err := tx.insertReceipt(dispatch.NotificationID{}, rc, forgotten); err != nil {
		return err
	}
	_, err = tx.event(dispatch.Event{By: dispatch.Actor{Kind: dispatch.ActorProvider, ID: rc.Provider}, Action: dispatch.ActionReceiptUnmatched,
		Provider: rc.Provider, Cause: string(rc.Status), Evidence: dispatch.EvidenceReceipt, EvidenceID: rc.ID,
		EvidenceSHA: dispatch.SumReceipt(dispatch.NotificationID{}, rc)})
	return err
}
