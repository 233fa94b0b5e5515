package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"sentonce/dispatch"
)

// The journal's size decides who copies it back into the database file. In the background, a connection of its own does it without holding
// up writers; where it cannot keep pace, the writer does the last piece itself between two batches, so that the journal can start over.
// Automatic checkpoints are off: they hide a failed sync.
const (
	walKeep = 8 << 20 // bytes to which a journal that starts over is cut, so that its file's size tells how long it is
	walPace = 50 * time.Millisecond

	insistWait = 500 * time.Millisecond // how long the writer waits for readers that are under way
	insistRest = 20                     // rounds of walPace between two such waits; twice as many after each that was in vain
	insistMost = 32 * insistRest
)

// walBounds are the journal's sizes, in bytes, at which something is done about it.
type walBounds struct {
	background int64 // the background works
	inline     int64 // the writer joins in
	insist     int64 // the writer holds everything up for a moment, so that readers cannot keep the journal from starting over
	alarm      int64 // somebody is told
	refuse     int64 // nothing more is taken: a reader elsewhere keeps the journal from being reset
}

func defaultWALBounds() walBounds {
	return walBounds{background: 16 << 20, inline: 32 << 20, insist: 48 << 20, alarm: 64 << 20, refuse: 1 << 30}
}

// checkpointer keeps the journal short.
type checkpointer struct {
	pool   *sql.DB
	conn   *sql.Conn
	db     *DB
	log    *slog.Logger
	path   string
	bounds walBounds
	bytes  atomic.Int64
	one    sync.Mutex // held by whoever copies: two at once only get into each other's way
	wake   chan struct{}
	stuck  atomic.Bool // the last inline attempt did not get through; the background tries before the next one
	copied atomic.Bool // the last attempt copied all of the journal, so that the next commit may start it over

	rest   atomic.Int64 // rounds of the background until the writer may insist again
	vainly int64        // the writer's: the rest after the next vain wait
}

func openCheckpointer(db *DB) (*checkpointer, error) {
	pool, err := openPool(db.path, false, 1)
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(context.Background())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the checkpointer: %w", err), pool.Close())
	}
	c := &checkpointer{pool: pool, conn: conn, db: db, log: db.cfg.Log, path: db.path + "-wal", wake: make(chan struct{}, 1),
		bounds: db.cfg.wal}
	if c.bounds == (walBounds{}) {
		c.bounds = defaultWALBounds()
	}
	c.measure()
	return c, nil
}

func (c *checkpointer) close() error { return errors.Join(c.conn.Close(), c.pool.Close()) }

// WALBytes is the journal's size as last measured.
func (db *DB) WALBytes() int64 { return db.wal.bytes.Load() }

func (c *checkpointer) measure() int64 {
	info, err := os.Stat(c.path)
	if err != nil {
		c.bytes.Store(0)
		return 0
	}
	c.bytes.Store(info.Size())
	return info.Size()
}

// admit refuses a batch when the journal has outgrown every bound. Its file is cut by the commit that starts it over, and by nothing else:
// once all of it has been copied a batch is let through whatever the size.
func (c *checkpointer) admit() error {
	if c.bytes.Load() < c.bounds.refuse || c.copied.Load() {
		return nil
	}
	return fmt.Errorf("the journal has %d MiB because a reader keeps it from being reset: %w", c.bytes.Load()>>20, dispatch.ErrUnavailable)
}

// tidy runs on the writer's goroutine between batches. Readers of our own overlap, so that under load a passive checkpoint may find one in
// its way again and again; then the writer insists.
func (c *checkpointer) tidy() {
	size := c.measure()
	if size < c.bounds.background {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	if size >= c.bounds.insist && c.rest.Load() <= 0 {
		c.insist()
		return
	}
	if size < c.bounds.inline || c.stuck.Load() {
		return
	}
	if !c.one.TryLock() {
		return
	}
	defer c.one.Unlock()
	log, moved, err := checkpoint(c.db.w.conn)
	c.report(err)
	c.stuck.Store(!c.note(log, moved, err))
}

// insist waits until no reader uses the journal any more, so that the next commit starts it over. New readers go on meanwhile: they read the
// database file alone. A reader that stays longer, one of another program, makes it give up and come back later and later.
func (c *checkpointer) insist() {
	c.one.Lock()
	defer c.one.Unlock()
	busy, log, moved, err := c.restart()
	c.report(err)
	if c.note(log, moved, err) && !busy {
		c.vainly = insistRest
		c.rest.Store(insistRest)
		return
	}
	c.vainly = min(2*max(c.vainly, insistRest), insistMost)
	c.rest.Store(c.vainly)
}

func (c *checkpointer) restart() (busy bool, log, moved int64, err error) {
	wait := func(d time.Duration) error {
		_, err := c.db.w.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
		return err
	}
	if err := wait(insistWait); err != nil {
		return false, 0, 0, err
	}
	err = c.db.w.conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(RESTART)`).Scan(&busy, &log, &moved)
	return busy, log, moved, errors.Join(err, wait(busyTimeout))
}

// note reports whether a checkpoint copied everything. One that found another at work copies nothing and says -1.
func (c *checkpointer) note(log, moved int64, err error) bool {
	all := err == nil && log >= 0 && moved == log
	c.copied.Store(all)
	return all
}

// run works in the background until ctx ends.
func (c *checkpointer) run(ctx context.Context) {
	pace := time.NewTicker(walPace)
	defer pace.Stop()
	alarmed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		c.one.Lock()
		log, moved, err := checkpoint(c.conn)
		c.note(log, moved, err)
		c.one.Unlock()
		c.report(err)
		c.stuck.Store(false)
		c.rest.Add(-1)
		if size := c.measure(); size > c.bounds.alarm != alarmed {
			alarmed = size > c.bounds.alarm
			if alarmed {
				c.log.Warn("the journal cannot be reset: another process reads the database for long", "bytes", size, "pages", log, "moved", moved)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
	}
}

// report makes a failed sync fatal; anything else is tried again by the next checkpoint.
func (c *checkpointer) report(err error) {
	switch {
	case err == nil:
	case isSyncFailure(err):
		c.db.fail(fmt.Errorf("checkpoint: %w", err))
	default:
		c.log.Warn("checkpoint", "error", err.Error())
	}
}

// checkpoint copies what no reader needs; it waits for nobody.
func checkpoint(conn *sql.Conn) (log, moved int64, err error) {
	var busy int64
	err = conn.QueryRowContext(context.Background(), `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &log, &moved)
	return log, moved, err
}
