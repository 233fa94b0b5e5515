package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store/storetest"
)

func TestFieldF13_FiftyTwinsAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	const twins = 50
	for round := range atMost(20, 5) {
		a := s.Admission()
		ids, fresh := make([]dispatch.NotificationID, twins), atomic.Int64{}
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range twins {
			wg.Go(func() {
				<-start
				r, replayed, err := s.Admit(t.Context(), a)
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if !replayed {
					fresh.Add(1)
				}
				ids[i] = r.ID
			})
		}
		close(start)
		wg.Wait()
		if fresh.Load() != 1 || len(slices.Compact(ids)) != 1 {
			t.Fatalf("round %d: %d were fresh, the ids are %v", round, fresh.Load(), ids)
		}
	}
}

// Twins with other content are told so, whichever of them is the first.
func TestFieldF14_OtherContentAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for range atMost(20, 5) {
		a := s.Admission()
		variants := []dispatch.Admission{a, a, a, a}
		variants[1].Recipient = dispatch.NewSecret("+4915187654321")
		variants[2].EventID += "-x"
		variants[3].IdempotencyKey += "-x"
		errs := make([]error, len(variants))
		var wg sync.WaitGroup
		for i, v := range variants {
			wg.Go(func() { _, _, errs[i] = s.Admit(t.Context(), v) })
		}
		wg.Wait()
		stored := 0
		for i, err := range errs {
			var conflict *dispatch.ConflictError
			switch {
			case err == nil:
				stored++
			case !errors.As(err, &conflict):
				t.Errorf("variant %d: %v", i, err)
			}
		}
		if errs[0] != nil && errs[1] != nil && errs[2] != nil && errs[3] != nil || stored > 2 || errs[0] == nil && stored != 1 {
			t.Fatalf("%d are stored: %v", stored, errs)
		}
	}
}

func TestFieldF18_ClientsDoNotMeet(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	other, err := s.AddClient(t.Context(), "other", operator())
	if err != nil {
		t.Fatal(err)
	}
	a := s.Admission()
	b := a
	b.Client, b.Recipient = other, dispatch.NewSecret("+4915187654321")
	one, two := s.MustAdmit(t, a), s.MustAdmit(t, b)
	if one.ID == two.ID {
		t.Fatal("two clients share a record")
	}
	if _, err := s.Notification(t.Context(), other, one.ID); !errors.Is(err, dispatch.ErrNotFound) {
		t.Errorf("another client's record: %v", err)
	}
	if got, err := s.NotificationByKey(t.Context(), other, a.IdempotencyKey); err != nil || got.ID != two.ID {
		t.Errorf("by the key both used: %v, %v", got.ID, err)
	}
	if _, err := s.Withdraw(t.Context(), dispatch.Withdrawal{Client: other, ID: one.ID, Cause: dispatch.CauseOther, By: a.By}); !errors.Is(err,
		dispatch.ErrNotFound) {
		t.Errorf("withdrawing another client's: %v", err)
	}
}

// Sixteen workers take from one queue. Each notification is claimed once, and every client gets its turn.
func TestFieldF10_ManyWorkersClaimEachOnce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	const workers = 16
	items := atMost(500, 150)
	var admitting sync.WaitGroup
	for range items {
		a := s.Admission()
		admitting.Go(func() {
			if _, _, err := s.Admit(t.Context(), a); err != nil {
				t.Error(err)
			}
		})
	}
	admitting.Wait()
	var mu sync.Mutex
	claimed := map[dispatch.NotificationID]int{}
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				due, err := s.Due(t.Context(), s.Clock.Now(), dispatch.ClientID{}, workers)
				if err != nil || len(due) == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				w := due[rand.IntN(len(due))]
				job, err := s.Claim(t.Context(), storetest.Order(w.ID))
				if errors.Is(err, dispatch.ErrStale) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				claimed[w.ID]++
				mu.Unlock()
				if err := s.Finish(t.Context(), job.Reference, storetest.Taken("SM-"+w.ID.String()), dispatch.FinishFacts{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	for id, n := range claimed {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
	if len(claimed) != items {
		t.Errorf("%d of %d were claimed", len(claimed), items)
	}
}

// A withdrawal races with the claim and the answer (I6): either it comes first and nothing is sent, or it is too late and says so.
func TestWithdrawalRacesWithTheClaimAndTheAnswer(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	stopped := map[dispatch.State]int{}
	for i := range atMost(150, 60) {
		r := s.MustAdmit(t, s.Admission())
		x := []dispatch.Exchange{storetest.Taken("SM"), storetest.NotConnected(), storetest.TimedOut()}[i%3]
		var wg sync.WaitGroup
		wg.Go(func() {
			job, err := s.Claim(t.Context(), storetest.Order(r.ID))
			if errors.Is(err, dispatch.ErrStale) {
				return
			}
			if err == nil {
				err = s.Finish(t.Context(), job.Reference, x, dispatch.FinishFacts{Schedule: storetest.Schedule()})
			}
			if err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := s.Withdraw(t.Context(), dispatch.Withdrawal{Client: s.Client, ID: r.ID, Cause: dispatch.CauseOther, By: operator()}); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		r = s.MustGet(t, r.ID)
		stopped[r.State]++
		switch {
		case r.State == dispatch.StateAccepted, r.State == dispatch.StateDispatching, len(r.Permits) > 1 && r.Permits[1].Open():
			t.Fatalf("it can still be sent: %+v", r)
		case r.State == dispatch.StateCancelled && r.Reason != dispatch.ReasonWithdrawnByClient, r.State == dispatch.StateUnknown && r.WithdrawnAt.IsZero():
			t.Fatalf("the withdrawal is lost: %+v", r)
		case r.State == dispatch.StateSent && len(r.Attempts) != 1:
			t.Fatalf("sent without a call: %+v", r)
		}
	}
	t.Logf("they ended as %v", stopped)
}

// Who watches first and reads then misses no change.
func TestWatchMissesNoChange(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	r := s.MustAdmit(t, s.Admission())
	var watching sync.WaitGroup
	for i := range 8 {
		watching.Go(func() {
			for {
				changed, stop := s.Watch(r.ID)
				now, err := s.Notification(t.Context(), s.Client, r.ID)
				if err != nil {
					t.Error(err)
				}
				if err != nil || now.Final {
					stop()
					return
				}
				select {
				case <-changed:
				case <-time.After(20 * time.Second):
					t.Errorf("watcher %d slept through a change after version %d", i, now.Version)
					return
				}
				if i%2 == 0 {
					stop()
				}
			}
		})
	}
	for range 5 {
		s.MustFinish(t, s.MustClaim(t, r.ID), storetest.NotConnected())
	}
	job := s.MustClaim(t, r.ID)
	s.MustFinish(t, job, storetest.TimedOut())
	s.MustReport(t, job, "SM1", dispatch.ReceiptTaken)
	s.MustReport(t, job, "SM1", dispatch.ReceiptDelivered)
	watching.Wait()
	if n := s.Watchers(); n != 0 {
		t.Errorf("%d watchers are left behind", n)
	}
}

// With many waiting for one client, another one's event is among the next.
func TestClientsTakeTurns(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	other, err := s.AddClient(t.Context(), "other", operator())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		s.MustAdmit(t, s.Admission())
	}
	a := s.Admission()
	a.Client = other
	late := s.MustAdmit(t, a)
	for _, after := range []dispatch.ClientID{{}, s.Client, other} {
		due, err := s.Due(t.Context(), s.Clock.Now(), after, 4)
		if err != nil || len(due) != 4 {
			t.Fatalf("due: %v, %v", due, err)
		}
		if !slices.ContainsFunc(due, func(w dispatch.Waiting) bool { return w.ID == late.ID }) {
			t.Errorf("after %s the other client has no turn", after)
		}
		if first := fmt.Sprint(due[0].Client); after == s.Client && first != fmt.Sprint(other) {
			t.Errorf("after %s comes %s", after, first)
		}
	}
}
