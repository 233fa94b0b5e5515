package store

import (
	"context"
	"database/sql"
	"io/fs"

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
func (db *DB) Readers() *sql.DB { return db.read }

// Checkpointer is the connection that copies the journal back.
func (db *DB) Checkpointer() *sql.Conn { return db.wal.conn }
