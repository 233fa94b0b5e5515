// Package storetest opens real stores on temporary directories for tests.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/seal"
)

// Clock is a clock that a test moves. The zero value starts at the real time of its first use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the test's instant.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.IsZero() {
		c.now = time.Now().UTC().Truncate(time.Millisecond)
	}
	return c.now
}

// Add moves the clock.
func (c *Clock) Add(d time.Duration) {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now.Add(d)
}

// Store is a real store on a temporary directory with a client in it.
type Store struct {
	*store.DB
	Dir    string
	Clock  *Clock
	Master *seal.Master
	Client dispatch.ClientID
	Policy store.SendPolicy
}

// Open makes a directory, a key, the schema and a client, and closes the store at the test's end.
func Open(t testing.TB) *Store {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "master.key")
	must(t, seal.WriteKeyFile(path, rand.Reader))
	master, err := seal.ReadKeyFile(path)
	must(t, err)
	s := &Store{Dir: dir, Clock: &Clock{}, Master: master, Policy: store.SendPolicy{MinRemaining: time.Second, MaxAttempts: 3}}
	lock, err := store.TakeLock(dir)
	must(t, err)
	must(t, store.Migrate(t.Context(), lock, dir, master))
	must(t, lock.Release())
	s.Reopen(t)
	t.Cleanup(func() { must(t, s.DB.Close(context.Background())) })
	s.Client, err = s.AddClient(t.Context(), "shop", dispatch.Actor{Kind: dispatch.ActorOperator})
	must(t, err)
	return s
}

// Reopen opens the directory (again); the caller has closed what was open before.
func (s *Store) Reopen(t testing.TB) {
	t.Helper()
	db, err := store.Open(t.Context(), s.Config())
	must(t, err)
	s.DB = db
}

// Config is how the store is opened.
func (s *Store) Config() store.Config {
	return store.Config{Dir: s.Dir, Master: s.Master, Clock: s.Clock, Log: slog.New(slog.DiscardHandler),
		Terms: func() store.SendPolicy { return s.Policy }}
}

var counter atomic.Int64

// Admission makes a complete admission for the store's client with new ids and a number of its own, with five minutes to live.
func (s *Store) Admission() dispatch.Admission {
	n := counter.Add(1)
	return dispatch.Admission{Client: s.Client, EventID: fmt.Sprintf("evt-%d", n), IdempotencyKey: fmt.Sprintf("key-%d", n),
		Purpose: dispatch.DefaultPurpose, Recipient: dispatch.NewSecret(fmt.Sprintf("+49151%08d", 20_000_000+n)), Country: "DE",
		Text: dispatch.NewSecret(fmt.Sprintf("Your code is %06d", n)), ExpiresAt: s.Clock.Now().Add(5 * time.Minute),
		By: dispatch.Actor{Kind: dispatch.ActorClient, ID: "key_test"}, RequestID: "req-test"}
}

// MustAdmit admits and returns the new record.
func (s *Store) MustAdmit(t testing.TB, a dispatch.Admission) dispatch.Record {
	t.Helper()
	r, replayed, err := s.Admit(t.Context(), a)
	must(t, err)
	if replayed {
		t.Fatalf("%s was admitted before", a.EventID)
	}
	return r
}

// Order is a claim through a provider without limits.
func Order(id dispatch.NotificationID) dispatch.ClaimOrder {
	return dispatch.ClaimOrder{ID: id, Provider: "main", Timeout: 10 * time.Second,
		Can: dispatch.Capabilities{Receipts: true, ReceiptsEcho: true, ValidityUnit: time.Second, ValidityMin: time.Second}}
}

// MustClaim claims and returns the job.
func (s *Store) MustClaim(t testing.TB, id dispatch.NotificationID) dispatch.Job {
	t.Helper()
	job, err := s.Claim(t.Context(), Order(id))
	must(t, err)
	return job
}

// MustFinish stores a result.
func (s *Store) MustFinish(t testing.TB, job dispatch.Job, x dispatch.Exchange) {
	t.Helper()
	must(t, s.Finish(t.Context(), job.Reference, x, dispatch.FinishFacts{Schedule: Schedule()}))
}

// MustGet reads the record of the store's client.
func (s *Store) MustGet(t testing.TB, id dispatch.NotificationID) dispatch.Record {
	t.Helper()
	r, err := s.Notification(t.Context(), s.Client, id)
	must(t, err)
	return r
}

// TimedOut is an exchange whose request was written and never answered.
func TimedOut() dispatch.Exchange {
	return dispatch.Exchange{Phase: dispatch.PhaseWritten, Err: context.DeadlineExceeded}
}

// Taken is an exchange in which the provider took the message.
func Taken(id string) dispatch.Exchange {
	return dispatch.Exchange{Phase: dispatch.PhaseAnswered, Answer: dispatch.Answer{Meaning: dispatch.MeaningTaken, HTTPStatus: 201, MessageID: id}}
}

// NotConnected is an exchange that failed before a byte was written.
func NotConnected() dispatch.Exchange {
	return dispatch.Exchange{Phase: dispatch.PhaseConnecting, Err: fmt.Errorf("connection refused")}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
