package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"

	"sentonce/migrations"
	"sentonce/store/seal"
)

// Lock is the right to dispatch from a data directory. The operating system drops it with the process, however it ends.
type Lock struct{ f *flock.Flock }

// TakeLock takes the data directory's lock. The error is ErrLocked when another process has it.
func TakeLock(dir string) (*Lock, error) {
	f := flock.New(filepath.Join(dir, "sentonce.lock"), flock.SetPermissions(0o600))
	ok, err := f.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", dir, ErrLocked)
	}
	return &Lock{f}, nil
}

// Release gives the lock back.
func (l *Lock) Release() error { return l.f.Unlock() }

// Migrate brings the database of a data directory to this binary's schema, making it where there is none, and creates the index keys. The
// caller holds the lock, because goose has none for SQLite. Each step is one transaction: a step that fails, or a process that dies in it,
// leaves the schema as it was before the step. The error is ErrSchema when the database is newer than the binary or has a gap, and ErrLocked
// when the caller does not hold the lock.
func Migrate(ctx context.Context, lock *Lock, dir string, master *seal.Master) error {
	if lock == nil || !lock.f.Locked() {
		return fmt.Errorf("migrate without the lock of %s: %w", dir, ErrLocked)
	}
	return migrateWith(ctx, dir, master, migrations.FS)
}

func migrateWith(ctx context.Context, dir string, master *seal.Master, steps fs.FS) (err error) {
	path := filepath.Join(dir, FileName)
	if err := makeFile(path); err != nil {
		return err
	}
	pool, err := openPool(path, false, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	p, err := goose.NewProvider(goose.DialectSQLite3, pool, steps, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrate: %w: %w", ErrSchema, err)
	}
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if current > target {
		return fmt.Errorf("migrate: the database is at step %d, this binary knows %d: %w", current, target, ErrSchema)
	}
	if current > 0 { // before anything is changed: keys that are made later must not be wrapped by another database's master key
		if err := withConn(ctx, pool, func(conn *sql.Conn) error {
			_, err := unwrapIndexKeys(ctx, conn, master)
			return err
		}); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w: %w", ErrSchema, err)
	}
	return withConn(ctx, pool, func(conn *sql.Conn) error { return makeIndexKeys(ctx, conn, master) })
}

// withConn lends the pool's connection to a function.
func withConn(ctx context.Context, pool *sql.DB, fn func(*sql.Conn) error) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return errors.Join(fn(conn), conn.Close())
}

// makeFile makes an empty database file that others cannot read; SQLite gives its companions the same mode.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return f.Close()
}

// checkSchema compares the database's step with the newest one of this binary.
func checkSchema(ctx context.Context, pool *sql.DB) error {
	var have sql.NullInt64
	if err := pool.QueryRowContext(ctx, `SELECT max(version_id) FROM goose_db_version WHERE is_applied = 1`).Scan(&have); err != nil {
		return fmt.Errorf("%w (run migrate): %w", ErrSchema, err)
	}
	want, err := newestStep()
	if err != nil {
		return err
	}
	if have.Int64 != want {
		return fmt.Errorf("%w: it is at step %d, this binary needs %d (run migrate, or the matching binary)", ErrSchema, have.Int64, want)
	}
	return nil
}

func newestStep() (int64, error) {
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil || len(names) == 0 {
		return 0, fmt.Errorf("embedded migrations: %w", errors.Join(err, ErrSchema))
	}
	v, err := goose.NumericComponent(names[len(names)-1])
	if err != nil {
		return 0, fmt.Errorf("embedded migrations: %w", err)
	}
	return v, nil
}
