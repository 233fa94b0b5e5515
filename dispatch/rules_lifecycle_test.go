package dispatch

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// One test per row of the table in docs/lifecycle.md; merges are in rules_merge_test.go, receipts and lookups in rules_evidence_test.go,
// people in rules_verdict_test.go.

func TestAdmissionGrantsTheFirstPermit(t *testing.T) {
	t.Parallel()
	r, past := admit(blankRecord())
	if r.State != StateAccepted || r.Version != 1 || r.Reason != "" || r.Final || len(past.events) != 1 {
		t.Errorf("%+v, events %+v", r, past.events)
	}
	if len(r.Permits) != 1 || r.Permits[0].Number != 1 || !r.Permits[0].Open() || len(r.Attempts) != 0 {
		t.Errorf("permits %+v, attempts %+v", r.Permits, r.Attempts)
	}
	ev := past.events[0]
	if ev.Action != ActionAccepted || ev.To != StateAccepted || ev.From != "" || ev.Version != 1 || ev.RequestID != "req-1" || ev.Notification != r.ID {
		t.Errorf("event %+v", ev)
	}
	if err := past.checkRecord(r); err != nil {
		t.Error(err)
	}
}

func TestAClaimSpendsThePermitInOneStep(t *testing.T) {
	t.Parallel()
	s := newStory(t).start("main").want(StateDispatching, "").outcomes(OutcomePending).permits(1)
	a := s.rec.Attempts[0]
	if !s.rec.Permits[0].SpentAt.Equal(s.terms.Now) || !a.StartedAt.Equal(s.terms.Now) || a.Number != 1 || a.Provider != "main" {
		t.Errorf("permit %+v, attempt %+v", s.rec.Permits[0], a)
	}
	_, err := s.rec.Start(Attempt{Provider: "other"}, s.terms)
	wantErr(t, err, ErrStale)
}

func TestAClaimIsRefusedEverywhereButInAccepted(t *testing.T) {
	t.Parallel()
	for _, state := range States() {
		r := freshRecord()
		r.State = state
		_, err := r.Start(Attempt{}, newStory(t).terms)
		if want := state != StateAccepted; want != errors.Is(err, ErrStale) {
			t.Errorf("claim in %s: %v", state, err)
		}
	}
	spent, void, none := freshRecord(), freshRecord(), freshRecord()
	spent.Permits[0].SpentAt, void.Permits[0].VoidAt, none.Permits = storyTime(), storyTime(), nil
	for _, r := range []Record{spent, void, none} {
		_, err := r.Start(Attempt{}, newStory(t).terms)
		wantErr(t, err, ErrStale)
	}
}

func TestAClaimWithTooLittleLifeStopsInsteadOfSending(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name        string
		life        time.Duration
		least       time.Duration
		unavailable bool
		want        State
		reason      Reason
	}{
		{"exactly enough", 5 * time.Second, 5 * time.Second, false, StateDispatching, ""},
		{"a moment too little", 5*time.Second - 1, 5 * time.Second, false, StateExpired, ReasonExpiredBeforeSend},
		{"exactly at the expiry", 0, 0, false, StateExpired, ReasonExpiredBeforeSend},
		{"after the expiry", -time.Second, 0, false, StateExpired, ReasonExpiredBeforeSend},
		{"after waiting for a paused provider", time.Second, 5 * time.Second, true, StateExpired, ReasonProviderUnavailable},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.terms.Now, s.terms.MinRemaining, s.terms.Unavailable = s.rec.ExpiresAt.Add(-row.life), row.least, row.unavailable
			c, err := s.rec.Start(Attempt{Provider: "main"}, s.terms)
			if (row.want == StateExpired) != errors.Is(err, ErrStopped) {
				t.Fatalf("error %v", err)
			}
			s.do(c, nil).want(row.want, row.reason)
		})
	}
}

func TestExpiryOfAWaitingNotification(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	_, err := s.rec.Expire(s.terms)
	wantErr(t, err, ErrStale)
	s.ended().wait(-5 * time.Second)
	_, err = s.rec.Expire(s.terms)
	wantErr(t, err, ErrStale)
	s.wait(time.Millisecond).expire().want(StateExpired, ReasonExpiredBeforeSend)
	_, err = s.rec.Expire(s.terms)
	wantErr(t, err, ErrStale)

	s = newStory(t).ended().wait(-1)
	s.terms.MinRemaining = 0
	_, err = s.rec.Expire(s.terms)
	wantErr(t, err, ErrStale)
	s.ended().expire().want(StateExpired, ReasonExpiredBeforeSend)

	s = newStory(t).ended()
	s.terms.Unavailable = true
	s.expire().want(StateExpired, ReasonProviderUnavailable)
}

func TestExpiryWaitsForACallInFlight(t *testing.T) {
	t.Parallel()
	s := newStory(t).start("main").ended()
	_, err := s.rec.Expire(s.terms)
	wantErr(t, err, ErrStale)
	s.finish(1, taken("SM1")).want(StateSent, ReasonProviderAccepted)
}

func TestWithdrawalOfAWaitingNotificationStopsItForEachReason(t *testing.T) {
	t.Parallel()
	for _, why := range []Reason{ReasonWithdrawnByClient, ReasonWithdrawnByStaff, ReasonSuperseded, ReasonRefusedByPolicy, ReasonRestored} {
		s := newStory(t).withdraw(why).want(StateCancelled, why).permits(1)
		if s.rec.StoppedBy != (Actor{ActorClient, "key"}) || !s.rec.WithdrawnAt.Equal(s.terms.Now) || s.rec.Permits[0].VoidAt.IsZero() {
			t.Errorf("%s: %+v", why, s.rec)
		}
		s.still(func() { s.withdraw(ReasonSuperseded) })
	}
}

func TestAnUnreadableNotificationIsSetAsideOnce(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.do(s.rec.SetAside(s.terms.Now)).want(StateFailed, ReasonUnreadable)
	_, err := s.rec.SetAside(s.terms.Now)
	wantErr(t, err, ErrStale)
	_, err = newStory(t).start("main").rec.SetAside(s.terms.Now)
	wantErr(t, err, ErrStale)
}

func TestEachAnswerLeadsToItsState(t *testing.T) {
	t.Parallel()
	unbuildable := Exchange{Phase: PhaseNone, Err: ErrUnbuildable}
	for _, row := range []struct {
		name      string
		x         Exchange
		elsewhere bool
		outcome   Outcome
		rule      Rule
		state     State
		reason    Reason
		permits   int
	}{
		{"unbuildable, no other provider", unbuildable, false, OutcomeRefused, R1, StateFailed, ReasonProviderRefused, 1},
		{"unbuildable here, another provider", unbuildable, true, OutcomeNotSent, R1, StateAccepted, "", 2},
		{"not a byte left", unsent(), false, OutcomeNotSent, R2, StateAccepted, "", 2},
		{"taken", taken("SM1"), false, OutcomeAccepted, R3, StateSent, ReasonProviderAccepted, 1},
		{"refused for good", answered(MeaningRefused, ""), true, OutcomeRefused, R4, StateFailed, ReasonProviderRefused, 1},
		{"refused here, no other provider", answered(MeaningRefusedHere, ""), false, OutcomeRefused, R4, StateFailed, ReasonProviderRefused, 1},
		{"refused here, another provider", answered(MeaningRefusedHere, ""), true, OutcomeNotSent, R4, StateAccepted, "", 2},
		{"try later", answered(MeaningTryLater, ""), false, OutcomeNotSent, R5, StateAccepted, "", 2},
		{"timed out", hung(), true, OutcomeUnknown, R6, StateUnknown, "", 1},
		{"foreign answer", answered(MeaningForeign, ""), true, OutcomeUnknown, R7, StateUnknown, "", 1},
		{"seen before", answered(MeaningSeenBefore, ""), false, OutcomeAccepted, R10, StateSent, ReasonProviderAccepted, 1},
		{"the account is refused", answered(MeaningAccountRefusing, ""), false, OutcomeNotSent, R11, StateAccepted, "", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t).start("main").wait(time.Second)
			s.terms.Elsewhere = row.elsewhere
			s.finish(1, row.x).want(row.state, row.reason).outcomes(row.outcome).permits(row.permits).incidents()
			a := s.rec.Attempts[0]
			if a.Rule != row.rule || a.Phase != row.x.Phase || !a.FinishedAt.Equal(s.terms.Now) || s.rec.Final != (row.state == StateFailed) {
				t.Errorf("attempt %+v, final %t", a, s.rec.Final)
			}
			if row.outcome == OutcomeNotSent {
				s.graded(GradeWire)
			}
			_, err := s.rec.Finish(1, row.x, s.terms)
			wantErr(t, err, ErrStale)
		})
	}
}

func TestProvenNotSentWaitsForItsNextTry(t *testing.T) {
	t.Parallel()
	s := newStory(t).start("main").finish(1, unsent())
	if want := s.terms.Now.Add(s.terms.Delay); !s.rec.DueAt.Equal(want) || s.rec.Doubts() != 0 {
		t.Errorf("due %v, want %v; doubts %d", s.rec.DueAt, want, s.rec.Doubts())
	}
	s.start("other").finish(2, taken("SM2")).want(StateSent, ReasonProviderAccepted).outcomes(OutcomeNotSent, OutcomeAccepted).incidents()
}

func TestNotSentWithoutLifeExpires(t *testing.T) {
	t.Parallel()
	s := newStory(t).start("main").ended().wait(-time.Second)
	s.finish(1, unsent()).want(StateExpired, ReasonExpiredBeforeSend).permits(1).graded(GradeWire)
	s = newStory(t).start("main").ended().wait(-time.Second)
	s.terms.Unavailable = true
	s.finish(1, unsent()).want(StateExpired, ReasonProviderUnavailable).permits(1)
}

func TestAWithdrawalDuringACallTakesEffectWithItsOutcome(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		x      Exchange
		state  State
		reason Reason
	}{
		{"accepted: too late", taken("SM1"), StateSent, ReasonProviderAccepted},
		{"refused", answered(MeaningRefused, ""), StateCancelled, ReasonSuperseded},
		{"not sent", unsent(), StateCancelled, ReasonSuperseded},
		{"try later", answered(MeaningTryLater, ""), StateCancelled, ReasonSuperseded},
		{"unknown: still a doubt", hung(), StateUnknown, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t).start("main").withdraw(ReasonSuperseded).want(StateDispatching, "")
			if s.rec.WithdrawnAt.IsZero() || s.rec.Version != 3 {
				t.Fatalf("withdrawn at %v, version %d", s.rec.WithdrawnAt, s.rec.Version)
			}
			wantErr(t, s.rec.MayStillSend(1, s.terms), ErrStopped)
			s.finish(1, row.x).want(row.state, row.reason).permits(1)
		})
	}
}

func TestTheLastLookBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	wantErr(t, s.rec.MayStillSend(1, s.terms), ErrStopped)
	s.start("main")
	if err := s.rec.MayStillSend(1, s.terms); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.rec.MayStillSend(2, s.terms), ErrNotFound)
	short := s.terms
	short.Now = s.rec.ExpiresAt.Add(time.Millisecond - short.MinRemaining)
	wantErr(t, s.rec.MayStillSend(1, short), ErrStopped)
	over := Terms{Now: s.rec.ExpiresAt}
	wantErr(t, s.rec.MayStillSend(1, over), ErrStopped)
	late := s.terms // what the provider is told counts from the call's deadline: a process that stalls until then must not begin (I5)
	late.Now = s.rec.Attempts[0].DeadlineAt
	wantErr(t, s.rec.MayStillSend(1, late), ErrStopped)
	late.Now = late.Now.Add(-time.Millisecond)
	if err := s.rec.MayStillSend(1, late); err != nil {
		t.Fatal(err)
	}
	receipt := newStory(t).start("main").receipt(1, "SM1", ReceiptTaken, "")
	wantErr(t, receipt.rec.MayStillSend(1, receipt.terms), ErrStopped)
}

func TestARestartTurnsAPendingCallIntoADoubt(t *testing.T) {
	t.Parallel()
	s := newStory(t).start("main")
	s.do(s.rec.Interrupt(s.terms)).want(StateUnknown, "").outcomes(OutcomeUnknown).permits(1)
	a := s.rec.Attempts[0]
	if a.Rule != R8 || a.Phase != "" || !a.LookupAt.Equal(s.terms.Now.Add(5*time.Second)) || s.rec.Doubts() != 1 {
		t.Errorf("attempt %+v", a)
	}
	_, err := s.rec.Interrupt(s.terms)
	wantErr(t, err, ErrStale)
	_, err = s.rec.Finish(1, taken("SM1"), s.terms)
	wantErr(t, err, ErrStale)
	_, err = newStory(t).rec.Interrupt(s.terms)
	wantErr(t, err, ErrStale)
}

func TestSentBecomesFinalByAReportOrByItsAbsence(t *testing.T) {
	t.Parallel()
	s := newStory(t).start("main").finish(1, taken("SM1")).want(StateSent, ReasonProviderAccepted)
	s.wait(ReceiptPatience - time.Millisecond)
	_, err := s.rec.Finalise(s.terms.Now)
	wantErr(t, err, ErrStale)
	s.wait(time.Millisecond).do(s.rec.Finalise(s.terms.Now)).want(StateSent, ReasonProviderAccepted)
	if last := s.past.events[len(s.past.events)-1]; !s.rec.Final || last.Reason != ReasonNoReceipt {
		t.Errorf("final %t, event %+v", s.rec.Final, last)
	}
	_, err = s.rec.Finalise(s.terms.Now)
	wantErr(t, err, ErrStale)
	s.receipt(1, "SM1", ReceiptDelivered, "").want(StateDelivered, ReasonProviderAccepted)

	dumb := newStory(t).start("main")
	dumb.terms.NoReceipts = true
	if dumb.finish(1, taken("")).want(StateSent, ReasonProviderAccepted); !dumb.rec.Final {
		t.Error("sent through a provider without receipts is not final")
	}
	_, err = newStory(t).rec.Finalise(storyTime().Add(99 * time.Hour))
	wantErr(t, err, ErrStale)
}

func TestRoutingAvoidsWhoRefusedThisMessage(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.terms.Elsewhere = true
	s.start("a").finish(1, unsent()).start("b").finish(2, answered(MeaningRefusedHere, "")).start("c").finish(3, Exchange{Phase: PhaseNone,
		Err: ErrUnbuildable}).start("d").finish(4, answered(MeaningTryLater, "")).start("e").finish(5, answered(MeaningAccountRefusing, ""))
	if got := strings.Join(s.rec.RefusedBy(), " "); got != "b c" {
		t.Errorf("refused by %q, want b and c", got)
	}
	s.terms.Elsewhere = false
	s.start("a").finish(6, answered(MeaningRefusedHere, "")).want(StateFailed, ReasonProviderRefused)
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	s := newStory(t).start("main")
	for _, n := range []int{-1, 0, 2} {
		_, finish := s.rec.Finish(n, hung(), s.terms)
		_, settle := s.rec.Settle(Verdict{Attempt: n, Ruling: RulingSent}, s.terms)
		_, receipt := s.rec.RecordReceipt(n, Receipt{}, s.terms)
		_, lookup := s.rec.RecordLookup(Lookup{Attempt: n}, Conclusion{}, true, s.terms)
		for _, err := range []error{finish, settle, receipt, lookup} {
			wantErr(t, err, ErrNotFound)
		}
	}
}
