package store_test

import (
	"errors"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store/storetest"
)

func TestLifecycleFromAdmissionToDelivery(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	a := s.Admission()
	r := s.MustAdmit(t, a)
	if r.State != dispatch.StateAccepted || r.Version != 1 || len(r.Permits) != 1 {
		t.Fatalf("after the admission: %+v", r)
	}
	job := s.MustClaim(t, r.ID)
	if job.Text.Reveal() != a.Text.Reveal() || job.Recipient.Reveal() != a.Recipient.Reveal() {
		t.Fatal("the claim does not give back the text and the number")
	}
	if _, err := s.Claim(t.Context(), storetest.Order(r.ID)); !errors.Is(err, dispatch.ErrStale) {
		t.Fatalf("a second claim: %v", err)
	}
	s.MustFinish(t, job, storetest.Taken("SM1"))
	r = s.MustGet(t, r.ID)
	if r.State != dispatch.StateSent || r.Reason != dispatch.ReasonProviderAccepted || r.Attempts[0].MessageID != "SM1" {
		t.Fatalf("after the answer: %+v", r)
	}
	fate, err := s.RecordReceipt(t.Context(), "main", dispatch.Report{MessageID: "SM1", Status: dispatch.ReceiptDelivered, Raw: "delivered"}, nil)
	if err != nil || fate != dispatch.ReceiptMatched {
		t.Fatalf("receipt: %s, %v", fate, err)
	}
	if r = s.MustGet(t, r.ID); r.State != dispatch.StateDelivered || !r.Final {
		t.Fatalf("after the receipt: %+v", r)
	}
}

func TestTimeoutIsUnknownAndALookupSettlesIt(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	r := s.MustAdmit(t, s.Admission())
	s.MustFinish(t, s.MustClaim(t, r.ID), storetest.TimedOut())
	if r = s.MustGet(t, r.ID); r.State != dispatch.StateUnknown || r.Attempts[0].Outcome != dispatch.OutcomeUnknown {
		t.Fatalf("after the time-out: %+v", r)
	}
	if jobs, err := s.DueLookups(t.Context(), s.Clock.Now(), 10); err != nil || len(jobs) != 0 {
		t.Fatalf("asked too early: %v, %v", jobs, err)
	}
	s.Clock.Add(6 * time.Second)
	jobs, err := s.DueLookups(t.Context(), s.Clock.Now(), 10)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("due lookups: %v, %v", jobs, err)
	}
	result, err := s.RecordLookup(t.Context(), dispatch.LookupReport{Job: jobs[0], AskedAt: s.Clock.Now(), By: dispatch.Worker(), AutoResolve: true,
		Schedule: []time.Duration{5 * time.Second, time.Minute},
		Finding:  dispatch.Finding{Complete: true, Pages: 1, Candidates: []dispatch.Candidate{{MessageID: "SM2", CreatedAt: s.Clock.Now()}}}})
	if err != nil || result != dispatch.LookupMatch {
		t.Fatalf("lookup: %s, %v", result, err)
	}
	if r = s.MustGet(t, r.ID); r.State != dispatch.StateSent || r.Attempts[0].MessageID != "SM2" {
		t.Fatalf("after the match: %+v", r)
	}
}

func TestConnectionRefusedGrantsTheNextPermit(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	r := s.MustAdmit(t, s.Admission())
	s.MustFinish(t, s.MustClaim(t, r.ID), storetest.NotConnected())
	r = s.MustGet(t, r.ID)
	if r.State != dispatch.StateAccepted || len(r.Permits) != 2 || r.Attempts[0].Outcome != dispatch.OutcomeNotSent {
		t.Fatalf("after the refusal: %+v", r)
	}
	s.MustFinish(t, s.MustClaim(t, r.ID), storetest.Taken("SM3"))
	if r = s.MustGet(t, r.ID); r.State != dispatch.StateSent || len(r.Attempts) != 2 {
		t.Fatalf("after the second try: %+v", r)
	}
}

func TestDoubtEndsAtTheExpiryAndALateReceiptIsAttached(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	r := s.MustAdmit(t, s.Admission())
	job := s.MustClaim(t, r.ID)
	s.MustFinish(t, job, storetest.TimedOut())
	s.Clock.Add(6 * time.Minute)
	if moved, err := s.EndLives(t.Context(), false, 100); err != nil || moved != 1 {
		t.Fatalf("EndLives = %d, %v", moved, err)
	}
	r = s.MustGet(t, r.ID)
	if r.State != dispatch.StateExpired || r.Reason != dispatch.ReasonOutcomeUnknown || r.Attempts[0].Outcome != dispatch.OutcomeUndetermined {
		t.Fatalf("after the expiry: %+v", r)
	}
	if _, err := s.RecordReceipt(t.Context(), "main", dispatch.Report{MessageID: "SM4", Status: dispatch.ReceiptDelivered, Raw: "delivered"},
		&job.Reference); err != nil {
		t.Fatal(err)
	}
	r = s.MustGet(t, r.ID)
	if r.State != dispatch.StateExpired || r.Attempts[0].Outcome != dispatch.OutcomeAccepted {
		t.Fatalf("after the late receipt: %+v", r)
	}
}

func TestSupersedeAndSubjectWithdrawal(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	first, second, late := s.Admission(), s.Admission(), s.Admission()
	first.Subject, second.Subject, late.Subject = dispatch.NewSecret("u"), dispatch.NewSecret("u"), dispatch.NewSecret("u")
	second.ExpiresAt = first.ExpiresAt.Add(time.Minute)
	late.ExpiresAt = first.ExpiresAt.Add(30 * time.Second)
	one, two := s.MustAdmit(t, first), s.MustAdmit(t, second)
	if r := s.MustGet(t, one.ID); r.State != dispatch.StateCancelled || r.Reason != dispatch.ReasonSuperseded {
		t.Fatalf("the older one: %+v", r)
	}
	if r := s.MustAdmit(t, late); r.State != dispatch.StateCancelled || r.Reason != dispatch.ReasonSuperseded {
		t.Fatalf("a late older one: %+v", r)
	}
	n, err := s.WithdrawSubject(t.Context(), dispatch.SubjectWithdrawal{Client: s.Client, Subject: dispatch.NewSecret("u"),
		Cause: dispatch.CausePasswordChanged})
	if err == nil {
		t.Fatalf("a withdrawal by nobody was stored (%d)", n)
	}
	n, err = s.WithdrawSubject(t.Context(), dispatch.SubjectWithdrawal{Client: s.Client, Subject: dispatch.NewSecret("u"),
		Cause: dispatch.CausePasswordChanged, By: second.By})
	if err != nil || n != 1 {
		t.Fatalf("WithdrawSubject = %d, %v", n, err)
	}
	if r := s.MustGet(t, two.ID); r.State != dispatch.StateCancelled || r.Reason != dispatch.ReasonWithdrawnByClient {
		t.Fatalf("the newer one: %+v", r)
	}
}
