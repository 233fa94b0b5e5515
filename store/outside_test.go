package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

func operator() dispatch.Actor { return dispatch.Actor{Kind: dispatch.ActorOperator} }

// second opens the same directory once more, as a command does beside the server.
func second(t *testing.T, s *storetest.Store, clock dispatch.Clock) *store.DB {
	t.Helper()
	cfg := s.Config()
	cfg.Clock = clock
	db, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestKeyMadeBesideTheServerIsTakenSoon(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	command := second(t, s, s.Clock)
	secret, err := command.AddAPIKey(t.Context(), store.NewAPIKey{Client: s.Client, Name: "k", Scopes: dispatch.Scopes(), By: operator()})
	if err != nil {
		t.Fatal(err)
	}
	k, err := s.Authenticate(t.Context(), secret)
	if err != nil || k.Client != s.Client {
		t.Fatalf("%+v, %v", k, err)
	}
	raw(t, s, `UPDATE api_keys SET revoked_at = 1`)
	eventually(t, "the revoked key is refused", func() bool {
		_, err := s.Authenticate(t.Context(), secret)
		return errors.Is(err, dispatch.ErrNotFound)
	})
}

// What another process wrote wakes who waits, however soon after the start it came.
func TestForeignWriteWakesWatchersAndTheEngine(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	r := s.MustAdmit(t, s.Admission())
	command := second(t, s, s.Clock)
	for i := range 3 {
		signals := make(chan store.Signal, 100)
		cfg := s.Config()
		cfg.OnCommit = func(g store.Signal) { signals <- g }
		if err := s.DB.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.DB = db
		changed, stop := s.Watch(r.ID)
		if err := command.Note(t.Context(), dispatch.Event{By: operator(), Action: dispatch.ActionProviderPaused}); err != nil {
			t.Fatal(err)
		}
		for _, what := range []<-chan struct{}{changed} {
			select {
			case <-what:
			case <-time.After(10 * time.Second):
				t.Fatalf("round %d: nobody was woken", i)
			}
		}
		if g := <-signals; !g.Work || !g.Doubt || !g.Keys {
			t.Fatalf("the engine was told %+v", g)
		}
		stop()
	}
}

// shifted is a clock that is ahead of another.
type shifted struct {
	dispatch.Clock
	by time.Duration
}

func (c shifted) Now() time.Time { return c.Clock.Now().Add(c.by) }

// Stored time never goes back, not even when another process's clock was ahead.
func TestTimeNeverFallsBehindWhatAnotherProcessStored(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ahead := second(t, s, shifted{s.Clock, time.Minute})
	if _, err := ahead.AddClient(t.Context(), "other", operator()); err != nil {
		t.Fatal(err)
	}
	r := s.MustAdmit(t, s.Admission())
	if want := s.Clock.Now().Add(time.Minute); r.AcceptedAt.Before(want) {
		t.Errorf("accepted at %v, before what is stored (%v)", r.AcceptedAt, want)
	}
	last, err := s.LastTime(t.Context())
	if err != nil || last.Before(r.AcceptedAt) {
		t.Errorf("LastTime = %v, %v", last, err)
	}
}

func TestDatabaseFilesAreReadableByTheOwnerAlone(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	s.MustAdmit(t, s.Admission())
	for _, name := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(filepath.Join(s.Dir, store.FileName+name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o", info.Name(), info.Mode().Perm())
		}
	}
}

// everyWrite lists all that the store can be asked to write, on a history. Each is repeatable.
func everyWrite(t *testing.T, s *storetest.Store) map[string]func() error {
	t.Helper()
	all := s.History(t)
	calling := s.MustGet(t, all["calling"])
	s.Clock.Add(20 * time.Second)
	jobs, err := s.DueLookups(t.Context(), s.Clock.Now(), 10)
	if err != nil || len(jobs) == 0 {
		t.Fatalf("no question is due: %v", err)
	}
	late := s.MustAdmit(t, s.Admission())
	ctx := context.Background()
	fresh := s.Admission()
	client := dispatch.Actor{Kind: dispatch.ActorClient, ID: "k"}
	return map[string]func() error{
		"admit": func() error { _, _, err := s.Admit(ctx, fresh); return err },
		"claim": func() error { _, err := s.Claim(ctx, storetest.Order(all["waiting"])); return err },
		"finish": func() error {
			return s.Finish(ctx, calling.Attempts[0].Ref(calling.ID), storetest.Taken("SM-9"), dispatch.FinishFacts{})
		},
		"receipt": func() error {
			_, err := s.RecordReceipt(ctx, "main", dispatch.Report{MessageID: "SM-sent", Status: dispatch.ReceiptDelivered, Raw: "d"}, nil)
			return err
		},
		"unmatched receipt": func() error {
			_, err := s.RecordReceipt(ctx, "main", dispatch.Report{MessageID: "SM-x", Status: dispatch.ReceiptTaken, Raw: "t"}, nil)
			return err
		},
		"lookup": func() error {
			_, err := s.RecordLookup(ctx, dispatch.LookupReport{Job: jobs[0], By: dispatch.Worker(), AskedAt: s.Clock.Now(), Schedule: storetest.Schedule()})
			return err
		},
		"withdraw": func() error {
			_, err := s.Withdraw(ctx, dispatch.Withdrawal{Client: s.Client, ID: late.ID, Cause: dispatch.CauseOther, By: client})
			return err
		},
		"withdraw subject": func() error {
			_, err := s.WithdrawSubject(ctx, dispatch.SubjectWithdrawal{Client: s.Client, Subject: dispatch.NewSecret("u"), By: client})
			return err
		},
		"recover": func() error { _, err := s.Recover(ctx, func(string) []time.Duration { return nil }); return err },
		"note": func() error {
			return s.Note(ctx, dispatch.Event{By: operator(), Action: dispatch.ActionProviderPaused})
		},
		"client": func() error { _, err := s.AddClient(ctx, "another", operator()); return err },
		"key": func() error {
			_, err := s.AddAPIKey(ctx, store.NewAPIKey{Client: s.Client, Name: "k", By: operator()})
			return err
		},
		"staff": func() error {
			_, err := s.AddStaff(ctx, store.NewStaff{Email: "a@b", Name: "A", Role: store.RoleSupport, By: operator()})
			return err
		},
		"ready": func() error { return s.Ready(ctx) },
	}
}

// all runs every write at once and returns the errors by name.
func inOneGo(writes map[string]func() error) map[string]error {
	errs := map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, write := range writes {
		wg.Go(func() {
			err := write()
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	wg.Wait()
	return errs
}

// refusedAndThenTaken checks that each write is refused as unavailable and leaves nothing behind while something is broken, and is taken after.
func refusedAndThenTaken(t *testing.T, s *storetest.Store, writes map[string]func() error, mend func()) {
	t.Helper()
	db, err := store.OpenPool(filepath.Join(s.Dir, store.FileName), true, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	before := digest(t, db)
	for name, err := range inOneGo(writes) {
		if !errors.Is(err, dispatch.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if digest(t, db) != before {
		t.Error("a refused write left something behind")
	}
	mend()
	for name, err := range inOneGo(writes) {
		if err != nil && !errors.Is(err, dispatch.ErrStale) { // the recovery and the answer may overtake each other
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
	if digest(t, db) == before {
		t.Error("nothing was stored afterwards")
	}
}

func TestFieldF06_LockHeldByAnotherProcess(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	writes := everyWrite(t, s)
	other, err := store.OpenPool(filepath.Join(s.Dir, store.FileName), false, 1)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	refusedAndThenTaken(t, s, writes, func() {
		if _, err := s.NotificationByKey(t.Context(), s.Client, "none"); !errors.Is(err, dispatch.ErrNotFound) {
			t.Errorf("a read beside the lock: %v", err)
		}
		_, err := conn.ExecContext(context.Background(), `ROLLBACK`)
		if err := errors.Join(err, conn.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	})
}

func TestFieldF70_EvidenceThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	writes := everyWrite(t, s)
	raw(t, s, `CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'the log is broken'); END`)
	refusedAndThenTaken(t, s, writes, func() { raw(t, s, `DROP TRIGGER broken`) })
}
