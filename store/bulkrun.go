package store

import (
	"context"
	"errors"
	"fmt"

	"sentonce/dispatch"
)

// What became of an item of a bulk decision.
const (
	BulkSettled  = "settled"
	BulkProposed = "proposed"
	BulkRefused  = "refused"
)

// BulkStep carries out the next items of the oldest bulk decision that is under way, and reports whether there is more to do. Everything that
// it has to know is stored: after a restart the next step goes on where the last one ended. An item and its result are one transaction.
func (db *DB) BulkStep(ctx context.Context) (more bool, err error) {
	var id dispatch.BulkID
	err = db.queryRow(ctx, `SELECT id FROM bulks WHERE started_at IS NOT NULL AND finished_at IS NULL ORDER BY started_at LIMIT 1`, nil,
		into(id[:]))
	if errors.Is(err, dispatch.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b, err := db.Bulk(ctx, id)
	if err != nil {
		return false, err
	}
	done := 0
	for _, item := range b.Items {
		if item.LeftOut != "" || item.Result != "" {
			continue
		}
		if done == bulkSlice {
			return true, nil
		}
		if err := db.carryOut(ctx, b, item); err != nil {
			return false, err
		}
		done++
	}
	return true, db.finishBulk(ctx, b)
}

// carryOut decides one item by the same way as a person who decides it alone.
func (db *DB) carryOut(ctx context.Context, b Bulk, item BulkItem) error {
	d := b.Decision
	d.Attempt, d.Version = item.Attempt, item.Version
	order := PersonDecides{Notification: item.Notification, Decision: d, By: b.By}
	err := db.write(ctx, "carry out a bulk decision", func(tx *Tx) error {
		out, err := db.decide(tx, order, b.ID)
		if err != nil {
			return err
		}
		result := BulkSettled
		if !out.Proposal.IsZero() {
			result = BulkProposed
		}
		return tx.bulkResult(b.ID, item.N, result, "")
	})
	why, refused := refusal(err)
	if !refused {
		return err
	}
	return db.write(ctx, "note a refusal", func(tx *Tx) error { return tx.bulkResult(b.ID, item.N, BulkRefused, why) })
}

// refusal gives the words for an error that is the item's own; any other stops the run, which goes on later.
func refusal(err error) (why string, ok bool) {
	var notNow *dispatch.NotNowError
	var form *dispatch.FormError
	switch {
	case errors.As(err, &notNow):
		return notNow.Why, true
	case errors.As(err, &form):
		return form.Error(), true
	case errors.Is(err, dispatch.ErrForbidden):
		return "the account may not decide any more", true
	case errors.Is(err, dispatch.ErrStale):
		return "the record has changed", true
	case errors.Is(err, dispatch.ErrNotFound):
		return "there is no such attempt", true
	case errors.Is(err, dispatch.ErrUnreadable):
		return "the record cannot be read", true
	}
	return "", false
}

// bulkResult writes what became of an item, once.
func (tx *Tx) bulkResult(id dispatch.BulkID, n int, result, why string) error {
	changed, err := tx.exec(`UPDATE bulk_items SET result = ?, why = ?, at = ? WHERE bulk = ? AND n = ? AND result IS NULL`, result, text(why),
		ms(tx.Now), blob(id), n)
	if err != nil {
		return fmt.Errorf("bulk: %w", err)
	}
	if changed != 1 {
		return fmt.Errorf("item %d of %s has its result: %w", n, id, dispatch.ErrUnavailable)
	}
	return nil
}

func (db *DB) finishBulk(ctx context.Context, b Bulk) error {
	return db.write(ctx, "finish a bulk decision", func(tx *Tx) error {
		var effective int64
		if err := tx.row(`SELECT count(*) FROM bulk_items WHERE bulk = ? AND result IN ('settled', 'proposed')`, []any{blob(b.ID)}, &effective); err != nil {
			return err
		}
		n, err := tx.exec(`UPDATE bulks SET finished_at = ? WHERE id = ? AND finished_at IS NULL`, ms(tx.Now), blob(b.ID))
		if err != nil || n != 1 {
			return err
		}
		_, err = tx.event(dispatch.Event{By: b.By.Actor(), Action: dispatch.ActionBulkFinished, Cause: b.ID.String(), Count: effective})
		return err
	})
}
