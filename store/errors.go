package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"sentonce/dispatch"
)

var (
	// ErrLocked: another process holds the data directory.
	ErrLocked = errors.New("the data directory is in use by another process")
	// ErrSchema: the database's schema is not the one that this binary needs.
	ErrSchema = errors.New("the database schema does not fit this binary")
	// ErrExists: the name is taken.
	ErrExists = errors.New("already exists")
	// errClosed: the store is closing; nothing was kept.
	errClosed = fmt.Errorf("the store is closed: %w", dispatch.ErrUnavailable)
)

// code is SQLite's extended result code of an error, 0 when it is not SQLite's.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// isConstraint reports whether a statement was refused by a constraint or a trigger: the statement alone is undone, and the transaction
// lives on.
func isConstraint(err error) bool { return code(err)&0xff == lib.SQLITE_CONSTRAINT }

// isUnique reports whether a statement was refused because its key exists.
func isUnique(err error) bool {
	c := code(err)
	return c == lib.SQLITE_CONSTRAINT_UNIQUE || c == lib.SQLITE_CONSTRAINT_PRIMARYKEY
}

// isDiskFailure reports whether there was no room, or the file system failed.
func isDiskFailure(err error) bool {
	c := code(err) & 0xff
	return c == lib.SQLITE_FULL || c == lib.SQLITE_IOERR
}

// isSyncFailure reports whether the file system failed to make data durable. After that the kernel may have dropped what it could not write,
// so that nothing may be believed any more: the process ends and recovers by reading what is on disk.
func isSyncFailure(err error) bool {
	switch code(err) {
	case lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_DIR_FSYNC, lib.SQLITE_IOERR_TRUNCATE:
		return true
	}
	return false
}

// classify wraps an error for callers: what a retry may mend becomes ErrUnavailable, a broken file or a bug stays what it is.
func classify(op string, err error) error {
	if err == nil {
		return nil
	}
	switch code(err) & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN,
		lib.SQLITE_INTERRUPT, lib.SQLITE_NOMEM, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_CONSTRAINT, lib.SQLITE_ERROR,
		lib.SQLITE_ABORT, lib.SQLITE_PROTOCOL, lib.SQLITE_SCHEMA:
		return fmt.Errorf("%s: %w: %w", op, dispatch.ErrUnavailable, err)
	}
	// ErrTxDone: the time-out of a read ended its transaction between two statements.
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("%s: %w: %w", op, dispatch.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}
