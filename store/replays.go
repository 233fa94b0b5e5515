package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sentonce/dispatch"
)

// A storefront may repeat an admission very often. Each repeat is counted on the record, but after the answer, and an event is written at
// most once a minute for one notification; the event says how many repeats it stands for.
const (
	replayPace    = time.Minute
	replayLimit   = 100_000 // notifications remembered; beyond it those without a count are forgotten before their minute is over
	replayLatency = 50 * time.Millisecond
	replaySlice   = 200 // notifications written in one closure
)

type replayCounter struct {
	mu      sync.Mutex
	pending map[dispatch.NotificationID]*replays
}

type replays struct {
	count int64
	by    dispatch.Actor
	next  time.Time // not written before
}

// CountReplay notes that a client repeated an admission. It never blocks; the count is written a little later.
func (db *DB) CountReplay(id dispatch.NotificationID, by dispatch.Actor) {
	c := &db.replay
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		c.pending = map[dispatch.NotificationID]*replays{}
	}
	p := c.pending[id]
	if p == nil {
		p = &replays{}
		c.pending[id] = p
	}
	p.count, p.by = p.count+1, by
}

func (c *replayCounter) run(ctx context.Context, db *DB) {
	tick := time.NewTicker(replayLatency)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.write(ctx, db, c.due(db.cfg.Clock.Now(), false))
		}
	}
}

// FlushReplays writes every count that waits; what cannot be written in the context's time is not counted.
func (db *DB) FlushReplays(ctx context.Context) {
	db.replay.write(ctx, db, db.replay.due(db.cfg.Clock.Now(), true))
}

// replayed is one notification's count, on its way to the record.
type replayed struct {
	id dispatch.NotificationID
	replays
}

// due takes the counts whose minute is over (or all) and keeps the others.
func (c *replayCounter) due(now time.Time, all bool) (due []replayed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	crowded := len(c.pending) > replayLimit
	for id, p := range c.pending {
		switch over := !now.Before(p.next); {
		case p.count > 0 && (all || over):
			due = append(due, replayed{id, *p})
			p.count, p.next = 0, now.Add(replayPace)
		case p.count == 0 && (crowded || over):
			delete(c.pending, id)
		}
	}
	return due
}

// write stores counts, a slice of them at a time.
func (c *replayCounter) write(ctx context.Context, db *DB, due []replayed) {
	for slice := range slices.Chunk(due, replaySlice) {
		ctx, cancel := context.WithTimeout(ctx, readLimit)
		err := db.write(ctx, "count replays", func(tx *Tx) error {
			for _, r := range slice {
				if err := tx.countReplays(r.id, r.replays); err != nil {
					return err
				}
			}
			return nil
		})
		cancel()
		if err != nil {
			c.giveBack(slice)
			db.cfg.Log.Warn("replays are not counted yet", "notifications", len(slice), "error", err.Error())
		}
	}
}

// giveBack keeps counts that could not be written for the next time.
func (c *replayCounter) giveBack(slice []replayed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range slice {
		if q := c.pending[r.id]; q != nil {
			q.count += r.count
			continue
		}
		kept := r.replays
		c.pending[r.id] = &kept
	}
}

func (tx *Tx) countReplays(id dispatch.NotificationID, p replays) error {
	var client dispatch.ClientID
	if err := tx.row(`UPDATE notifications SET replays = replays + ? WHERE id = ? RETURNING client`, []any{p.count, blob(id)},
		into(client[:])); err != nil {
		return fmt.Errorf("replays: %w", err)
	}
	_, err := tx.event(dispatch.Event{By: p.by, Action: dispatch.ActionReplayed, Client: client, Notification: id, Count: p.count})
	return err
}
