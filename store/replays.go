package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sentonce/dispatch"
)

// A storefront may repeat an admission very often. Each repeat is counted on the record, but after the answer, and an event is written at
// most once a minute for one notification; the event says how many repeats it stands for.
const (
	replayPace    = time.Minute
	replayLimit   = 10_000 // notifications counted at a time; beyond it the counts are written at once
	replayLatency = 50 * time.Millisecond
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
			c.write(db, c.due(db.cfg.Clock.Now(), false))
		}
	}
}

// flush writes every count; the store is closing.
func (c *replayCounter) flush(db *DB) { c.write(db, c.due(db.cfg.Clock.Now(), true)) }

// due takes the counts whose minute is over (or all) and keeps the others.
func (c *replayCounter) due(now time.Time, all bool) map[dispatch.NotificationID]replays {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = all || len(c.pending) > replayLimit
	due := map[dispatch.NotificationID]replays{}
	for id, p := range c.pending {
		switch {
		case p.count > 0 && (all || !now.Before(p.next)):
			due[id] = *p
			p.count, p.next = 0, now.Add(replayPace)
		case p.count == 0 && (all || !now.Before(p.next)):
			delete(c.pending, id)
		}
	}
	return due
}

func (c *replayCounter) write(db *DB, due map[dispatch.NotificationID]replays) {
	for id, p := range due {
		ctx, cancel := context.WithTimeout(context.Background(), readLimit)
		err := db.write(ctx, "count replays", func(tx *Tx) error { return tx.countReplays(id, p) })
		cancel()
		if err != nil {
			c.giveBack(id, p)
			db.cfg.Log.Warn("replays are not counted yet", "notification", id.String(), "count", p.count, "error", err.Error())
		}
	}
}

// giveBack keeps a count that could not be written for the next time.
func (c *replayCounter) giveBack(id dispatch.NotificationID, p replays) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.pending[id]; q != nil {
		q.count += p.count
		return
	}
	c.pending[id] = &replays{count: p.count, by: p.by, next: p.next}
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
