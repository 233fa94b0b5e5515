package store_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

func delivered(id string) dispatch.Report {
	return dispatch.Report{MessageID: id, Status: dispatch.ReceiptDelivered, Raw: "delivered"}
}

// A report that came before its message's id was known named nothing. When the provider repeats it, it is news.
func TestReportThatCameTooEarlyCountsWhenItIsRepeated(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	job := s.MustClaim(t, s.MustAdmit(t, s.Admission()).ID)
	for range 2 {
		if fate, err := s.RecordReceipt(t.Context(), "main", delivered("SM1"), nil); err != nil || fate != dispatch.ReceiptUnmatched {
			t.Fatalf("before the answer: %s, %v", fate, err)
		}
	}
	s.MustFinish(t, job, storetest.Taken("SM1"))
	if fate, err := s.RecordReceipt(t.Context(), "main", delivered("SM1"), nil); err != nil || fate != dispatch.ReceiptMatched {
		t.Fatalf("after the answer: %s, %v", fate, err)
	}
	r := s.MustGet(t, job.Reference.Notification)
	if r.State != dispatch.StateDelivered {
		t.Fatalf("it is %s", r.State)
	}
	if fate, err := s.RecordReceipt(t.Context(), "main", delivered("SM1"), nil); err != nil || fate != dispatch.ReceiptRepeated {
		t.Fatalf("once more: %s, %v", fate, err)
	}
	if again := s.MustGet(t, r.ID); again.Version != r.Version {
		t.Fatal("a repeated report moved the notification")
	}
}

func TestFieldF20_ReceiptBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for name, x := range map[string]dispatch.Exchange{"then the answer": storetest.Taken("SM1"), "then silence": storetest.TimedOut()} {
		job := s.MustClaim(t, s.MustAdmit(t, s.Admission()).ID)
		if _, err := s.RecordReceipt(t.Context(), "main", delivered("SM1"), &job.Reference); err != nil {
			t.Fatal(err)
		}
		s.MustFinish(t, job, x)
		r := s.MustGet(t, job.Reference.Notification)
		if r.State != dispatch.StateDelivered || !r.Final || r.Attempts[0].Outcome != dispatch.OutcomeAccepted || r.Attempts[0].FinishedAt.IsZero() {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Receipts, answers and withdrawals of one call race. However it goes: no answer is lost, and the state never steps back.
func TestFieldF20_ReceiptAnswerAndWithdrawalAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for range atMost(50, 20) {
		job := s.MustClaim(t, s.MustAdmit(t, s.Admission()).ID)
		id := job.Reference.Notification
		var wg sync.WaitGroup
		do := func(f func() error) {
			wg.Go(func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			})
		}
		do(func() error {
			return s.Finish(t.Context(), job.Reference, storetest.Taken("SM1"), dispatch.FinishFacts{})
		})
		do(func() error {
			_, err := s.RecordReceipt(t.Context(), "main", delivered("SM1"), &job.Reference)
			return err
		})
		do(func() error {
			_, err := s.RecordReceipt(t.Context(), "main", dispatch.Report{MessageID: "SM1", Status: dispatch.ReceiptTaken, Raw: "sent"}, &job.Reference)
			return err
		})
		do(func() error {
			_, err := s.Withdraw(t.Context(), dispatch.Withdrawal{Client: s.Client, ID: id, Cause: dispatch.CauseTokenUsed,
				By: dispatch.Actor{Kind: dispatch.ActorClient, ID: "k"}})
			return err
		})
		wg.Wait()
		r := s.MustGet(t, id)
		if r.State != dispatch.StateDelivered || r.Attempts[0].FinishedAt.IsZero() || len(r.Incidents) != 0 || len(r.Attempts) != 1 {
			t.Fatalf("afterwards: %+v", r)
		}
	}
}

func TestReplaysAreCountedAndWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	r := s.MustAdmit(t, s.Admission())
	by := dispatch.Actor{Kind: dispatch.ActorClient, ID: "k"}
	events := func() (n int) {
		if err := s.Readers().QueryRow(`SELECT count(*) FROM events WHERE action = 'replayed'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.CountReplay(r.ID, by)
	eventually(t, "the first one is written", func() bool { return events() == 1 })
	for range 100 {
		s.CountReplay(r.ID, by)
	}
	s.Clock.Add(time.Minute)
	eventually(t, "the others are written", func() bool { return s.MustGet(t, r.ID).Replays == 101 })
	if n := events(); n != 2 {
		t.Errorf("%d events for 101 replays in two minutes", n)
	}
	if again := s.MustGet(t, r.ID); again.Version != r.Version {
		t.Error("a replay moved the version")
	}
}

// Counts that cannot be written now are written later.
func TestReplaysSurviveAStoreThatFails(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	var log lockedBuffer
	cfg := s.Config()
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	if err := s.DB.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.DB, err = store.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	r := s.MustAdmit(t, s.Admission())
	raw(t, s, `CREATE TRIGGER broken BEFORE UPDATE OF replays ON notifications BEGIN SELECT RAISE(ABORT, 'broken'); END`)
	for range 7 {
		s.CountReplay(r.ID, dispatch.Actor{Kind: dispatch.ActorClient, ID: "k"})
	}
	eventually(t, "a vain try", func() bool { return strings.Contains(log.String(), "not counted yet") })
	raw(t, s, `DROP TRIGGER broken`)
	s.Clock.Add(time.Minute)
	eventually(t, "all are counted", func() bool { return s.MustGet(t, r.ID).Replays == 7 })
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
