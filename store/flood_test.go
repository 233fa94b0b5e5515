package store_test

import (
	"context"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// Whoever has captured an authentic report can send it for ever. It must not fill the evidence.
func TestAReportThatComesAgainAndAgainIsKeptOnceAMinute(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	job := s.MustClaim(t, s.MustAdmit(t, s.Admission()).ID)
	s.MustFinish(t, job, storetest.Taken("SM1"))
	for name, id := range map[string]string{"a known message": "SM1", "an unknown one": "SM9"} {
		kept := func() (n int) {
			if err := s.Readers().QueryRowContext(t.Context(), `SELECT count(*) FROM receipts WHERE message_id = ?`, id).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for minute := range 3 {
			for range 50 {
				if _, err := s.RecordReceipt(t.Context(), "main", delivered(id), nil); err != nil {
					t.Fatal(err)
				}
			}
			if n := kept(); n != minute+1 {
				t.Errorf("%s: %d rows in minute %d", name, n, minute+1)
			}
			s.Clock.Add(time.Minute)
		}
	}
}

// The counts of replays are written in few commits, so that a stop has time for all of them.
func TestReplaysOfThousandsAreWrittenTogether(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	var first dispatch.Record
	const many = 1000
	for i := range many {
		r := s.MustAdmit(t, s.Admission())
		if i == 0 {
			first = r
		}
		s.CountReplay(r.ID, dispatch.Actor{Kind: dispatch.ActorClient, ID: "key"})
	}
	s.FlushReplays(t.Context())
	var counted int
	if err := s.Readers().QueryRowContext(t.Context(), `SELECT count(*) FROM notifications WHERE replays = 1`).Scan(&counted); err != nil {
		t.Fatal(err)
	}
	if counted != many || s.MustGet(t, first.ID).Replays != 1 {
		t.Errorf("%d of %d are counted", counted, many)
	}
}

// A schema is not touched with a key that belongs to another database.
func TestMigrateWithTheWrongKeyChangesNothing(t *testing.T) {
	t.Parallel()
	s, other := storetest.Open(t), storetest.Open(t)
	if err := s.DB.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	lock, err := store.TakeLock(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context(), lock, s.Dir, other.Master); err == nil {
		t.Error("it was migrated with another database's key")
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	s.Reopen(t)
}
