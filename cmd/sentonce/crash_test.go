package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// crashSite is an installation whose server is killed, and its provider, who stays.
type crashSite struct {
	site
	provider *sim.Server
	shop     shop

	mu       sync.Mutex
	posted   map[string]event  // by event id
	answered map[string]string // event id to notification id, for each answer 202
}

func newCrashSite(t *testing.T) *crashSite {
	t.Helper()
	provider := startSim(t, sim.Options{NoPatterns: true, Receipts: sim.ReceiptPlan{Off: true}})
	s := &crashSite{provider: provider, site: newSite(t, provider.BaseURL(), ""), posted: map[string]event{}, answered: map[string]string{}}
	s.must(t, "", "migrate")
	s.shop = s.client(t, "shop")
	return s
}

// hand posts an event once; the process may die meanwhile. A conflict or another id than before fails the test.
func (s *crashSite) hand(t *testing.T, e event) (answered bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.mu.Lock()
	s.posted[e.EventID] = e
	s.mu.Unlock()
	n, err := s.shop.post(ctx, e)
	if err != nil {
		if strings.Contains(err.Error(), ": 4") {
			t.Errorf("%s: %v", e.EventID, err)
		}
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.answered[e.EventID]; old != "" && old != n.ID {
		t.Errorf("%s was accepted as %s and then as %s", e.EventID, old, n.ID)
	}
	s.answered[e.EventID] = n.ID
	return true
}

func newEvent(i int) event {
	return event{EventID: fmt.Sprintf("e-%d", i), Key: fmt.Sprintf("k-%d", i), Recipient: fmt.Sprintf("+49151%08d", 23_000_000+i),
		Message: fmt.Sprintf("Your code is CANARY%06d", i), ExpiresAt: time.Now().Add(10 * time.Minute).UTC()}
}

// autopsy checks what a dead process left: the invariants in a copy of its files, every answer given, and for every call that the provider
// has seen an attempt that was there before it (I4).
func (s *crashSite) autopsy(t *testing.T) storetest.Book {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{store.FileName, store.FileName + "-wal"} {
		copyFile(t, filepath.Join(s.dir, "data", name), filepath.Join(dir, name))
	}
	book, err := storetest.Audit(t.Context(), filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	s.compare(t, book)
	return book
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// compare holds the database against the storefront's answers and the provider's ledger.
func (s *crashSite) compare(t *testing.T, book storetest.Book) {
	t.Helper()
	for _, f := range book.Findings {
		t.Error(f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.posted {
		n, stored := book.Entries[storetest.EventKey{Client: "shop", Event: e.EventID}]
		if id, ok := s.answered[e.EventID]; ok && n.ID != id {
			t.Errorf("%s was answered with %s; stored is %q", e.EventID, id, n.ID)
		}
		calls, taken := len(s.provider.Requests(e.Recipient)), len(s.provider.Ledger(e.Recipient))
		if calls > len(n.Attempts) {
			t.Errorf("%s (stored: %t): %d calls with %d permits spent", e.EventID, stored, calls, len(n.Attempts))
		}
		if taken > 1 {
			t.Errorf("%s: the provider took it %d times", e.EventID, taken)
		}
		for i := 1; i < len(n.Attempts); i++ {
			if !n.Granted[i-1] {
				t.Errorf("%s: attempt %d without a verdict that attempt %d sent nothing", e.EventID, i+1, i)
			}
		}
	}
}

// settled waits until nothing is under way any more, and checks all sides once more.
func (s *crashSite) settled(t *testing.T) storetest.Book {
	t.Helper()
	path := filepath.Join(s.dir, "data", store.FileName)
	var book storetest.Book
	eventually(t, "everything is settled", func() bool {
		var err error
		if book, err = storetest.Audit(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(slices.Collect(maps.Values(book.Entries)), func(n storetest.Entry) bool {
			return n.State == dispatch.StateAccepted || n.State == dispatch.StateDispatching
		})
	})
	s.compare(t, book)
	asked := 0
	for id := range maps.Values(s.answered) {
		if asked++; asked > 400 {
			break // a long run has more than a key may ask for at once; the database has shown them all
		}
		if _, _, err := s.shop.next(t.Context(), id, "none"); err != nil {
			t.Errorf("an accepted one cannot be read: %v", err)
		}
	}
	return book
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline); <-look.C {
		if ok() {
			return
		}
	}
	t.Fatalf("never came true: %s", what)
}

// await waits for a signal.
func await(t *testing.T, signal <-chan struct{}, otherwise string) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		t.Fatal(otherwise)
	}
}

// crash is one step at which the process dies, and what must be found afterwards.
type crash struct {
	at     point
	stored bool           // the admission is on disk at the death
	does   *sim.Behaviour // nil: as a good provider
	dead   []dispatch.Outcome
	ends   dispatch.State
	calls  int
}

func crashes() map[string]crash {
	pending, unknown, accepted := dispatch.OutcomePending, dispatch.OutcomeUnknown, dispatch.OutcomeAccepted
	taken := func(ending sim.Ending) *sim.Behaviour { return &sim.Behaviour{Accept: true, Ending: ending} }
	return map[string]crash{
		"before the admission's commit": {at: commitAdmission, ends: dispatch.StateSent, calls: 1},
		"before the claim's commit":     {at: commitClaim, stored: true, ends: dispatch.StateSent, calls: 1},
		"after the claim's commit":      {at: claimStored, stored: true, dead: []dispatch.Outcome{pending}, ends: dispatch.StateUnknown},
		"before the first byte":         {at: beforeFirstByte, stored: true, dead: []dispatch.Outcome{pending}, ends: dispatch.StateUnknown},
		"after the answer":              {at: answerCame, stored: true, dead: []dispatch.Outcome{pending}, ends: dispatch.StateSent, calls: 1},
		"before the result's commit":    {at: commitResult, stored: true, dead: []dispatch.Outcome{pending}, ends: dispatch.StateSent, calls: 1},
		"after the result's commit":     {at: resultStored, stored: true, dead: []dispatch.Outcome{accepted}, ends: dispatch.StateSent, calls: 1},
		"before a lookup's commit": {at: commitLookup, stored: true, does: taken(sim.EndReset), dead: []dispatch.Outcome{unknown},
			ends: dispatch.StateSent, calls: 1},
	}
}

func TestCrash_AtEachStepNothingIsLostAndNothingSentTwice(t *testing.T) {
	t.Parallel()
	for name, c := range crashes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := newCrashSite(t), newEvent(1)
			if c.does != nil {
				s.script(t, e, *c.does)
			}
			first := s.live(t, c.at, 1)
			s.hand(t, e)
			first.died(t)
			n, stored := s.autopsy(t).Entries[storetest.EventKey{Client: "shop", Event: e.EventID}]
			if stored != c.stored || !slices.Equal(n.Attempts, c.dead) {
				t.Errorf("on disk (stored: %t) with attempts %v; want %t, %v", stored, n.Attempts, c.stored, c.dead)
			}
			s.live(t, nowhereYet, 1)
			s.afterwards(t, e, c)
		})
	}
}

// afterwards posts the event again, as a storefront without an answer does, and follows it to where it must come to rest.
func (s *crashSite) afterwards(t *testing.T, e event, c crash) {
	t.Helper()
	if !s.hand(t, e) {
		t.Fatal("not taken after the restart")
	}
	n := s.shop.await(t, s.answered[e.EventID], inState(c.ends))
	if c.ends == dispatch.StateUnknown {
		// Nobody knows that it never left, and Twilio's list cannot prove it: asked in vain, it stays a doubt.
		asked := s.provider.Counters().Lookups
		eventually(t, "it is asked twice more", func() bool { return s.provider.Counters().Lookups >= asked+2 })
		n = s.shop.await(t, n.ID, func(news) bool { return true })
	}
	if n.State != c.ends || len(n.Attempts) != 1 || c.ends == dispatch.StateUnknown && n.Attempts[0].Rule != dispatch.R8 {
		t.Errorf("it ends as %+v", n)
	}
	if got := len(s.provider.Requests(e.Recipient)); got != c.calls {
		t.Errorf("%d calls, want %d", got, c.calls)
	}
	s.settled(t)
}

func (s *crashSite) script(t *testing.T, e event, b sim.Behaviour) {
	t.Helper()
	if err := s.provider.Script(e.Recipient, b); err != nil {
		t.Fatal(err)
	}
}

func TestCrash_AfterTheAdmissionsCommitTheEventIsThereThoughNobodyWasTold(t *testing.T) {
	t.Parallel()
	s, e := newCrashSite(t), newEvent(1)
	first := s.live(t, admissionStored, 1)
	if s.hand(t, e) {
		t.Error("it was answered")
	}
	first.died(t)
	if _, stored := s.autopsy(t).Entries[storetest.EventKey{Client: "shop", Event: e.EventID}]; !stored {
		t.Error("the admission's commit is not on disk")
	}
	s.live(t, nowhereYet, 1)
	s.hand(t, e)
	s.settled(t)
	if calls := len(s.provider.Requests(e.Recipient)); calls > 1 {
		t.Errorf("%d calls", calls)
	}
}

func TestCrash_AfterTheRequestLeftTheCallIsFoundAndNotRepeated(t *testing.T) {
	t.Parallel()
	s, e := newCrashSite(t), newEvent(1)
	s.script(t, e, sim.Behaviour{Accept: true, Ending: sim.EndHang})
	first := s.live(t, nowhereYet, 1)
	s.hand(t, e)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.provider.WaitHeld(ctx, e.Recipient); err != nil {
		t.Fatal(err)
	}
	first.kill()
	s.autopsy(t)
	s.live(t, nowhereYet, 1)
	s.afterwards(t, e, crash{ends: dispatch.StateSent, calls: 1})
}

func TestCrash_ARestartThatDiesIsRepeatedByTheNextOne(t *testing.T) {
	t.Parallel()
	s, e := newCrashSite(t), newEvent(1)
	first := s.live(t, claimStored, 1)
	s.hand(t, e)
	first.died(t)
	for range 2 {
		s.live(t, commitRestart, 1).died(t)
		if n := s.autopsy(t).Entries[storetest.EventKey{Client: "shop", Event: e.EventID}]; !slices.Equal(n.Attempts, []dispatch.Outcome{dispatch.OutcomePending}) {
			t.Errorf("attempts %v", n.Attempts)
		}
	}
	s.live(t, nowhereYet, 1)
	s.afterwards(t, e, crash{ends: dispatch.StateUnknown})
}

func TestCrash_AReceiptThatWasNotAnsweredCountsWhenItComesAgain(t *testing.T) {
	t.Parallel()
	s, e := newCrashSite(t), newEvent(1)
	first := s.live(t, commitReceipt, 1)
	s.hand(t, e)
	s.shop.await(t, s.answered[e.EventID], inState(dispatch.StateSent))
	sid := s.provider.Ledger(e.Recipient)[0].SID
	if code, err := s.provider.SendReceipt(t.Context(), sid, "delivered", sim.ReceiptOptions{}); err == nil {
		t.Errorf("the receipt was answered with %d", code)
	}
	first.died(t)
	s.autopsy(t)
	s.live(t, nowhereYet, 1)
	if code, err := s.provider.SendReceipt(t.Context(), sid, "delivered", sim.ReceiptOptions{}); err != nil || code/100 != 2 {
		t.Errorf("the receipt was answered with %d, %v", code, err)
	}
	s.afterwards(t, e, crash{ends: dispatch.StateDelivered, calls: 1})
}
