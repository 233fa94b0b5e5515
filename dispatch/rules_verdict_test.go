package dispatch

import (
	"errors"
	"testing"
	"time"
)

// situation is a place in the life of a notification at which a person may rule on attempt 1.
type situation struct {
	name  string
	reach func(*story) *story
	// What each ruling leads to; nil: refused as stale.
	sent, notSentAgain, notSentClose, undetermined *end
}

type end struct {
	state     State
	reason    Reason
	permits   int
	incidents []IncidentKind
}

func situations() []situation {
	contradiction := []IncidentKind{IncidentContradiction}
	sent := &end{StateSent, ReasonProviderAccepted, 1, nil}
	withdrawn := &end{StateCancelled, ReasonWithdrawnByClient, 1, nil}
	expired := &end{StateExpired, ReasonOutcomeUnknown, 1, nil}
	closed := &end{StateCancelled, ReasonClosedUndetermined, 1, nil}
	over := &end{StateExpired, ReasonExpiredBeforeSend, 1, nil}
	return []situation{
		{"call in flight", func(s *story) *story { return s.start("main") }, sent, nil, nil, nil},
		{"in doubt", func(s *story) *story { return s.doubt() }, sent, &end{StateAccepted, "", 2, nil},
			&end{StateCancelled, ReasonClosedNotSent, 1, nil}, closed},
		{"in doubt, withdrawn", func(s *story) *story { return s.doubt().withdraw(ReasonWithdrawnByClient) }, sent, withdrawn, withdrawn, withdrawn},
		{"in doubt, life over but not swept", func(s *story) *story { return s.doubt().ended() }, sent, over,
			&end{StateCancelled, ReasonClosedNotSent, 1, nil}, closed},
		{"in doubt, too little life", func(s *story) *story { return s.doubt().ended().wait(-4 * time.Second) }, sent, over,
			&end{StateCancelled, ReasonClosedNotSent, 1, nil}, closed},
		{"expired in doubt", func(s *story) *story { return s.doubt().ended().expire() }, expired, expired, expired, nil},
		{"closed undetermined", func(s *story) *story { return s.doubt().decide(1, RulingUndetermined, NextClose) }, closed, closed, closed, nil},
		{"closed as not sent", func(s *story) *story { return s.doubt().decide(1, RulingNotSent, NextClose) },
			&end{StateCancelled, ReasonClosedNotSent, 1, contradiction}, nil, nil, nil},
		{"waiting with the next permit", func(s *story) *story { return s.doubt().again() },
			&end{StateSent, ReasonProviderAccepted, 2, contradiction}, nil, nil, nil},
		{"second call in flight", func(s *story) *story { return s.doubt().again().start("main") },
			&end{StateSent, ReasonProviderAccepted, 2, []IncidentKind{IncidentContradiction, IncidentSecondSend}}, nil, nil, nil},
		{"refused", func(s *story) *story { return s.start("main").finish(1, answered(MeaningRefused, "")) },
			&end{StateFailed, ReasonProviderRefused, 1, contradiction}, nil, nil, nil},
		{"sent", func(s *story) *story { return s.start("main").finish(1, taken("SM1")) }, nil, nil, nil, nil},
		{"delivered", func(s *story) *story { return s.start("main").receipt(1, "SM1", ReceiptDelivered, "") }, nil, nil, nil, nil},
		{"undelivered", func(s *story) *story { return s.start("main").receipt(1, "SM1", ReceiptUndelivered, "") }, nil, nil, nil, nil},
	}
}

func TestAPersonsVerdictInEverySituation(t *testing.T) {
	t.Parallel()
	for _, row := range situations() {
		for _, v := range []struct {
			ruling Ruling
			next   Next
			want   *end
		}{
			{RulingSent, NextClose, row.sent},
			{RulingSent, NextSendAgain, row.sent},
			{RulingNotSent, NextSendAgain, row.notSentAgain},
			{RulingNotSent, NextClose, row.notSentClose},
			{RulingNotSent, "", row.notSentClose},
			{RulingUndetermined, NextClose, row.undetermined},
			{RulingUndetermined, NextSendAgain, row.undetermined},
		} {
			t.Run(row.name+"/"+string(v.ruling)+"/"+string(v.next), func(t *testing.T) {
				t.Parallel()
				s := row.reach(newStory(t))
				c, err := s.rec.Settle(personal(1, v.ruling, v.next), s.terms)
				if v.want == nil {
					if wantErr(t, err, ErrStale); len(c.Effects) != 0 {
						t.Fatal("a refused verdict has effects")
					}
					return
				}
				s.do(c, err).want(v.want.state, v.want.reason).permits(v.want.permits).incidents(v.want.incidents...)
				if got := s.rec.Attempts[0].Outcome; got != v.ruling.Outcome() {
					t.Errorf("outcome %s after ruling %s", got, v.ruling)
				}
				last := s.past.verdicts[len(s.past.verdicts)-1]
				if last.Grade != GradeHuman || last.By != (Actor{ActorStaff, "stf"}) || !last.At.Equal(s.terms.Now) || last.ReasonCode != "provider_log" {
					t.Errorf("verdict on record: %+v", last)
				}
			})
		}
	}
}

func TestWithdrawalDuringADoubtTakesEffectWithItsEnd(t *testing.T) {
	t.Parallel()
	begin := func() *story {
		return newStory(t).doubt().withdraw(ReasonSuperseded).want(StateUnknown, "").permits(1)
	}
	begin().receipt(1, "SM1", ReceiptDelivered, "").want(StateDelivered, ReasonProviderAccepted)
	begin().lookup(1, match("SM1")).want(StateSent, ReasonProviderAccepted)
	begin().lookup(1, absent()).want(StateCancelled, ReasonSuperseded).permits(1)
	begin().again().want(StateCancelled, ReasonSuperseded).permits(1)
	begin().ended().expire().want(StateExpired, ReasonOutcomeUnknown).outcomes(OutcomeUndetermined)
	s := begin()
	s.still(func() { s.withdraw(ReasonWithdrawnByStaff) })
}

func TestExpiryEndsEveryDoubt(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt().ended().wait(-time.Millisecond)
	_, err := s.rec.Expire(s.terms)
	wantErr(t, err, ErrStale)
	s.ended().expire().want(StateExpired, ReasonOutcomeUnknown).outcomes(OutcomeUndetermined).graded(GradeExpiry).incidents()
	if a := s.rec.Attempts[0]; a.LookupAt.IsZero() {
		t.Error("nobody asks the provider any more")
	}
}

func TestADoubtWithoutAnOpenAttemptIsUnreadable(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt().ended()
	s.rec.Attempts[0].Outcome = OutcomeNotSent
	_, err := s.rec.Expire(s.terms)
	wantErr(t, err, ErrUnreadable)
}

func TestMaxAttemptsCountsDoubtsOnly(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	for range 5 {
		s.start("main").finish(len(s.rec.Attempts), unsent()).want(StateAccepted, "")
	}
	s.doubt().again().want(StateAccepted, "").doubt().again().want(StateAccepted, "")
	s.start("main").finish(8, unsent()).want(StateAccepted, "")
	s.doubt().again().want(StateCancelled, ReasonAttemptsExhausted).permits(9)
	if s.rec.Doubts() != 3 {
		t.Errorf("%d doubts, want 3", s.rec.Doubts())
	}
}

func TestEveryReasonIsGivenBySomeRule(t *testing.T) {
	t.Parallel()
	given := map[Reason]bool{}
	collect := func(s *story) {
		for _, ev := range s.past.events {
			given[ev.Reason] = true
		}
	}
	for _, why := range []Reason{ReasonWithdrawnByClient, ReasonWithdrawnByStaff, ReasonSuperseded, ReasonRefusedByPolicy, ReasonRestored} {
		collect(newStory(t).withdraw(why))
	}
	collect(newStory(t).ended().expire())
	paused := newStory(t).ended()
	paused.terms.Unavailable = true
	collect(paused.expire())
	aside := newStory(t)
	collect(aside.do(aside.rec.SetAside(aside.terms.Now)))
	collect(newStory(t).start("main").finish(1, answered(MeaningRefused, "")))
	silent := newStory(t).start("main").finish(1, taken("SM1")).wait(ReceiptPatience)
	collect(silent.do(silent.rec.Finalise(silent.terms.Now)))
	collect(newStory(t).doubt().ended().expire())
	collect(newStory(t).doubt().decide(1, RulingNotSent, NextClose))
	collect(newStory(t).doubt().decide(1, RulingUndetermined, NextClose))
	collect(newStory(t).doubt().again().doubt().again().doubt().again())
	for _, r := range Reasons() {
		if !given[r] {
			t.Errorf("no rule gives %s", r)
		}
		delete(given, r)
	}
	delete(given, "")
	if len(given) != 0 {
		t.Errorf("reasons that are not on the list: %v", given)
	}
}

func TestEveryGradeIsGivenBySomeRule(t *testing.T) {
	t.Parallel()
	newStory(t).start("main").finish(1, unsent()).graded(GradeWire)
	newStory(t).doubt().lookup(1, match("SM1")).graded(GradeProviderConfirmed)
	newStory(t).doubt().lookup(1, absent()).graded(GradeProviderDenied)
	newStory(t).doubt().receipt(1, "SM1", ReceiptTaken, "").graded(GradeReceipt)
	newStory(t).doubt().decide(1, RulingSent, NextClose).graded(GradeHuman)
	newStory(t).doubt().ended().expire().graded(GradeExpiry)
}

// With zero Terms nothing is granted: a caller that forgets a setting must not send more.
func TestForgottenTermsGrantNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt()
	s.terms = Terms{Now: s.terms.Now}
	s.again().want(StateCancelled, ReasonAttemptsExhausted).permits(1)
}

func TestADoubtCannotBeClaimed(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt()
	for range 3 {
		c, err := s.rec.Start(Attempt{Provider: "other"}, s.terms)
		if !errors.Is(err, ErrStale) || len(c.Effects) != 0 {
			t.Fatalf("claim of a doubt: %v", err)
		}
		s.wait(time.Minute)
	}
}
