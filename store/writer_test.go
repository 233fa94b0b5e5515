package store_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// hold keeps the writer busy until release is called, so that what is written meanwhile shares the next batch.
func hold(t *testing.T, s *storetest.Store) (release func()) {
	t.Helper()
	held, let, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.Write(context.Background(), "hold", func(*store.Tx) error {
			close(held)
			<-let
			return nil
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(let)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// atMost is n, or less where the race detector runs.
func atMost(n, raceable int) int {
	if raced {
		return raceable
	}
	return n
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for pause := time.Millisecond; !ok(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
		<-time.After(pause)
	}
}

// mates writes the closures in one batch, in their order, and returns their errors.
func mates(t *testing.T, s *storetest.Store, all ...func(*store.Tx) error) []error {
	t.Helper()
	release := hold(t, s)
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, fn := range all {
		queued := s.Queued()
		wg.Go(func() { errs[i] = s.Write(context.Background(), fmt.Sprintf("mate %d", i), fn) })
		eventually(t, "a queued closure", func() bool { return s.Queued() > queued })
	}
	release()
	wg.Wait()
	return errs
}

// note appends an event by which a closure's work can be found again.
func note(cause string) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		_, err := tx.Exec(`INSERT INTO events (seq, at, by_kind, by_id, action, final, cause) SELECT max(seq) + 1, 0, 'worker', '', 'server_started', 0, ?
			FROM events`, cause)
		return err
	}
}

func noted(t *testing.T, s *storetest.Store, cause string) bool {
	t.Helper()
	var n int
	if err := s.Readers().QueryRow(`SELECT count(*) FROM events WHERE cause = ?`, cause).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// commits counts the commits in the journal: the frames that carry the database's size (SQLite file format, §4.1). Only those of the journal's
// present run count.
func commits(t *testing.T, s *storetest.Store) (n int) {
	t.Helper()
	wal, err := os.ReadFile(filepath.Join(s.Dir, store.FileName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if len(wal) < 32 {
		return 0
	}
	page := int(binary.BigEndian.Uint32(wal[8:]))
	for at := 32; at+24+page <= len(wal) && string(wal[at+8:at+16]) == string(wal[16:24]); at += 24 + page {
		if binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			n++
		}
	}
	return n
}

func TestBatchSharesOneCommitAndKeepsItsOrder(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	before := commits(t, s)
	const n = 100
	release := hold(t, s)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, _, err := s.Admit(t.Context(), s.Admission()); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all queued", func() bool { return s.Queued() >= n })
	release()
	wg.Wait()
	if got := commits(t, s) - before; got < 1 || got > 3 {
		t.Fatalf("%d admissions that were queued together took %d commits", n, got)
	}
}

func TestFailureOfOneClosureUndoesItAlone(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	bad := errors.New("no")
	errs := mates(t, s, note("first"),
		func(tx *store.Tx) error { return errors.Join(note("undone")(tx), bad) },
		func(tx *store.Tx) error {
			_ = note("swallowed")(tx)
			_, _ = tx.Exec(`INSERT INTO clients (id, name, created_at) VALUES (x'00', '', 0)`) // refused; the closure goes on
			return nil
		},
		func(tx *store.Tx) error {
			_ = note("panicked")(tx)
			panic("a bug")
		},
		func(tx *store.Tx) error {
			_ = note("broken")(tx)
			_, _ = tx.Exec(`no such statement`) // more than a refusal: from here on nothing counts
			if err := note("after")(tx); err == nil {
				t.Error("a statement after a broken one was run")
			}
			return nil
		}, note("last"))
	for i, want := range []error{nil, bad, nil, dispatch.ErrUnavailable, dispatch.ErrUnavailable, nil} {
		if !errors.Is(errs[i], want) || want == nil && errs[i] != nil {
			t.Errorf("closure %d was answered %v, want %v", i, errs[i], want)
		}
	}
	for cause, want := range map[string]bool{"first": true, "undone": false, "swallowed": true, "panicked": false, "broken": false, "after": false, "last": true} {
		if noted(t, s, cause) != want {
			t.Errorf("%s is stored: %t", cause, !want)
		}
	}
}

// An interrupt discards the whole transaction, whatever the closure makes of it. Then nobody in the batch may be answered as stored.
func TestInterruptFailsTheWholeBatchEvenWhenItIsSwallowed(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	cut := func(tx *store.Tx) error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		err := tx.Interrupted(ctx, `INSERT INTO index_keys WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 0, zeroblob(100) FROM n`)
		if err == nil {
			t.Error("an endless statement ended")
		}
		return nil
	}
	errs := mates(t, s, note("before"), cut, note("behind"))
	for i, err := range errs {
		if !errors.Is(err, dispatch.ErrUnavailable) {
			t.Errorf("closure %d was answered %v", i, err)
		}
	}
	if noted(t, s, "before") || noted(t, s, "behind") {
		t.Error("a part of the lost batch is stored")
	}
	if errs := mates(t, s, note("afterwards")); errs[0] != nil || !noted(t, s, "afterwards") {
		t.Errorf("the writer does not go on: %v", errs)
	}
}

// SQLite may undo the statement alone or all of the transaction when the disk is full. Either way the answers must be true.
func TestFullDatabaseIsAnsweredTruthfully(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	limit := func(pages int) {
		if err := s.Write(t.Context(), "limit", func(tx *store.Tx) error {
			var now int
			return errors.Join(tx.Row(`PRAGMA page_count`, &now), tx.Row(fmt.Sprintf(`PRAGMA max_page_count = %d`, now+pages), &now))
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(2)
	big := func(tx *store.Tx) error {
		_, _ = tx.Exec(`INSERT INTO index_keys VALUES ('big', 0, zeroblob(1000000))`) // swallowed
		_ = note("big")(tx)
		return nil
	}
	errs := mates(t, s, note("before"), big, note("behind"))
	if !errors.Is(errs[1], dispatch.ErrUnavailable) || noted(t, s, "big") {
		t.Errorf("the closure that filled the disk was answered %v; stored: %t", errs[1], noted(t, s, "big"))
	}
	for i, cause := range map[int]string{0: "before", 2: "behind"} {
		if stored := noted(t, s, cause); stored != (errs[i] == nil) || errs[i] != nil && !errors.Is(errs[i], dispatch.ErrUnavailable) {
			t.Errorf("%s was answered %v; stored: %t", cause, errs[i], stored)
		}
	}
	limit(1 << 20)
	s.MustFinish(t, s.MustClaim(t, s.MustAdmit(t, s.Admission()).ID), storetest.Taken("SM1"))
}

func TestCloseAnswersEveryQueuedClosureTruthfully(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	release := hold(t, s)
	const n = 50
	errs, all := make([]error, n), make([]dispatch.Admission, n)
	var wg sync.WaitGroup
	for i := range n {
		all[i] = s.Admission()
		wg.Go(func() { _, _, errs[i] = s.Admit(context.Background(), all[i]) })
	}
	eventually(t, "all queued", func() bool { return s.Queued() >= n })
	closed := make(chan error, 1)
	go func() { closed <- s.DB.Close(context.Background()) }()
	release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if _, _, err := s.Admit(context.Background(), s.Admission()); !errors.Is(err, dispatch.ErrUnavailable) {
		t.Errorf("an admission after the end: %v", err)
	}
	s.Reopen(t)
	stored := 0
	for i, a := range all {
		_, err := s.NotificationByKey(t.Context(), s.Client, a.IdempotencyKey)
		switch {
		case errs[i] == nil && err == nil:
			stored++
		case errs[i] == nil || !errors.Is(errs[i], dispatch.ErrUnavailable) || !errors.Is(err, dispatch.ErrNotFound):
			t.Errorf("admission %d was answered %v; reading it gives %v", i, errs[i], err)
		}
	}
	if stored != n {
		t.Errorf("%d of %d that were queued before the end are stored", stored, n)
	}
}

func TestFieldF43_AbsentOrWholeAfterTheCallerIsGone(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	const n = 300
	errs, all := make([]error, n), make([]dispatch.Admission, n)
	var wg sync.WaitGroup
	for i := range n {
		all[i] = s.Admission()
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*50*time.Microsecond)
			defer cancel()
			_, _, errs[i] = s.Admit(ctx, all[i])
		})
	}
	wg.Wait()
	gone := 0
	for i, a := range all {
		first, err := s.NotificationByKey(t.Context(), s.Client, a.IdempotencyKey)
		if (err == nil) != (errs[i] == nil) {
			t.Fatalf("admission %d was answered %v; reading it gives %v", i, errs[i], err)
		}
		if errs[i] != nil {
			gone++
		}
		again, replayed, err2 := s.Admit(t.Context(), a)
		if err2 != nil || replayed != (err == nil) || replayed && again.ID != first.ID {
			t.Fatalf("the repeat of admission %d: %v, replayed %t", i, err2, replayed)
		}
		if len(again.Permits) != 1 || again.State != dispatch.StateAccepted {
			t.Fatalf("half an admission: %+v", again)
		}
	}
	t.Logf("%d of %d callers were gone before the writer took theirs", gone, n)
}
