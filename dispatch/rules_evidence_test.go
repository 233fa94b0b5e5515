package dispatch

import (
	"errors"
	"testing"
	"time"
)

func TestConclude(t *testing.T) {
	t.Parallel()
	at := storyTime()
	one := []Candidate{{MessageID: "SM1", CreatedAt: at}}
	two := []Candidate{{MessageID: "SM2", CreatedAt: at.Add(time.Second)}, {MessageID: "SM1", CreatedAt: at}}
	proof := Capabilities{AbsenceProves: true, AbsenceLag: time.Minute}
	none := Finding{Complete: true, LaterSeen: true}
	bound := func(ids ...string) map[string]bool {
		m := map[string]bool{}
		for _, id := range ids {
			m[id] = true
		}
		return m
	}
	for _, row := range []struct {
		name string
		f    Finding
		s    Surroundings
		want Conclusion
	}{
		{"a failed question says nothing, whatever came with it", Finding{Err: errors.New("503"), Candidates: one}, Surroundings{},
			Conclusion{Result: LookupFailed}},
		{"a failed question proves no absence", Finding{Err: errors.New("503"), Complete: true, LaterSeen: true},
			Surroundings{Can: proof, Age: time.Hour}, Conclusion{Result: LookupFailed}},
		{"one candidate", Finding{Candidates: one}, Surroundings{}, Conclusion{LookupMatch, RulingSent, "SM1", false}},
		{"one candidate that is another attempt's", Finding{Candidates: one}, Surroundings{Bound: bound("SM1")}, Conclusion{Result: LookupEmpty}},
		{"two candidates: the older one, and an incident", Finding{Candidates: two}, Surroundings{}, Conclusion{LookupSeveral, RulingSent, "SM1", false}},
		{"two candidates, one another attempt's", Finding{Candidates: two}, Surroundings{Bound: bound("SM1")},
			Conclusion{LookupMatch, RulingSent, "SM2", false}},
		{"a candidate that a rival could own", Finding{Candidates: one}, Surroundings{Rivals: true}, Conclusion{Result: LookupAmbiguous}},
		{"two candidates and a rival", Finding{Candidates: two}, Surroundings{Rivals: true}, Conclusion{Result: LookupAmbiguous}},
		{"a rival does not turn absence into ambiguity", none, Surroundings{Rivals: true, Can: proof, Age: time.Minute}, absent()},
		{"nothing, and every condition of proof", none, Surroundings{Can: proof, Age: time.Minute}, absent()},
		{"only another attempt's message, and every condition of proof", Finding{Candidates: one, Complete: true, LaterSeen: true},
			Surroundings{Bound: bound("SM1"), Can: proof, Age: time.Minute}, absent()},
		{"nothing, but the adapter declares no proof", none, Surroundings{Can: Capabilities{AbsenceLag: time.Minute}, Age: time.Hour},
			Conclusion{Result: LookupEmpty}},
		{"nothing, but before the lag", none, Surroundings{Can: proof, Age: time.Minute - 1}, Conclusion{Result: LookupEmpty}},
		{"nothing, but a page is missing", Finding{LaterSeen: true}, Surroundings{Can: proof, Age: time.Hour}, Conclusion{Result: LookupEmpty}},
		{"nothing, but no later message in sight", Finding{Complete: true}, Surroundings{Can: proof, Age: time.Hour}, Conclusion{Result: LookupEmpty}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := Conclude(row.f, row.s); got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
		})
	}
}

func TestPositiveEvidenceOfALookupSettlesWhateverTheSettings(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt()
	s.do(s.rec.RecordLookup(Lookup{Attempt: 1, Provider: "main", By: Worker()}, match("SM1"), false, s.terms))
	s.want(StateSent, ReasonProviderAccepted).outcomes(OutcomeAccepted).graded(GradeProviderConfirmed).incidents()
	if a := s.rec.Attempts[0]; a.MessageID != "SM1" || a.Lookups != 1 || !a.LookupAt.IsZero() {
		t.Errorf("attempt %+v", a)
	}
}

func TestProofOfAbsence(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt().lookup(1, absent()).want(StateAccepted, "").permits(2).graded(GradeProviderDenied)
	if a := s.rec.Attempts[0]; a.Outcome != OutcomeNotSent || !a.LookupAt.IsZero() {
		t.Errorf("attempt %+v", a)
	}
	t.Run("is left to staff where that is the setting", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).doubt()
		s.still(func() { s.do(s.rec.RecordLookup(Lookup{Attempt: 1, By: Worker()}, absent(), false, s.terms)) }).graded()
	})
	t.Run("settles after the expiry without a new permit", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).doubt().ended().expire().lookup(1, absent())
		s.want(StateExpired, ReasonOutcomeUnknown).outcomes(OutcomeNotSent).permits(1).graded(GradeExpiry, GradeProviderDenied)
	})
	t.Run("says nothing while the call is in flight", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).start("main")
		s.still(func() { s.lookup(1, absent()) })
	})
	t.Run("cannot undo what is known", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).start("main").finish(1, taken("SM1"))
		s.still(func() { s.lookup(1, absent()) })
	})
	t.Run("needs the proof, not the ruling alone", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).doubt()
		s.still(func() { s.lookup(1, Conclusion{Result: LookupEmpty, Ruling: RulingNotSent}) })
	})
}

func TestInconclusiveLookupsMoveNothingAndAskAgain(t *testing.T) {
	t.Parallel()
	for _, result := range []LookupResult{LookupEmpty, LookupFailed, LookupAmbiguous} {
		s := newStory(t).doubt().wait(6 * time.Second)
		s.still(func() { s.lookup(1, Conclusion{Result: result}) })
		a := s.rec.Attempts[0]
		if !a.LookupAt.Equal(a.UnknownSince.Add(15*time.Second)) || a.Lookups != 1 {
			t.Errorf("after %s: next at %v, %d asked", result, a.LookupAt, a.Lookups)
		}
		if last := s.past.events[len(s.past.events)-1]; last.Cause != string(result) || last.Evidence != EvidenceLookup {
			t.Errorf("event %+v", last)
		}
	}
}

// F03: a question that cannot be answered is not an answer.
func TestFieldF03_FailedLookupsKeepTheDoubt(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt()
	for range 3 {
		s.wait(time.Second)
		s.still(func() { s.lookup(1, Conclude(Finding{Err: errors.New("429")}, Surroundings{})) })
	}
	s.want(StateUnknown, "").permits(1)
	if s.rec.Attempts[0].Lookups != 3 {
		t.Errorf("%d lookups on record", s.rec.Attempts[0].Lookups)
	}
	s.lookup(1, absent()).want(StateAccepted, "").permits(2)
}

func TestALookupThatComesAfterOtherEvidence(t *testing.T) {
	t.Parallel()
	t.Run("asks no more", func(t *testing.T) {
		t.Parallel()
		for _, settled := range []*story{newStory(t).doubt().receipt(1, "SM1", ReceiptTaken, ""), newStory(t).doubt().again(),
			newStory(t).doubt().decide(1, RulingNotSent, NextClose)} {
			settled.still(func() { settled.lookup(1, Conclusion{Result: LookupEmpty}) })
			if at := settled.rec.Attempts[0].LookupAt; !at.IsZero() {
				t.Errorf("%s: asked again at %v", settled.rec.State, at)
			}
		}
	})
	t.Run("finds the same message", func(t *testing.T) {
		t.Parallel()
		s := newStory(t).doubt().receipt(1, "SM1", ReceiptTaken, "")
		s.still(func() { s.lookup(1, match("SM1")) }).incidents()
	})
	t.Run("finds the message of a call that was decided not sent", func(t *testing.T) {
		t.Parallel()
		newStory(t).doubt().again().lookup(1, match("SM1")).want(StateSent, ReasonProviderAccepted).permits(2).incidents(IncidentContradiction)
	})
	t.Run("finds several", func(t *testing.T) {
		t.Parallel()
		several := Conclusion{LookupSeveral, RulingSent, "SM1", false}
		newStory(t).doubt().lookup(1, several).want(StateSent, ReasonProviderAccepted).incidents(IncidentAmbiguous)
		newStory(t).doubt().receipt(1, "SM1", ReceiptTaken, "").lookup(1, several).incidents(IncidentAmbiguous)
	})
}

func TestAReceiptThroughAProviderWithoutReceiptsIsFinal(t *testing.T) {
	t.Parallel()
	s := newStory(t).doubt()
	s.terms.NoReceipts = true
	if s.lookup(1, match("")).want(StateSent, ReasonProviderAccepted); !s.rec.Final {
		t.Error("sent is not final")
	}
}
