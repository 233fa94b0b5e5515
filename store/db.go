// Package store keeps notifications and their evidence in SQLite (WAL, synchronous=FULL). One goroutine writes, in group commits; many
// connections read. SQL stands only here; the rules stand in package dispatch, and the schema's triggers enforce the invariants that must
// hold whatever the code does.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"modernc.org/sqlite"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

const (
	// FileName is the database's name in the data directory.
	FileName = "sentonce.db"

	busyTimeout    = 5 * time.Second // how long a statement waits for another process's lock
	readLimit      = 5 * time.Second // the longest read of our own: longer ones would keep the journal from being reset
	requestReaders = 8
	engineReaders  = 4
)

// Config is what a store needs.
type Config struct {
	Dir    string // the data directory; it must exist
	Master *seal.Master
	Clock  dispatch.Clock
	Log    *slog.Logger
	// Terms gives the sending policy that the rules read inside a transaction.
	Terms func() SendPolicy
	// OnCommit is told after each commit what it made possible; it must not block. nil: nobody is told.
	OnCommit func(Signal)

	wal walBounds // zero: the usual ones
}

// SendPolicy is the part of the policy that the rules read when an attempt starts or ends.
type SendPolicy struct {
	MinRemaining time.Duration // less life than this is too little for a call
	MaxAttempts  int           // permits granted after a doubt, the first included
}

// DB is the store. It is safe for concurrent use; Close it.
type DB struct {
	cfg     Config
	path    string
	pool    *sql.DB  // the writer's
	read    *readers // of requests
	engine  *readers // of the pool, the reconciler and the sweeper
	w       *writer
	wal     *checkpointer
	index   *seal.Index
	watch   watchers
	keys    keyCache
	replay  replayCounter
	tally   tally
	probe   probe
	shared  singleflight.Group // reads of one record between two commits
	commits atomic.Uint64      // ours, and what was noticed of others'

	closeOnce sync.Once
	closed    error
	fatalOnce sync.Once
	fatal     chan error
	foreign   atomic.Int64 // data_version as last seen by the writer
	stop      context.CancelFunc
	wg        sync.WaitGroup
}

// Open opens the database of a data directory whose schema is current. It does not take the directory's lock: the process that dispatches
// does that with Lock, other commands work beside it. The errors are ErrSchema and seal.ErrWrongKey, or what SQLite says.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	db := &DB{cfg: cfg, path: filepath.Join(cfg.Dir, FileName), fatal: make(chan error, 1), probe: probe{turn: make(chan struct{}, 1)}}
	if _, err := os.Stat(db.path); err != nil {
		return nil, fmt.Errorf("no database in the data directory (run migrate): %w", err)
	}
	var err error
	if db.pool, err = openPool(db.path, false, 1); err != nil {
		return nil, err
	}
	if db.read, err = openReaders(db.path, requestReaders); err != nil {
		return nil, errors.Join(err, db.pool.Close())
	}
	if db.engine, err = openReaders(db.path, engineReaders); err != nil {
		return nil, errors.Join(err, db.read.close(), db.pool.Close())
	}
	if err := db.start(ctx); err != nil {
		return nil, errors.Join(err, db.engine.close(), db.read.close(), db.pool.Close())
	}
	return db, nil
}

func (db *DB) start(ctx context.Context) error {
	if err := checkSchema(ctx, db.pool); err != nil {
		return err
	}
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open the writer: %w", err)
	}
	if db.wal, err = openCheckpointer(db); err != nil {
		return errors.Join(err, conn.Close())
	}
	db.w = &writer{conn: conn, stmts: map[string]*sql.Stmt{}, clock: db.cfg.Clock, log: db.cfg.Log, jobs: make(chan *job, 4*maxBatch),
		quit: make(chan struct{}), done: make(chan struct{}), fatal: db.fail, after: db.committed, before: db.wal.admit, tidy: db.wal.tidy}
	if err := db.prime(ctx); err != nil {
		return errors.Join(err, conn.Close(), db.wal.close())
	}
	background, stop := context.WithCancel(context.Background())
	db.stop = stop
	go db.w.run()
	db.wg.Go(func() { db.wal.run(background) })
	db.wg.Go(func() { db.watchForeign(background) })
	db.wg.Go(func() { db.replay.run(background, db) })
	return nil
}

// newestTime looks at more than the last event: one that was noted late carries the time at which it happened.
const newestTime = `SELECT max(at) FROM (SELECT at FROM events ORDER BY seq DESC LIMIT 1000)`

// prime reads what the process must know before it writes: the newest stored time, the version that others' writes move, and the index keys.
func (db *DB) prime(ctx context.Context) error {
	var newest sql.NullInt64
	if err := db.w.conn.QueryRowContext(ctx, newestTime).Scan(&newest); err != nil {
		return fmt.Errorf("newest stored time: %w", err)
	}
	db.w.last = newest.Int64
	var version int64
	if err := db.w.conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil {
		return fmt.Errorf("data version: %w", err)
	}
	db.foreign.Store(version)
	return db.loadIndex(ctx)
}

// Close ends the background work and the writer, after what was queued has been answered. Waiting reads are ended. Closing again does nothing
// and returns the same error.
func (db *DB) Close(ctx context.Context) error {
	db.closeOnce.Do(func() { db.closed = db.close(ctx) })
	return db.closed
}

func (db *DB) close(ctx context.Context) error {
	db.FlushReplays(ctx)
	db.stop()
	db.wg.Wait()
	err := db.w.close(ctx)
	db.watch.closeAll()
	return errors.Join(err, db.wal.close(), db.engine.close(), db.read.close(), db.pool.Close())
}

// Fatal delivers the error after which nothing may be believed any more: the process has to end.
func (db *DB) Fatal() <-chan error { return db.fatal }

func (db *DB) fail(err error) {
	db.fatalOnce.Do(func() { db.fatal <- err })
}

// LastTime is the newest time that is stored; the clock must never fall behind it.
func (db *DB) LastTime(ctx context.Context) (time.Time, error) {
	var n sql.NullInt64
	err := db.queryRow(ctx, newestTime, nil, &n)
	return instant(n), err
}

// References signs and checks the references in receipt URLs.
func (db *DB) References() dispatch.ReferenceSigner {
	return dispatch.NewReferenceSigner(db.index.Key(seal.KeyReference))
}

// write runs a closure in the next group commit.
func (db *DB) write(ctx context.Context, op string, fn func(*Tx) error) error {
	return db.w.do(ctx, op, fn)
}

// committed runs on the writer's goroutine after a commit and before its callers are answered.
func (db *DB) committed(done []*Tx) {
	db.commits.Add(1) // before anybody is woken
	var s Signal
	for _, tx := range done {
		s.add(tx.signal)
		db.tally.add(tx.settled)
		for _, id := range tx.changed {
			db.watch.notify(id)
		}
	}
	if s.Keys {
		db.keys.forget()
	}
	if db.cfg.OnCommit != nil && s != (Signal{}) {
		db.cfg.OnCommit(s)
	}
}

// openPool opens connections that all carry the same pragmas: they are in the DSN, so that none is forgotten on a pooled connection.
func openPool(path string, readOnly bool, size int) (*sql.DB, error) {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), // first: the others may have to wait
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"secure_delete(1)",
		"trusted_schema(0)",
		"wal_autocheckpoint(0)", // ours: an automatic one hides a failed sync
		fmt.Sprintf("journal_size_limit(%d)", walKeep),
		"cell_size_check(1)",
		"temp_store(MEMORY)",
		"cache_size(-16384)",
	}}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	}
	pool, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool, checkEngine(pool)
}

// oldestEngine is the first SQLite without the WAL-reset corruption (3.7.0 to 3.51.2, two connections that checkpoint and write at once).
const oldestEngine = 3_051_003

func checkEngine(pool *sql.DB) error {
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return errors.Join(fmt.Errorf("choose fdatasync: %w", err), pool.Close())
	}
	var major, minor, patch int
	var version string
	if err := pool.QueryRow(`SELECT sqlite_version()`).Scan(&version); err != nil {
		return errors.Join(classify("open", err), pool.Close())
	}
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return errors.Join(fmt.Errorf("SQLite version %q: %w", version, err), pool.Close())
	}
	if major*1_000_000+minor*1_000+patch < oldestEngine {
		return errors.Join(fmt.Errorf("SQLite %s is too old: 3.51.3 is needed", version), pool.Close())
	}
	return nil
}
