package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/seal"
	"sentonce/store/storetest"
)

// childRole makes this test binary play a process that the tests kill; its directory is in childDir.
const (
	childRole = "SENTONCE_STORE_TEST_CHILD"
	childDir  = "SENTONCE_STORE_TEST_DIR"
)

func TestMain(m *testing.M) {
	roles := map[string]func(dir string) error{"admit": admitForEver, "migrate": migrateOnce, "fill": fillTheDisk}
	role, ok := os.LookupEnv(childRole)
	if !ok {
		os.Exit(m.Run())
	}
	if err := roles[role](os.Getenv(childDir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child prepares this binary in a role. It dies with the test.
func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// openDir opens a directory that storetest made, in another process.
func openDir(dir string) (*storetest.Store, error) {
	master, err := seal.ReadKeyFile(filepath.Join(dir, "master.key"))
	if err != nil {
		return nil, err
	}
	s := &storetest.Store{Dir: dir, Clock: &storetest.Clock{}, Master: master, Policy: store.SendPolicy{MinRemaining: time.Second, MaxAttempts: 3}}
	if s.DB, err = store.Open(context.Background(), s.Config()); err != nil {
		return nil, err
	}
	s.Client, err = s.ClientByName(context.Background(), "shop")
	return s, err
}

// admitForEver admits, calls and finishes with several clients and prints what was confirmed, each line in one write.
func admitForEver(dir string) error {
	s, err := openDir(dir)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				r, _, err := s.Admit(context.Background(), ofProcess(s.Admission()))
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				fmt.Println("admitted", r.ID)
				if job, err := s.Claim(context.Background(), storetest.Order(r.ID)); err == nil {
					fmt.Println("claimed", r.ID)
					if err := s.Finish(context.Background(), job.Reference, storetest.Taken("SM-"+r.ID.String()), dispatch.FinishFacts{}); err == nil {
						fmt.Println("sent", r.ID)
					}
				}
			}
		})
	}
	wg.Wait()
	return errors.New("every client gave up")
}

// ofProcess makes an admission differ from those of the processes before.
func ofProcess(a dispatch.Admission) dispatch.Admission {
	a.EventID, a.IdempotencyKey = fmt.Sprintf("%s-%d", a.EventID, os.Getpid()), fmt.Sprintf("%s-%d", a.IdempotencyKey, os.Getpid())
	return a
}

// Every confirmation that was out before the kill is true after it: nothing accepted is lost, no permit that was spent is open again.
func TestFieldF48_KilledAtRandom(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	total := 0
	for round := range atMost(20, 4) {
		if err := s.DB.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines := killed(t, s.Dir, time.Duration(20+rand.IntN(200))*time.Millisecond)
		s.Reopen(t)
		for _, line := range lines {
			total++
			checkConfirmed(t, s, line)
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
		n, err := s.Recover(t.Context(), func(string) []time.Duration { return storetest.Schedule() })
		if err != nil || n > 8 {
			t.Fatalf("round %d: %d calls were open, %v", round, n, err)
		}
		checkDatabase(t, s)
	}
	if total < atMost(100, 4) {
		t.Errorf("only %d confirmations came", total)
	}
}

// killed runs the admitting child and kills it some time after its first confirmation. It returns the whole lines that it printed.
func killed(t *testing.T, dir string, after time.Duration) (lines []string) {
	t.Helper()
	cmd := child(t, "admit", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	var timer *time.Timer
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break // what it printed without the end of the line was not confirmed
		}
		lines = append(lines, strings.TrimSpace(line))
		if timer == nil {
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child was not killed: %v", err)
	}
	return lines
}

func checkConfirmed(t *testing.T, s *storetest.Store, line string) {
	t.Helper()
	what, id, _ := strings.Cut(line, " ")
	parsed, err := dispatch.ParseNotificationID(id)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	r, err := s.Notification(t.Context(), s.Client, parsed)
	if err != nil {
		t.Errorf("%s is lost: %v", line, err)
		return
	}
	switch {
	case what == "claimed" && (len(r.Attempts) != 1 || r.Permits[0].SpentAt.IsZero()):
		t.Errorf("%s: the claim is lost: %+v", line, r)
	case what == "sent" && r.State != dispatch.StateSent:
		t.Errorf("%s: it is %s", line, r.State)
	}
}

// checkDatabase runs SQLite's own check.
func checkDatabase(t *testing.T, s *storetest.Store) {
	t.Helper()
	for _, pragma := range []string{"integrity_check", "foreign_key_check"} {
		rows := dump(t, s.Readers(), "PRAGMA "+pragma)
		if pragma == "integrity_check" && (len(rows) != 1 || rows[0] != "[ok]") || pragma == "foreign_key_check" && len(rows) != 0 {
			t.Errorf("%s: %v", pragma, rows)
		}
	}
}
