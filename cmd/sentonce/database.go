package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sentonce/cmd/sentonce/config"
	"sentonce/dispatch"
	"sentonce/migrations"
	"sentonce/store"
	"sentonce/store/seal"
)

// closeTime bounds the end of a store that a command opened beside the server.
const closeTime = 5 * time.Second

type migrateCmd struct{ common }

// Run brings the schema up to date. It holds the directory's lock meanwhile, so that it refuses while a server runs.
func (c migrateCmd) Run(ctx context.Context, on console) (err error) {
	cfg, err := c.load(on)
	if err != nil {
		return err
	}
	master, err := seal.ReadKeyFile(cfg.KeyFile)
	if err != nil {
		return err
	}
	lock, err := takeDirectory(cfg.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := store.Migrate(ctx, lock, cfg.DataDir, master); err != nil {
		return err
	}
	// Opening it proves that the schema is whole and that the key is the one of this database.
	if err := useStore(ctx, cfg, func(*store.DB) error { return nil }); err != nil {
		return err
	}
	return on.say("the schema in %s is at step %s", cfg.DataDir, newestStep())
}

// takeDirectory makes the data directory where it is missing, and takes its lock.
func takeDirectory(dir string) (*store.Lock, error) {
	if file := fileInTheWay(dir); file != "" {
		return nil, fmt.Errorf("data directory: %s is a file, not a folder", file)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := store.TakeLock(dir)
	if errors.Is(err, store.ErrLocked) {
		return nil, fmt.Errorf("%w: a server, a migration or a restore is running there; one process at a time", err)
	}
	return lock, err
}

// fileInTheWay is the file that stands where a folder, or one of the folders that lead to it, has to be; "" when there is none.
func fileInTheWay(dir string) string {
	for path := filepath.Clean(dir); ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return path
		case err == nil, path == filepath.Dir(path):
			return ""
		}
	}
}

// newestStep is the number of the newest step of this binary's schema, as its file name has it.
func newestStep() string {
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil || len(names) == 0 {
		return "0"
	}
	number, _, _ := strings.Cut(names[len(names)-1], "_")
	return strings.TrimLeft(number, "0")
}

// useStore opens the database of a configuration, beside a server if one runs, for as long as f takes.
func useStore(ctx context.Context, cfg config.Config, f func(*store.DB) error) (err error) {
	master, err := seal.ReadKeyFile(cfg.KeyFile)
	if err != nil {
		return err
	}
	if file := fileInTheWay(cfg.DataDir); file != "" {
		return fmt.Errorf("data directory: %s is a file, not a folder", file)
	}
	clock := dispatch.NewSteadyClock(dispatch.NewMachineBase())
	db, err := store.Open(ctx, storeConfig(cfg, master, clock, slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err = errors.Join(err, db.Close(closing))
	}()
	last, err := db.LastTime(ctx)
	if err != nil {
		return err
	}
	clock.NotBefore(last)
	return f(db)
}

// storeConfig is how every command opens the store.
func storeConfig(cfg config.Config, master *seal.Master, clock dispatch.Clock, log *slog.Logger) store.Config {
	policy := store.SendPolicy{MinRemaining: cfg.Dispatch.MinRemaining, MaxAttempts: cfg.Dispatch.MaxAttempts}
	return store.Config{Dir: cfg.DataDir, Master: master, Clock: clock, Log: log, Terms: func() store.SendPolicy { return policy }}
}
