package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"sentonce/dispatch"
)

// The journal's size decides who copies it back into the database file. In the background, a connection of its own does it without holding
// up writers; where it cannot keep pace, the writer does the last piece itself between two batches, so that the journal can start over.
// Automatic checkpoints are off: they hide a failed sync.
const (
	walKeep       = 8 << 20  // bytes to which a journal that starts over is cut, so that its file's size tells how long it is
	walBackground = 16 << 20 // bytes at which the background works
	walInline     = 32 << 20 // bytes at which the writer joins in
	walAlarm      = 64 << 20 // bytes at which somebody is told
	walRefuse     = 1 << 30  // bytes at which nothing more is taken: a reader elsewhere keeps the journal from being reset
	walPace       = 50 * time.Millisecond
)

// checkpointer keeps the journal short.
type checkpointer struct {
	pool  *sql.DB
	conn  *sql.Conn
	db    *DB
	log   *slog.Logger
	path  string
	bytes atomic.Int64
	wake  chan struct{}
	stuck atomic.Bool // the last inline attempt did not get through; the background tries before the next one
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
	c := &checkpointer{pool: pool, conn: conn, db: db, log: db.cfg.Log, path: db.path + "-wal", wake: make(chan struct{}, 1)}
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

// admit refuses a batch when the journal has outgrown every bound.
func (c *checkpointer) admit() error {
	if c.bytes.Load() < walRefuse {
		return nil
	}
	return fmt.Errorf("the journal has %d MiB because a reader keeps it from being reset: %w", c.bytes.Load()>>20, dispatch.ErrUnavailable)
}

// tidy runs on the writer's goroutine between batches.
func (c *checkpointer) tidy() {
	size := c.measure()
	if size < walBackground {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	if size < walInline || c.stuck.Load() {
		return
	}
	log, moved, err := checkpoint(c.db.w.conn)
	c.report(err)
	c.stuck.Store(err != nil || moved < log)
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
		log, moved, err := checkpoint(c.conn)
		c.report(err)
		c.stuck.Store(false)
		if size := c.measure(); size > walAlarm != alarmed {
			alarmed = size > walAlarm
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
