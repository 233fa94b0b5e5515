package store_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"sentonce/migrations"
	"sentonce/store"
	"sentonce/store/seal"
	"sentonce/store/storetest"
)

// keyed makes a directory with a key and nothing else.
func keyed(t *testing.T) (dir string, master *seal.Master) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "master.key")
	if err := seal.WriteKeyFile(path, rand.Reader); err != nil {
		t.Fatal(err)
	}
	master, err := seal.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return dir, master
}

// migrateOnce takes the lock and migrates, as the command does.
func migrateOnce(dir string) error {
	master, err := seal.ReadKeyFile(filepath.Join(dir, "master.key"))
	if err != nil {
		return err
	}
	lock, err := store.TakeLock(dir)
	if err != nil {
		return err
	}
	return errors.Join(store.Migrate(context.Background(), lock, dir, master), lock.Release())
}

// wholeSchema fails unless the directory has the complete schema, the index keys, and a sound file.
func wholeSchema(t *testing.T, dir string, master *seal.Master) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: dir, Master: master, Clock: &storetest.Clock{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	pool, err := store.OpenPool(filepath.Join(dir, store.FileName), true, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for query, want := range map[string]string{
		`PRAGMA integrity_check`:                                             "[ok]",
		`SELECT count(*) FROM goose_db_version WHERE version_id = 1`:         "[1]",
		`SELECT count(*) FROM index_keys`:                                    fmt.Sprintf("[%d]", len(seal.IndexKeyNames())),
		`SELECT count(*) FROM sqlite_master WHERE name = 'incidents_update'`: "[1]",
	} {
		if got := dump(t, pool, query); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v", query, got)
		}
	}
}

func TestFieldF72_FiveStartAtOnce(t *testing.T) {
	t.Parallel()
	dir, master := keyed(t)
	start := make(chan struct{})
	outs, errs := make([]strings.Builder, 5), make([]error, 5)
	var wg sync.WaitGroup
	for i := range 5 {
		cmd := child(t, "migrate", dir)
		cmd.Stderr = &outs[i]
		wg.Go(func() {
			<-start
			errs[i] = cmd.Run()
		})
	}
	close(start)
	wg.Wait()
	done := 0
	for i, err := range errs {
		if err == nil {
			done++
		} else if out := outs[i].String(); !strings.Contains(out, store.ErrLocked.Error()) {
			t.Errorf("a loser says: %s", out)
		}
	}
	if done == 0 {
		t.Error("nobody migrated")
	}
	wholeSchema(t, dir, master)
}

func TestFieldF72_KilledInTheMiddle(t *testing.T) {
	t.Parallel()
	for after := 0; after < 60; after += atMost(4, 20) { // a migration takes some tens of milliseconds
		dir, master := keyed(t)
		cmd := child(t, "migrate", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(after)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if err := migrateOnce(dir); err != nil {
			t.Fatalf("after a kill at %d ms: %v", after, err)
		}
		wholeSchema(t, dir, master)
	}
}

// steps are the embedded steps and more of the test's.
func steps(t *testing.T, more map[string]string) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &fstest.MapFile{Data: content}
	}
	for name, content := range more {
		all[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + content)}
	}
	return all
}

func TestStepThatFailsLeavesTheOnesBeforeAndSaysWhich(t *testing.T) {
	t.Parallel()
	dir, master := keyed(t)
	broken := steps(t, map[string]string{"00900_more.sql": "CREATE TABLE half (id INTEGER PRIMARY KEY) STRICT;\nINSERT INTO nowhere VALUES (1);"})
	err := store.MigrateWith(t.Context(), dir, master, broken)
	if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "version:900") {
		t.Fatalf("the failing step: %v", err)
	}
	pool, err := store.OpenPool(filepath.Join(dir, store.FileName), true, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if half := dump(t, pool, `SELECT name FROM sqlite_master WHERE name = 'half'`); len(half) != 0 {
		t.Error("half of the failing step stayed")
	}
	if err := store.MigrateWith(t.Context(), dir, master, migrations.FS); err != nil {
		t.Fatalf("the binary without the step: %v", err)
	}
	wholeSchema(t, dir, master)
	mended := steps(t, map[string]string{"00900_more.sql": "CREATE TABLE half (id INTEGER PRIMARY KEY) STRICT;"})
	if err := store.MigrateWith(t.Context(), dir, master, mended); err != nil {
		t.Fatalf("the mended step: %v", err)
	}
	if _, err := store.Open(t.Context(), store.Config{Dir: dir, Master: master, Clock: &storetest.Clock{}}); !errors.Is(err, store.ErrSchema) {
		t.Errorf("opening a newer database: %v", err)
	}
	if err := store.MigrateWith(t.Context(), dir, master, migrations.FS); !errors.Is(err, store.ErrSchema) {
		t.Errorf("migrating a newer database: %v", err)
	}
}

func TestGapInTheStepsIsRefused(t *testing.T) {
	t.Parallel()
	dir, master := keyed(t)
	if err := store.MigrateWith(t.Context(), dir, master, steps(t, map[string]string{"00900_late.sql": "SELECT 1;"})); err != nil {
		t.Fatal(err)
	}
	err := store.MigrateWith(t.Context(), dir, master, steps(t, map[string]string{"00800_early.sql": "SELECT 1;", "00900_late.sql": "SELECT 1;"}))
	if !errors.Is(err, store.ErrSchema) {
		t.Fatalf("a step below the newest one that was never made: %v", err)
	}
}

func TestMigrateNeedsTheLockAndRepeatsHarmlessly(t *testing.T) {
	t.Parallel()
	dir, master := keyed(t)
	if err := store.Migrate(t.Context(), nil, dir, master); !errors.Is(err, store.ErrLocked) {
		t.Errorf("without the lock: %v", err)
	}
	lock, err := store.TakeLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.TakeLock(dir); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	for range 2 {
		if err := store.Migrate(t.Context(), lock, dir, master); err != nil {
			t.Fatal(err)
		}
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context(), lock, dir, master); !errors.Is(err, store.ErrLocked) {
		t.Errorf("after the lock was given back: %v", err)
	}
	wholeSchema(t, dir, master)
}

func TestOpenWithoutADatabaseSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir, master := keyed(t)
	if _, err := store.Open(t.Context(), store.Config{Dir: dir, Master: master, Clock: &storetest.Clock{}}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("an empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, store.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(t.Context(), store.Config{Dir: dir, Master: master, Clock: &storetest.Clock{}}); !errors.Is(err, store.ErrSchema) {
		t.Errorf("an empty database: %v", err)
	}
}
