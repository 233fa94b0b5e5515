package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"sentonce/cmd/sentonce/config"
	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/seal"
)

// The bounds at which the doctor speaks up. Those of the write-ahead log are the store's own: it raises an alarm at the first and takes
// nothing more at the second.
const (
	diskLow    = 1 << 30
	diskEmpty  = 64 << 20
	walHigh    = 64 << 20
	walRefuses = 1 << 30
	clockSlack = time.Second
)

func (f *findings) addresses(cfg config.Config) {
	switch {
	case cfg.PublicURL.Insecure():
		f.warn("public_url", "use an https address: storefronts send API keys and providers send numbers to it", "%s is not https", cfg.PublicURL.String())
	case cfg.PublicURL.Loopback():
		f.warn("public_url", "set the address at which providers reach this service; without it no delivery report arrives",
			"%s is only reachable from this machine", cfg.PublicURL.String())
	default:
		f.good("public_url", "%s", cfg.PublicURL.String())
	}
	if listensBeyond(cfg.Listen) {
		f.warn("listen", "listen on 127.0.0.1 behind a proxy with TLS, or keep the port inside a trusted network", "%s takes plain http from other machines", cfg.Listen)
		return
	}
	f.good("listen", "%s", cfg.Listen)
}

// listensBeyond reports whether an address may be reached from other machines.
func listensBeyond(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err != nil || !ip.IsLoopback()
}

// providers checks that each adapter can be made: that its credential is there and its settings fit.
func (f *findings) providers(cfg config.Config, env config.Env) {
	for _, p := range cfg.Providers {
		check := "provider " + p.Name
		if _, err := newProvider(p, env, dispatch.SystemClock{}); err != nil {
			f.fail("provider", providerHint(p), "%v", err)
			continue
		}
		if p.BaseURL.Loopback() {
			f.warn(check, "set base_url to the provider's address to reach real phones", "%s is on this machine", p.BaseURL.String())
			continue
		}
		ages := p.Reconcile
		f.good(check, "%s, timeout %s, asked %s to %s after a doubt began", p.BaseURL.Host, p.Timeout, ages[0], ages[len(ages)-1])
	}
}

// providerHint says where the doctor looked for a provider's credential, which is not where a running server has it from.
func providerHint(p config.Provider) string {
	if p.AuthTokenEnv != "" {
		return "doctor looks at the environment of this shell, a running server has its own: set " + p.AuthTokenEnv + " here, too"
	}
	return "mend the file that auth_token_file names"
}

// keyFile reads the key file as the server does.
func (f *findings) keyFile(path string) {
	_, err := seal.ReadKeyFile(path)
	if err == nil {
		f.good("key_file", "%s", path)
		return
	}
	hint := "restore it from your copy"
	info, missing := os.Stat(path)
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		hint += "; for a new installation `sentonce init --dir FOLDER` makes one in another folder"
	case missing == nil && info.Mode().Perm()&0o077 != 0:
		hint = "chmod 600 " + path
	case errors.Is(err, fs.ErrPermission):
		hint = "run doctor as the user of the server, and let that user read it"
	}
	f.fail("key_file", hint, "%v", err)
}

// machine checks the key file, the data directory and the disk below it.
func (f *findings) machine(cfg config.Config) {
	f.keyFile(cfg.KeyFile)
	if file := fileInTheWay(cfg.DataDir); file != "" {
		f.fail("data_dir", "name a folder in `data_dir`, or move the file away; a missing folder is made", "%s is a file, not a folder", file)
		return
	}
	switch err := probe(cfg.DataDir); {
	case errors.Is(err, fs.ErrNotExist):
		f.warn("data_dir", "`sentonce migrate` and `sentonce serve` make it", "%s is not there yet", cfg.DataDir)
		return
	case err != nil:
		f.fail("data_dir", "run doctor as the user of the server, and let that user write there", "%v", err)
		return
	}
	f.folder(cfg.DataDir)
	switch free, err := diskFree(cfg.DataDir); {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		f.warn("disk", "look at the disk yourself", "%v", err)
	case free < diskEmpty:
		f.fail("disk", "make room: admissions are answered 503 when nothing can be stored", "%d MiB free", free>>20)
	case free < diskLow:
		f.warn("disk", "make room before it is full", "%d MiB free", free>>20)
	default:
		f.good("disk", "%d MiB free", free>>20)
	}
}

// folder looks at who else may look into the data directory.
func (f *findings) folder(dir string) {
	switch info, err := os.Stat(dir); {
	case err != nil:
		f.fail("data_dir", "look at the folder yourself", "%v", err)
	case info.Mode().Perm()&0o077 != 0:
		f.warn("data_dir", "chmod 700 it: the records hold pseudonyms and times, and nobody but the server needs them", "%s can be read by others (mode %04o)", dir, info.Mode().Perm())
	default:
		f.good("data_dir", "%s", dir)
	}
}

// probe writes and removes a file.
func probe(dir string) error {
	file, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// database opens the store as the server does. That it opens proves the schema's step, the version of SQLite and that the key fits.
func (f *findings) database(ctx context.Context, cfg config.Config) {
	if fileInTheWay(cfg.DataDir) != "" { // told already
		return
	}
	err := useStore(ctx, cfg, func(db *store.DB) error {
		f.good("schema", "step %s, as this version needs", newestStep())
		f.good("sqlite", "3.51.3 or newer, as the store demands (modernc.org/sqlite %s)", moduleVersion("modernc.org/sqlite"))
		f.good("master key", "fits the database")
		if err := db.Ready(ctx); err != nil {
			f.fail("writable", "look for a full disk, a read-only file system, or a program that holds the database locked", "%v", err)
		} else {
			f.good("writable", "an event could be stored now")
		}
		return f.clock(ctx, db)
	})
	switch {
	case err == nil:
		f.journal(cfg)
	case errors.Is(err, seal.ErrKeyFile): // told already; it stands before the next case, because the missing file may be the key's
	case errors.Is(err, fs.ErrNotExist):
		f.warn("database", "run `sentonce migrate` or `sentonce serve`", "there is none yet in %s", cfg.DataDir)
	case errors.Is(err, seal.ErrWrongKey):
		f.fail("master key", "use the key file that belongs to this database", "%v", err)
	case errors.Is(err, store.ErrSchema):
		f.fail("schema", "run `sentonce migrate`, or the version that made the database", "%v", err)
	default:
		f.fail("database", "the message is SQLite's or the system's", "%v", err)
	}
}

// clock compares the machine's clock with the newest stored time.
func (f *findings) clock(ctx context.Context, db *store.DB) error {
	last, err := db.LastTime(ctx)
	if err != nil {
		return err
	}
	now := dispatch.SystemClock{}.Now()
	if behind := last.Sub(now); behind > clockSlack {
		f.fail("clock", "set the clock; until it has caught up nothing is sent", "it is %s behind the newest record", behind.Round(time.Second))
		return nil
	}
	f.good("clock", "%s, not before the newest record", now.UTC().Format(time.RFC3339))
	return nil
}

// journal looks at the write-ahead log's size: it grows without end while another program keeps a read transaction open.
func (f *findings) journal(cfg config.Config) {
	const hint = "end the program that reads the database for long; the log shrinks by itself then"
	info, err := os.Stat(filepath.Join(cfg.DataDir, store.FileName+"-wal"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.good("wal", "none")
	case err != nil:
		f.warn("wal", hint, "%v", err)
	case info.Size() >= walRefuses:
		f.fail("wal", hint, "%d MiB: nothing more is taken", info.Size()>>20)
	case info.Size() > walHigh:
		f.warn("wal", hint, "%d MiB", info.Size()>>20)
	default:
		f.good("wal", "%d KiB", info.Size()>>10)
	}
}
