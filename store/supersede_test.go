package store_test

import (
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store/storetest"
)

// admitFor admits an event of one subject with a life, and what the storefront says of when it happened.
func admitFor(t *testing.T, s *storetest.Store, life time.Duration, occurred time.Time) dispatch.Record {
	t.Helper()
	a := s.Admission()
	a.Subject, a.ExpiresAt, a.OccurredAt = dispatch.NewSecret("user-7"), s.Clock.Now().Add(life), occurred
	return s.MustAdmit(t, a)
}

// An event that ended without a send must not keep a later one from being sent, however long its life was.
func TestWhatEndedUnsentMakesNobodyLate(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s *storetest.Store, id dispatch.NotificationID){
		"refused": func(t *testing.T, s *storetest.Store, id dispatch.NotificationID) {
			s.MustFinish(t, s.MustClaim(t, id), storetest.Refused())
		},
		"withdrawn": func(t *testing.T, s *storetest.Store, id dispatch.NotificationID) { s.MustWithdraw(t, id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			end(t, s, admitFor(t, s, time.Hour, time.Time{}).ID)
			if r := admitFor(t, s, 10*time.Minute, time.Time{}); r.State != dispatch.StateAccepted {
				t.Fatalf("the next event is %s (%s)", r.State, r.Reason)
			}
		})
	}
}

// One that is on its way or was sent, and is newer, still does.
func TestWhatWasSentLaterMakesAnOlderOneLate(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	now := s.Clock.Now()
	s.MustFinish(t, s.MustClaim(t, admitFor(t, s, 5*time.Minute, now).ID), storetest.Taken("SM1"))
	if r := admitFor(t, s, 10*time.Minute, now.Add(-time.Minute)); r.State != dispatch.StateCancelled || r.Reason != dispatch.ReasonSuperseded {
		t.Fatalf("the older event is %s (%s)", r.State, r.Reason)
	}
}

// A storefront whose clock is ahead, once or always, must not lock its customers out.
func TestAStorefrontsClockThatIsAheadCancelsNothing(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	far := s.Clock.Now().AddDate(7000, 0, 0)
	s.MustFinish(t, s.MustClaim(t, admitFor(t, s, 5*time.Minute, far).ID), storetest.Taken("SM1"))
	s.Clock.Add(time.Second)
	if r := admitFor(t, s, 6*time.Minute, s.Clock.Now()); r.State != dispatch.StateAccepted {
		t.Fatalf("after an event of the year 9000 the next one is %s (%s)", r.State, r.Reason)
	}
	if _, err := s.WithdrawSubject(t.Context(), dispatch.SubjectWithdrawal{Client: s.Client, Subject: dispatch.NewSecret("user-7"), OccurredAt: far,
		Cause: dispatch.CausePasswordChanged, By: s.Admission().By}); err != nil {
		t.Fatal(err)
	}
	s.Clock.Add(time.Second)
	if r := admitFor(t, s, 7*time.Minute, s.Clock.Now()); r.State != dispatch.StateAccepted {
		t.Fatalf("after a withdrawal of the year 9000 the next one is %s (%s)", r.State, r.Reason)
	}
}

// A withdrawal that does not say when it happened withdraws what is here, whatever the storefront's clock says, and nothing that comes later.
func TestAWithdrawalWithoutAnInstantTakesWhatIsHere(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ahead := admitFor(t, s, 5*time.Minute, s.Clock.Now().Add(10*time.Minute))
	n, err := s.WithdrawSubject(t.Context(), dispatch.SubjectWithdrawal{Client: s.Client, Subject: dispatch.NewSecret("user-7"),
		Cause: dispatch.CausePasswordChanged, By: s.Admission().By})
	if err != nil || n != 1 {
		t.Fatalf("withdrew %d, %v", n, err)
	}
	if r := s.MustGet(t, ahead.ID); r.State != dispatch.StateCancelled {
		t.Fatalf("it is %s", r.State)
	}
	s.Clock.Add(time.Second)
	if r := admitFor(t, s, 6*time.Minute, s.Clock.Now().Add(-10*time.Minute)); r.State != dispatch.StateAccepted {
		t.Fatalf("a later event of a clock that is behind is %s (%s)", r.State, r.Reason)
	}
}
