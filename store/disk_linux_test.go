package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sentonce/dispatch"
	"sentonce/store/storetest"
)

// fillTheDisk admits in parallel while no file of this process may grow beyond a size, then without that limit. It prints, for each admission,
// its key and how it was answered.
func fillTheDisk(dir string) error {
	s, err := openDir(dir)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ) // so that the write fails instead
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	full := limit
	full.Cur = 2 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return err
	}
	if refused := admitInParallel(s, 16, atMost(100, 15)); refused == 0 {
		return errors.New("the limit was never reached")
	}
	if err := s.Ready(context.Background()); !errors.Is(err, dispatch.ErrUnavailable) {
		return fmt.Errorf("ready on a full disk: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if refused := admitInParallel(s, 4, 10); refused != 0 {
		return fmt.Errorf("%d were refused although there is room again", refused)
	}
	return errors.Join(s.Ready(context.Background()), s.DB.Close(context.Background()))
}

func admitInParallel(s *storetest.Store, clients, each int) (refused int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				a := ofProcess(s.Admission())
				_, _, err := s.Admit(context.Background(), a)
				mu.Lock()
				switch {
				case err == nil:
					fmt.Println("stored", a.IdempotencyKey)
				case errors.Is(err, dispatch.ErrUnavailable):
					refused++
					fmt.Println("refused", a.IdempotencyKey)
				default:
					fmt.Println("unexpected", err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return refused
}

// When a write of the file system fails, everybody in the batch is told so, and nothing of it is there, neither at once nor after a restart.
func TestFailingFileSystemIsAnsweredTruthfully(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	if err := s.DB.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := child(t, "fill", s.Dir).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, lastLines(out))
	}
	s.Reopen(t)
	counts := map[string]int{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		answer, key, _ := strings.Cut(lines.Text(), " ")
		counts[answer]++
		_, err := s.NotificationByKey(t.Context(), s.Client, key)
		if answer == "stored" && err != nil || answer == "refused" && !errors.Is(err, dispatch.ErrNotFound) || counts["unexpected"] > 0 {
			t.Errorf("%s: %v", lines.Text(), err)
		}
	}
	if counts["stored"] < 40 || counts["refused"] == 0 {
		t.Errorf("the answers were %v", counts)
	}
	checkDatabase(t, s)
	if _, err := os.Stat(filepath.Join(s.Dir, "master.key")); err != nil {
		t.Error(err)
	}
}

func lastLines(out []byte) string {
	lines := strings.Split(string(out), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
