package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

// probePace is how long a good answer of Ready stands.
const probePace = time.Second

// probe is the last look at whether the store can be written; turn admits one at a time to it.
type probe struct {
	turn chan struct{}
	good time.Time // when it last could; zero: not since the last failure
}

var errProbe = errors.New("probe")

// Ready reports whether an admission could be stored now, with its evidence. A good answer stands for a second: anybody may ask, and each
// probe costs a commit. The error is dispatch.ErrUnavailable.
func (db *DB) Ready(ctx context.Context) error {
	select {
	case db.probe.turn <- struct{}{}:
		defer func() { <-db.probe.turn }()
	case <-ctx.Done():
		return classify("probe", ctx.Err())
	}
	if age := db.cfg.Clock.Now().Sub(db.probe.good); !db.probe.good.IsZero() && age < probePace && age >= 0 {
		return nil
	}
	db.probe.good = time.Time{}
	if err := db.tryWrite(ctx); err != nil {
		return err
	}
	db.probe.good = db.cfg.Clock.Now()
	return nil
}

// tryWrite writes an event and takes it back, and then commits a write that changes nothing, because only a commit shows whether there is
// room.
func (db *DB) tryWrite(ctx context.Context) error {
	if at := db.w.full.Load(); at != 0 && db.cfg.Clock.Now().Sub(time.UnixMilli(at)) < fullFor {
		return fmt.Errorf("the last write found no room or a failing disk: %w", dispatch.ErrUnavailable)
	}
	err := db.write(ctx, "probe", func(tx *Tx) error {
		if _, err := tx.event(dispatch.Event{By: dispatch.Worker(), Action: dispatch.ActionServerStarted}); err != nil {
			return classify("probe", err)
		}
		return errProbe
	})
	if !errors.Is(err, errProbe) {
		return err
	}
	return db.write(ctx, "probe", func(tx *Tx) error {
		_, err := tx.exec(`UPDATE index_keys SET key_no = key_no WHERE name = ?`, seal.KeyText)
		return err
	})
}
