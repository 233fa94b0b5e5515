package store_test

import (
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store/storetest"
)

// The ever-growing figures count what was committed, once, and only doubts count as settled doubts.
func TestGaugesCountEndedLivesAndSettledDoubts(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	unsent, doubt, plain := s.MustAdmit(t, s.Admission()), s.MustAdmit(t, s.Admission()), s.MustAdmit(t, s.Admission())
	s.MustFinish(t, s.MustClaim(t, doubt.ID), storetest.TimedOut())
	s.MustFinish(t, s.MustClaim(t, plain.ID), storetest.NotConnected())
	g, err := s.Gauges(t.Context())
	if err != nil || g.UnknownOpen != 1 || g.Waiting != 2 || len(g.Expired) != 0 || len(g.Resolved) != 0 {
		t.Fatalf("before the expiry: %+v, %v", g, err)
	}
	s.Clock.Add(6 * time.Minute)
	if _, err := s.EndLives(t.Context(), false, 100); err != nil {
		t.Fatal(err)
	}
	g, err = s.Gauges(t.Context())
	if err != nil || g.UnknownOpen != 0 || g.Waiting != 0 {
		t.Fatalf("after the expiry: %+v, %v", g, err)
	}
	if g.Expired[dispatch.ReasonExpiredBeforeSend] != 2 || g.Expired[dispatch.ReasonOutcomeUnknown] != 1 {
		t.Errorf("expired: %v (unsent %s)", g.Expired, unsent.ID)
	}
	if len(g.Resolved) != 1 || g.Resolved[dispatch.GradeExpiry] != 1 {
		t.Errorf("resolved: %v", g.Resolved)
	}
}
