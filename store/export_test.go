package store

import (
	"context"
	"database/sql"
	"io/fs"

	"sentonce/dispatch"
	"sentonce/store/seal"
)

// OpenPool opens connections with the store's own pragmas.
func OpenPool(path string, readOnly bool, size int) (*sql.DB, error) {
	return openPool(path, readOnly, size)
}

// MigrateWith migrates with other steps than the embedded ones.
func MigrateWith(ctx context.Context, dir string, master *seal.Master, steps fs.FS) error {
	return migrateWith(ctx, dir, master, steps)
}

// Write runs a closure in the next group commit.
func (db *DB) Write(ctx context.Context, op string, fn func(*Tx) error) error {
	return db.write(ctx, op, fn)
}

// Exec runs a statement of a closure.
func (tx *Tx) Exec(query string, args ...any) (int64, error) { return tx.exec(query, args...) }

// Row reads one row in a closure.
func (tx *Tx) Row(query string, dest ...any) error { return tx.row(query, nil, dest...) }

// Readers are the connections that read.
func (db *DB) Readers() *sql.DB { return db.read.pool }

// Checkpointer is the connection that copies the journal back.
func (db *DB) Checkpointer() *sql.Conn { return db.wal.conn }

// Queued is how many closures wait for the writer.
func (db *DB) Queued() int { return len(db.w.jobs) }

// Interrupted runs a statement that is cut off after a moment, and hides the error from the transaction.
func (tx *Tx) Interrupted(ctx context.Context, query string) error {
	_, err := tx.w.conn.ExecContext(ctx, query)
	return err
}

// ShortWAL makes the journal's bounds so small that a test can reach them.
func ShortWAL(cfg Config, refuse int64) Config {
	cfg.wal = walBounds{background: walKeep + 1<<20, inline: walKeep + 2<<20, insist: walKeep + 3<<20, alarm: walKeep + 6<<20, refuse: refuse}
	return cfg
}

// Watchers is how many wait for a change.
func (db *DB) Watchers() (n int) {
	db.watch.mu.Lock()
	defer db.watch.mu.Unlock()
	for _, all := range db.watch.byID {
		n += len(all)
	}
	return n
}

// Statement is a query with its values.
type Statement struct {
	SQL  string
	Args []any
}

// ListStatements are the ways in which a list could be read.
func (db *DB) ListStatements(_ context.Context, f Filter, before dispatch.NotificationID) (all []Statement) {
	for _, s := range f.candidates() {
		query, args := s.ids(before, dispatch.NotificationID{}, 51)
		all = append(all, Statement{query, args})
	}
	return all
}

// SearchStatements are the ways in which a text is searched for.
func (db *DB) SearchStatements(text string) (all []Statement) {
	for _, s := range searches(text) {
		all = append(all, Statement{s.query, s.args})
	}
	return all
}

// AuditStatement is how a stretch of the log is read.
func (db *DB) AuditStatement(ctx context.Context, f AuditFilter, c AuditCut) (query string, args []any) {
	a := auditQuery{f: f, cut: c}
	if err := db.snapshot(ctx, func(q querier) error { return a.bound(q) }); err != nil {
		return err.Error(), nil
	}
	query, args = a.statement()
	return `SELECT ` + eventColumns + ` ` + query, args
}
