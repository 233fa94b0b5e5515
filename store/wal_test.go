package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// beside opens the data directory as another program would, and begins a read that stays.
func beside(t *testing.T, s *storetest.Store) (done func()) {
	t.Helper()
	db, err := store.OpenPool(filepath.Join(s.Dir, store.FileName), true, 1)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM events`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func walSize(t *testing.T, s *storetest.Store) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(s.Dir, store.FileName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func shortWAL(t *testing.T, refuse int64) *storetest.Store {
	t.Helper()
	s := storetest.Open(t)
	if err := s.DB.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.ShortWAL(s.Config(), refuse))
	if err != nil {
		t.Fatal(err)
	}
	s.DB = db
	return s
}

// A reader elsewhere that never ends keeps the journal from being reset. Writing goes on up to the bound, then it is refused and nothing is
// kept; after the reader has ended writing goes on by itself, and the journal is short again.
func TestFieldF44_ForeignReaderCannotGrowTheJournalForEver(t *testing.T) {
	t.Parallel()
	s := shortWAL(t, 20<<20)
	end := beside(t, s)
	refused := untilRefused(t, s)
	if size := walSize(t, s); size > 24<<20 {
		t.Errorf("the journal has %d KiB", size>>10)
	}
	if _, err := s.NotificationByKey(t.Context(), s.Client, refused.IdempotencyKey); !errors.Is(err, dispatch.ErrNotFound) {
		t.Errorf("reading the refused one: %v", err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, dispatch.ErrUnavailable) {
		t.Errorf("Ready: %v", err)
	}
	end()
	eventually(t, "writing goes on", func() bool { return s.Ready(t.Context()) == nil })
	eventually(t, "a short journal", func() bool {
		_, _, err := s.Admit(t.Context(), s.Admission())
		return err == nil && s.WALBytes() <= 8<<20
	})
}

// untilRefused fills the journal with large writes until an admission is refused.
func untilRefused(t *testing.T, s *storetest.Store) dispatch.Admission {
	t.Helper()
	for range 100 {
		err := s.Write(t.Context(), "ballast", func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT OR REPLACE INTO index_keys VALUES ('ballast', 0, zeroblob(1000000))`)
			return err
		})
		a := s.Admission()
		_, _, admitErr := s.Admit(t.Context(), a)
		switch {
		case errors.Is(admitErr, dispatch.ErrUnavailable):
			return a
		case err != nil || admitErr != nil:
			t.Fatal(err, admitErr)
		}
	}
	t.Fatal("a hundred large writes were taken")
	return dispatch.Admission{}
}

func TestJournalStaysShortUnderLoadWithReadersOfOurOwn(t *testing.T) {
	t.Parallel()
	s := shortWAL(t, 100<<20)
	ctx, cancel := context.WithCancel(t.Context())
	var reading, writing sync.WaitGroup
	for range 3 {
		reading.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Due(context.Background(), s.Clock.Now(), dispatch.ClientID{}, 500); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var largest atomic.Int64
	for range 10 {
		writing.Go(func() {
			for range atMost(200, 50) {
				if _, _, err := s.Admit(t.Context(), s.Admission()); err != nil {
					t.Error(err)
				}
				if size := s.WALBytes(); size > largest.Load() {
					largest.Store(size)
				}
			}
		})
	}
	writing.Wait()
	cancel()
	reading.Wait()
	if largest.Load() > 64<<20 {
		t.Errorf("the journal grew to %d KiB", largest.Load()>>10)
	}
	t.Logf("the journal had at most %d KiB", largest.Load()>>10)
}

// A read that lasts does not hold up a write, and sees one state of the database to its end.
func TestReadersDoNotBlockTheWriter(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	tx, err := s.Readers().BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		if err := tx.QueryRow(`SELECT count(*) FROM notifications`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	began := time.Now()
	for range 10 {
		s.MustAdmit(t, s.Admission())
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("ten admissions beside a reader took %v", took)
	}
	if after := count(); after != before {
		t.Errorf("the reader's snapshot moved from %d to %d", before, after)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}
