package store

import (
	"context"
	"fmt"

	"sentonce/dispatch"
)

// Notification reads a client's record. The error is dispatch.ErrNotFound for another client's, too. Those who ask for the same record between
// two commits share one read: a crowd that was woken by one change costs what one of them costs. The record must not be changed.
func (db *DB) Notification(ctx context.Context, c dispatch.ClientID, id dispatch.NotificationID) (dispatch.Record, error) {
	// The number of commits belongs to the key: who was woken by a change must not join a read that began before it.
	key := fmt.Sprintf("%x %x %d", c, id, db.commits.Load())
	read := db.shared.DoChan(key, func() (any, error) {
		var r dispatch.Record
		err := db.snapshot(context.WithoutCancel(ctx), func(q querier) (err error) {
			r, err = loadRecord(q, "id = ? AND client = ?", blob(id), blob(c))
			return err
		})
		return r, err
	})
	select {
	case got := <-read:
		r, _ := got.Val.(dispatch.Record)
		return r, got.Err
	case <-ctx.Done():
		return dispatch.Record{}, classify("read", ctx.Err())
	}
}
