package dispatch

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// permute calls f with every order of items.
func permute[T any](items []T, f func([]T)) {
	var walk func(int)
	walk = func(k int) {
		if k == len(items) {
			f(slices.Clone(items))
			return
		}
		for i := k; i < len(items); i++ {
			items[k], items[i] = items[i], items[k]
			walk(k + 1)
			items[k], items[i] = items[i], items[k]
		}
	}
	walk(0)
}

func TestFieldF20_AReceiptBeforeTheAnswerIsNeitherLostNorUndone(t *testing.T) {
	t.Parallel()
	for _, late := range []Exchange{taken("SM1"), hung(), answered(MeaningForeign, ""), answered(MeaningSeenBefore, "")} {
		s := newStory(t).start("main").receipt(1, "SM1", ReceiptDelivered, "").want(StateDelivered, ReasonProviderAccepted)
		s.graded(GradeReceipt).outcomes(OutcomeAccepted)
		s.finish(1, late).want(StateDelivered, ReasonProviderAccepted).outcomes(OutcomeAccepted).incidents()
		if a := s.rec.Attempts[0]; a.FinishedAt.IsZero() || a.MessageID != "SM1" || a.Rule == "" || !a.UnknownSince.IsZero() {
			t.Errorf("attempt %+v", a)
		}
	}
}

func TestFieldF20_AReceiptResolvesADoubtWhoseAnswerNeverComes(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt().receipt(1, "SM1", ReceiptDelivered, "").want(StateDelivered, ReasonProviderAccepted)
	if a := s.rec.Attempts[0]; a.Outcome != OutcomeAccepted || a.MessageID != "SM1" || !a.LookupAt.IsZero() {
		t.Errorf("attempt %+v", a)
	}
}

func TestAnAnswerThatDeniesAReceiptOpensAnIncident(t *testing.T) {
	t.Parallel()
	for _, m := range []Meaning{MeaningRefused, MeaningRefusedHere, MeaningTryLater, MeaningAccountRefusing} {
		s := newStory(t).start("main").receipt(1, "SM1", ReceiptTaken, "")
		s.finish(1, answered(m, "")).want(StateSent, ReasonProviderAccepted).outcomes(OutcomeAccepted).permits(1)
		s.incidents(IncidentContradiction).graded(GradeReceipt)
	}
}

func TestTwoProviderIDsForOneAttemptOpenAnIncident(t *testing.T) {
	t.Parallel()
	t.Run("receipt, then answer", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).start("main").receipt(1, "SM1", ReceiptTaken, "").finish(1, taken("SM2")).incidents(IncidentTwoIDs)
		if a := s.rec.Attempts[0]; a.MessageID != "SM1" || a.AnswerID != "SM2" {
			t.Errorf("attempt %+v", a)
		}
	})
	t.Run("answer, then receipts", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).start("main").finish(1, taken("SM1")).receipt(1, "SM2", ReceiptTaken, "").receipt(1, "SM3", ReceiptDelivered, "")
		s.want(StateDelivered, ReasonProviderAccepted).incidents(IncidentTwoIDs)
	})
	t.Run("receipt, then lookup", func(t *testing.T) {
		t.Parallel()
		newStory(t).doubt().receipt(1, "SM1", ReceiptTaken, "").lookup(1, match("SM2")).incidents(IncidentTwoIDs)
	})
	t.Run("an answer or receipt without an id names none", func(t *testing.T) {
		t.Parallel()
		newStory(t).start("main").finish(1, taken("SM1")).receipt(1, "", ReceiptDelivered, "").want(StateDelivered, ReasonProviderAccepted).incidents()
		s := newStory(t).start("main").receipt(1, "SM1", ReceiptTaken, "").finish(1, taken("")).incidents()
		if s.rec.Attempts[0].MessageID != "SM1" {
			t.Error("an empty id displaced the bound one")
		}
	})
}

func TestOnlyTheProvidersOwnAnswerBindsAnID(t *testing.T) {
	t.Parallel()
	cut := Exchange{Phase: PhaseResponding, Err: hung().Err, Answer: Answer{Meaning: MeaningTaken, MessageID: "SM9"}}
	stale := Exchange{Phase: PhaseConnected, Err: hung().Err, Answer: Answer{Meaning: MeaningTaken, MessageID: "SM9"}}
	for _, x := range []Exchange{cut, stale, answered(MeaningForeign, "SM9")} {
		s := newStory(t).start("main").finish(1, x)
		if a := s.rec.Attempts[0]; a.MessageID != "" || s.past.events[2].By != Worker() {
			t.Errorf("%+v bound %q, by %v", x, a.MessageID, s.past.events[2].By)
		}
	}
	s := newStory(t).start("main").finish(1, taken("SM9"))
	if a := s.rec.Attempts[0]; a.MessageID != "SM9" || s.past.events[2].By != (Actor{ActorProvider, "main"}) {
		t.Errorf("bound %q, by %v", a.MessageID, s.past.events[2].By)
	}
}

type report struct {
	id     string
	status ReceiptStatus
	code   string
}

func TestFieldF21_ReceiptsInEveryOrderEndTheSame(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reports []report
		end     State
	}{
		{[]report{{"SM1", ReceiptTaken, ""}, {"SM1", ReceiptTaken, "queued"}, {"SM1", ReceiptDelivered, ""}}, StateDelivered},
		{[]report{{"SM1", ReceiptTaken, ""}, {"SM1", ReceiptTaken, "sent"}, {"SM1", ReceiptUndelivered, "30003"}}, StateUndelivered},
	} {
		for _, begin := range []func(*story){func(s *story) { s.start("main") }, func(s *story) { s.start("main").finish(1, taken("SM1")) },
			func(s *story) { s.doubt() }} {
			permute(row.reports, func(order []report) {
				s := newStory(t)
				begin(s)
				rank := ReceiptStatus("")
				for _, r := range order {
					s.receipt(1, r.id, r.status, r.code)
					if r.status.Outranks(rank) {
						rank = r.status
					}
					s.want(rank.State(), ReasonProviderAccepted)
				}
				s.want(row.end, ReasonProviderAccepted).incidents()
			})
		}
	}
}

func TestFieldF21_ALateReceiptStopsAResendThatWaits(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt().again().want(StateAccepted, "").permits(2)
	s.receipt(1, "SM1", ReceiptDelivered, "").want(StateDelivered, ReasonProviderAccepted).outcomes(OutcomeAccepted)
	s.incidents(IncidentContradiction).graded(GradeHuman, GradeReceipt)
	if s.rec.Permits[1].VoidAt.IsZero() {
		t.Error("the waiting permit is not void")
	}
	_, err := s.rec.Start(Attempt{Provider: "main"}, s.terms)
	wantErr(t, err, ErrStale)
}

func TestFieldF23_PartReceiptsInEveryOrderEndUndeliveredWithTheCode(t *testing.T) {
	t.Parallel()
	permute([]report{{"SM1", ReceiptUndelivered, "30005"}, {"SM1", ReceiptDelivered, ""}, {"SM1", ReceiptDelivered, ""}}, func(order []report) {
		s := newStory(t).start("main").finish(1, taken("SM1"))
		for _, r := range order {
			s.receipt(1, r.id, r.status, r.code)
		}
		if s.want(StateUndelivered, ReasonProviderAccepted); s.rec.Attempts[0].ReceiptCode != "30005" || !s.rec.Final {
			t.Errorf("%v: code %q", order, s.rec.Attempts[0].ReceiptCode)
		}
		for _, r := range order {
			s.still(func() { s.repeat(1, r.id, r.status, r.code) })
		}
		s.incidents()
	})
}

func TestARepeatedReceiptChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t).start("main").finish(1, taken("SM1")).receipt(1, "SM1", ReceiptTaken, "")
	s.still(func() { s.repeat(1, "SM1", ReceiptTaken, "").repeat(1, "SM1", ReceiptDelivered, "") })
	if last := s.past.events[len(s.past.events)-1]; last.Action != ActionReceiptRepeated || s.rec.Attempts[0].Receipt != ReceiptTaken {
		t.Errorf("last event %+v", last)
	}
	s.receipt(1, "SM1", ReceiptDelivered, "").still(func() { s.receipt(1, "SM1", ReceiptTaken, "").receipt(1, "SM1", ReceiptDelivered, "") })
}

func TestALateReceiptAfterTheStopIsAttachedOnly(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		s         func(*story) *story
		state     State
		reason    Reason
		incidents []IncidentKind
	}{
		{"expired in doubt", func(s *story) *story { return s.doubt().ended().expire() }, StateExpired, ReasonOutcomeUnknown, nil},
		{"closed undetermined", func(s *story) *story { return s.doubt().decide(1, RulingUndetermined, NextClose) }, StateCancelled,
			ReasonClosedUndetermined, nil},
		{"closed as not sent", func(s *story) *story { return s.doubt().decide(1, RulingNotSent, NextClose) }, StateCancelled,
			ReasonClosedNotSent, []IncidentKind{IncidentContradiction}},
		{"refused", func(s *story) *story { return s.start("main").finish(1, answered(MeaningRefused, "")) }, StateFailed,
			ReasonProviderRefused, []IncidentKind{IncidentContradiction}},
		{"not sent, then expired", func(s *story) *story { return s.start("main").finish(1, unsent()).ended().expire() }, StateExpired,
			ReasonExpiredBeforeSend, []IncidentKind{IncidentContradiction}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := row.s(newStory(t)).want(row.state, row.reason)
			version := s.rec.Version
			s.wait(time.Hour).receipt(1, "SM1", ReceiptDelivered, "").want(row.state, row.reason).outcomes(OutcomeAccepted)
			s.incidents(row.incidents...)
			if s.rec.Version == version || s.rec.Attempts[0].Receipt != ReceiptDelivered {
				t.Error("late evidence is not news")
			}
		})
	}
}

func TestEvidenceForTheFirstCallAfterASecondOpensAnIncident(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		x      Exchange
		end    Outcome
		second bool
	}{
		{"second accepted", taken("SM2"), OutcomeAccepted, true},
		{"second unknown", hung(), OutcomeUnknown, true},
		{"second pending", Exchange{}, OutcomePending, true},
		{"second proven not sent", unsent(), OutcomeNotSent, false},
		{"second refused", answered(MeaningRefused, ""), OutcomeRefused, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t).doubt().again().start("main")
			if row.end != OutcomePending {
				s.finish(2, row.x)
			}
			want := []IncidentKind{IncidentContradiction}
			if row.second {
				want = append(want, IncidentSecondSend)
			}
			s.receipt(1, "SM1", ReceiptTaken, "").outcomes(OutcomeAccepted, row.end).incidents(want...)
			if !s.rec.State.Stopped() {
				t.Errorf("it goes on in %s", s.rec.State)
			}
		})
	}
	t.Run("second undetermined", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).doubt().again().doubt().ended().expire().lookup(1, match("SM1"))
		s.want(StateExpired, ReasonOutcomeUnknown).outcomes(OutcomeAccepted, OutcomeUndetermined)
		s.incidents(IncidentContradiction, IncidentSecondSend)
	})
}

func TestASecondCallThatEndsAfterTheStopIsRecorded(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) *story {
		return newStory(t).doubt().again().start("main").receipt(1, "SM1", ReceiptTaken, "").want(StateSent, ReasonProviderAccepted)
	}
	for _, row := range []struct {
		x   Exchange
		end Outcome
	}{{taken("SM2"), OutcomeAccepted}, {hung(), OutcomeUnknown}, {unsent(), OutcomeNotSent}, {answered(MeaningRefused, ""), OutcomeRefused}} {
		s := begin(t).finish(2, row.x).want(StateSent, ReasonProviderAccepted).outcomes(OutcomeAccepted, row.end).permits(2)
		s.incidents(IncidentContradiction, IncidentSecondSend)
	}
	s := begin(t)
	s.do(s.rec.Interrupt(s.terms)).want(StateSent, ReasonProviderAccepted).outcomes(OutcomeAccepted, OutcomeUnknown)
	s.ended().expire().want(StateSent, ReasonProviderAccepted).outcomes(OutcomeAccepted, OutcomeUndetermined)
	_, err := s.rec.Expire(s.terms)
	wantErr(t, err, ErrStale)
}

func TestTheStateFollowsTheLastCallThatWasTaken(t *testing.T) {
	t.Parallel()
	begin := func() *story { return newStory(t).doubt().again().doubt().receipt(1, "SM1", ReceiptTaken, "") }
	one := begin().lookup(2, match("SM2")).receipt(2, "SM2", ReceiptDelivered, "")
	two := begin().receipt(2, "SM2", ReceiptDelivered, "").lookup(2, match("SM2"))
	for _, s := range []*story{one, two} {
		s.want(StateDelivered, ReasonProviderAccepted).receipt(1, "SM1", ReceiptUndelivered, "30005").want(StateDelivered, ReasonProviderAccepted)
	}
}

func TestNoStoryNamesAnEventTwiceInOneVersion(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt().again().doubt().receipt(1, "SM1", ReceiptUndelivered, "30005").receipt(2, "SM2", ReceiptDelivered, "")
	var actions []string
	for _, ev := range s.past.events {
		actions = append(actions, string(ev.Action))
	}
	want := "accepted dispatch_started attempt_finished verdict_recorded dispatch_started attempt_finished receipt_recorded verdict_recorded " +
		"incident_opened incident_opened receipt_recorded verdict_recorded"
	if got := strings.Join(actions, " "); got != want || s.rec.Version != len(actions) {
		t.Errorf("version %d, events %s", s.rec.Version, got)
	}
}
