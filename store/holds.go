package store

import (
	"context"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// ProviderHold is a person's decision that a provider gets no new calls. It outlives restarts.
type ProviderHold struct {
	Provider string
	At       time.Time
	By       dispatch.Actor
	ByName   string // of the person, when it is one
	Reason   string // a closed word
	Note     string
}

// ProviderHolds lists the holds.
func (db *DB) ProviderHolds(ctx context.Context) (all []ProviderHold, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		all, err = readAll(q, func(scan func(...any) error) (h ProviderHold, err error) {
			err = scan(&h.Provider, at(&h.At), &h.By.Kind, &h.By.ID, &h.Reason, &h.Note)
			return h, err
		}, `SELECT provider, held_at, by_kind, by_id, reason, note FROM provider_holds ORDER BY provider`)
		if err != nil {
			return err
		}
		for i, h := range all {
			names, err := namesOf(q, nil, h.By)
			if err != nil {
				return err
			}
			all[i].ByName = names.Staff[h.By.ID]
		}
		return nil
	})
	return all, err
}

// HoldProvider stores a hold with its event. The error is ErrExists when the provider is held already.
func (db *DB) HoldProvider(ctx context.Context, h ProviderHold) error {
	return db.write(ctx, "hold a provider", func(tx *Tx) error {
		_, err := tx.exec(`INSERT INTO provider_holds (provider, held_at, by_kind, by_id, reason, note) VALUES (?, ?, ?, ?, ?, ?)`,
			h.Provider, ms(tx.Now), string(h.By.Kind), h.By.ID, h.Reason, h.Note)
		if isUnique(err) {
			return fmt.Errorf("hold of %s: %w", h.Provider, ErrExists)
		}
		if err != nil {
			return err
		}
		_, err = tx.event(dispatch.Event{By: h.By, Action: dispatch.ActionProviderPaused, Provider: h.Provider, Cause: h.Reason})
		return err
	})
}

// ReleaseProvider ends a hold with its event. The error is dispatch.ErrNotFound when there is none.
func (db *DB) ReleaseProvider(ctx context.Context, provider string, by dispatch.Actor) error {
	return db.write(ctx, "release a provider", func(tx *Tx) error {
		n, err := tx.exec(`DELETE FROM provider_holds WHERE provider = ?`, provider)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("hold of %s: %w", provider, dispatch.ErrNotFound)
		}
		_, err = tx.event(dispatch.Event{By: by, Action: dispatch.ActionProviderResumed, Provider: provider, Cause: "by_hand"})
		return err
	})
}
