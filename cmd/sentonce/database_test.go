package main

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// query runs statements on a site's database from outside, as another program would.
func query(t *testing.T, s site, statement string) (answer string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.dir, "data", "sentonce.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(statement).Scan(&answer); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatalf("%s: %v", statement, err)
	}
	return answer
}

// newer makes the database one of a later version.
func newer(t *testing.T, s site) {
	t.Helper()
	query(t, s, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1) RETURNING id`)
}

// future stores an event of next year.
func future(t *testing.T, s site) {
	t.Helper()
	query(t, s, fmt.Sprintf(`INSERT INTO events (seq, at, by_kind, by_id, action, final) SELECT max(seq) + 1, %d, 'worker', '', 'server_started', 0
		FROM events RETURNING seq`, time.Now().AddDate(1, 0, 0).UnixMilli()))
}

func TestServeRefusesADatabaseThatItCannotServe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*testing.T, site)
		says  string
	}{
		"newer than the binary": {newer, "this binary knows"},
		"sealed by another key": {otherKey, "does not belong to this database"},
		"a key file for all":    {func(t *testing.T, s site) { chmod(t, s.dir, "master.key", 0o640) }, "chmod 600"},
		"no database at all": {func(t *testing.T, s site) {
			if err := os.WriteFile(filepath.Join(s.dir, "data", "sentonce.db"), []byte(strings.Repeat("no database", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nowhere, "")
			s.must(t, "", "migrate")
			c.spoil(t, s)
			for _, command := range []string{"serve", "migrate"} {
				code, out, text := s.run(t, "", command, "--config", s.config)
				if code != exitFailure || out != "" || strings.Count(text, "\n") != 1 || !strings.Contains(text, c.says) {
					t.Errorf("%s: exit code %d, stdout %q, stderr %q", command, code, out, text)
				}
			}
			lock, err := takeDirectory(filepath.Join(s.dir, "data"))
			if err != nil {
				t.Fatalf("the lock was not given back: %v", err)
			}
			if err := lock.Release(); err != nil {
				t.Error(err)
			}
		})
	}
}

// process is the command as a process of its own.
func (s site) process(args ...string) (*exec.Cmd, *lines) {
	cmd := exec.Command(os.Args[0], append(args, "--config", s.config)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "TOKEN="+s.token)
	text := newLines()
	cmd.Stdout, cmd.Stderr = text, text
	return cmd, text
}

func checkSchema(t *testing.T, s site) {
	t.Helper()
	if got := query(t, s, `PRAGMA integrity_check`); got != "ok" {
		t.Errorf("integrity_check: %s", got)
	}
	if got := query(t, s, `SELECT count(*) || ' ' || count(DISTINCT version_id) FROM goose_db_version WHERE version_id > 0`); got != newestStep()+" "+newestStep() {
		t.Errorf("steps applied, and distinct ones: %s, want each of %s once", got, newestStep())
	}
}

// ended is how a process came to its end.
type ended struct {
	code int
	text string
}

// startAll starts a command many times in the same instant. Each end is told once; what still runs at the test's end is killed.
func (s site) startAll(t *testing.T, command string, many int) (outputs []*lines, ends chan ended) {
	t.Helper()
	ends = make(chan ended, many)
	for range many {
		cmd, text := s.process(command)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // most have ended long ago
		outputs = append(outputs, text)
		go func() {
			_ = cmd.Wait() // the exit code says the same
			ends <- ended{cmd.ProcessState.ExitCode(), text.String()}
		}()
	}
	return outputs, ends
}

// refusals takes n ends and counts those in good order; the others must have found the directory in use.
func refusals(t *testing.T, ends <-chan ended, n int) (succeeded int) {
	t.Helper()
	for range n {
		select {
		case e := <-ends:
			switch {
			case e.code == exitOK:
				succeeded++
			case e.code != exitFailure || !strings.Contains(e.text, "in use by another process"):
				t.Errorf("exit code %d: %s", e.code, e.text)
			}
		case <-time.After(patience):
			t.Fatal("more than one process holds the directory")
		}
	}
	return succeeded
}

func TestFieldF72_FiveProcessesThatMigrateAtOnceApplyEachStepOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nowhere, "")
	_, ends := s.startAll(t, "migrate", 5)
	if refusals(t, ends, 5) == 0 {
		t.Error("none of them got through")
	}
	checkSchema(t, s)
}

func TestFieldF72_OfFiveServersStartedAtOnceOneServes(t *testing.T) {
	t.Parallel()
	s := newSite(t, nowhere, "")
	outputs, ends := s.startAll(t, "serve", 5)
	if n := refusals(t, ends, 4); n != 0 {
		t.Errorf("%d servers ended in good order, and nobody asked them to", n)
	}
	serving := 0
	for _, out := range outputs {
		if !strings.Contains(out.String(), "in use by another process") {
			out.waitFor(t, `"msg":"serving"`, nil)
			serving++
		}
	}
	if serving != 1 {
		t.Errorf("%d servers serve", serving)
	}
	checkSchema(t, s)
}

func TestFieldF72_AKillDuringTheMigrationLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	for round := range 8 {
		s := newSite(t, nowhere, "")
		cmd, text := s.process("migrate")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, filepath.Join(s.dir, "data", "sentonce.db"))
		// Where the kill falls is chance on purpose: from the empty file to the finished schema.
		timer := time.AfterFunc(time.Duration(rand.IntN(1+4*round))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // killed or done, both are fine
		timer.Stop()
		if code := cmd.ProcessState.ExitCode(); code != -1 && code != exitOK {
			t.Fatalf("exit code %d: %s", code, text)
		}
		s.must(t, "", "migrate")
		checkSchema(t, s)
	}
}

// awaitFile waits until a file is there.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	look := time.NewTicker(200 * time.Microsecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-look.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not appear", path)
}
