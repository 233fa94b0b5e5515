package store

import (
	"context"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// View is a saved list: a name and the canonical query of its filter, which holds pseudonyms and never a number.
type View struct {
	ID        dispatch.ViewID
	Owner     dispatch.StaffID
	Name      string
	Query     string
	Shared    bool
	CreatedAt time.Time
}

// Views lists a person's own views and those that others share, by name.
func (db *DB) Views(ctx context.Context, owner dispatch.StaffID) (all []View, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		all, err = readAll(q, func(scan func(...any) error) (v View, err error) {
			err = scan(into(v.ID[:]), into(v.Owner[:]), &v.Name, &v.Query, &v.Shared, at(&v.CreatedAt))
			return v, err
		}, `SELECT id, owner, name, query, shared, created_at FROM saved_views WHERE owner = ?1
			UNION SELECT id, owner, name, query, shared, created_at FROM saved_views WHERE shared = 1 ORDER BY name, id LIMIT 200`, blob(owner))
		return err
	})
	return all, err
}

// mostViews bounds what one person may keep.
const mostViews = 50

// ErrFull says that no more of these can be kept.
var ErrFull = fmt.Errorf("there are too many: %w", ErrExists)

// SaveView keeps a view; one of the same name and owner is replaced by it. The error is ErrFull when the person has 50.
func (db *DB) SaveView(ctx context.Context, v View) (id dispatch.ViewID, err error) {
	err = db.write(ctx, "save a view", func(tx *Tx) error {
		var have int
		if err := tx.row(`SELECT count(*) FROM saved_views WHERE owner = ? AND name <> ?`, []any{blob(v.Owner), v.Name}, &have); err != nil {
			return err
		}
		if have >= mostViews {
			return ErrFull
		}
		if id, err = newID[dispatch.ViewID](tx); err != nil {
			return err
		}
		err = tx.row(`INSERT INTO saved_views (id, owner, name, query, shared, created_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, name) DO UPDATE SET query = excluded.query, shared = excluded.shared RETURNING id`,
			[]any{blob(id), blob(v.Owner), v.Name, v.Query, v.Shared, ms(tx.Now)}, into(id[:]))
		if err != nil {
			return err
		}
		cause := "own"
		if v.Shared {
			cause = "shared"
		}
		_, err = tx.event(dispatch.Event{By: dispatch.Actor{Kind: dispatch.ActorStaff, ID: v.Owner.String()}, Action: dispatch.ActionViewSaved,
			Cause: cause})
		return err
	})
	return id, err
}

// DeleteView forgets a person's own view. The error is dispatch.ErrNotFound when there is none of theirs.
func (db *DB) DeleteView(ctx context.Context, owner dispatch.StaffID, id dispatch.ViewID) error {
	return db.write(ctx, "delete a view", func(tx *Tx) error {
		n, err := tx.exec(`DELETE FROM saved_views WHERE id = ? AND owner = ?`, blob(id), blob(owner))
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("view: %w", dispatch.ErrNotFound)
		}
		_, err = tx.event(dispatch.Event{By: dispatch.Actor{Kind: dispatch.ActorStaff, ID: owner.String()}, Action: dispatch.ActionViewDeleted})
		return err
	})
}
