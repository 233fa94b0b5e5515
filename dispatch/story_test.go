package dispatch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// story leads one notification through its life. Each step is held against the invariants of invariants_test.go.
type story struct {
	testing.TB
	rec   Record
	terms Terms
	past  *history
}

func storyTime() time.Time { return time.Date(2026, 11, 29, 14, 0, 0, 0, time.UTC) }

// blankRecord is a notification before its admission, with ten minutes to live.
func blankRecord() Record {
	now := storyTime()
	return Record{Notification: Notification{ID: NotificationID{1}, Client: ClientID{2}, EventID: "evt-1", IdempotencyKey: "k-1",
		Purpose: DefaultPurpose, AcceptedAt: now, ExpiresAt: now.Add(10 * time.Minute), DueAt: now}}
}

// freshRecord is a notification as the admission leaves it.
func freshRecord() Record {
	r, _ := admit(blankRecord())
	return r
}

func newStory(t testing.TB) *story {
	t.Helper()
	r, past := admit(blankRecord())
	return &story{TB: t, rec: r, past: past, terms: Terms{Now: storyTime().Add(time.Second), MinRemaining: 5 * time.Second,
		MaxAttempts: 3, Delay: time.Second, Schedule: []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second}}}
}

func (s *story) do(c Change, err error) *story {
	s.Helper()
	if err != nil {
		s.Fatalf("state %s: %v", s.rec.State, err)
	}
	next, err := s.past.apply(s.rec, c)
	if err != nil {
		s.Fatalf("state %s: %v", s.rec.State, err)
	}
	s.rec = next
	return s
}

func (s *story) wait(d time.Duration) *story {
	s.terms.Now = s.terms.Now.Add(d)
	return s
}

func (s *story) start(provider string) *story {
	s.Helper()
	return s.do(s.rec.Start(Attempt{ID: AttemptID{byte(len(s.rec.Attempts) + 1)}, Provider: provider,
		DeadlineAt: s.terms.Now.Add(CallDeadline(time.Minute, s.rec.Life(s.terms.Now)))}, s.terms))
}

func (s *story) finish(n int, x Exchange) *story {
	s.Helper()
	return s.do(s.rec.Finish(n, x, s.terms))
}

func (s *story) withdraw(why Reason) *story {
	s.Helper()
	return s.do(s.rec.Withdraw(why, "user_request", Actor{ActorClient, "key"}, s.terms.Now), nil)
}

func (s *story) receipt(n int, id string, status ReceiptStatus, code string) *story {
	s.Helper()
	return s.do(s.rec.RecordReceipt(n, Receipt{Provider: "main", Report: Report{MessageID: id, Status: status, Code: code}}, s.terms))
}

func (s *story) repeat(n int, id string, status ReceiptStatus, code string) *story {
	s.Helper()
	rc := Receipt{Provider: "main", Repeat: true, Report: Report{MessageID: id, Status: status, Code: code}}
	return s.do(s.rec.RecordReceipt(n, rc, s.terms))
}

func (s *story) lookup(n int, c Conclusion) *story {
	s.Helper()
	return s.do(s.rec.RecordLookup(Lookup{Attempt: n, Provider: "main", By: Worker()}, c, true, s.terms))
}

func (s *story) decide(n int, ruling Ruling, next Next) *story {
	s.Helper()
	return s.do(s.rec.Settle(personal(n, ruling, next), s.terms))
}

func (s *story) expire() *story {
	s.Helper()
	return s.do(s.rec.Expire(s.terms))
}

// ended moves the clock to the expiry.
func (s *story) ended() *story {
	s.terms.Now = s.rec.ExpiresAt
	return s
}

// doubt makes one call whose outcome stays unknown.
func (s *story) doubt() *story {
	s.Helper()
	return s.start("main").finish(len(s.rec.Attempts), hung())
}

// again decides that the last call did not send, and grants the next permit.
func (s *story) again() *story {
	s.Helper()
	return s.decide(len(s.rec.Attempts), RulingNotSent, NextSendAgain)
}

func (s *story) want(state State, reason Reason) *story {
	s.Helper()
	if s.rec.State != state || s.rec.Reason != reason {
		s.Fatalf("it is %s/%s, want %s/%s", s.rec.State, s.rec.Reason, state, reason)
	}
	return s
}

func (s *story) outcomes(want ...Outcome) *story {
	s.Helper()
	var got []Outcome
	for _, a := range s.rec.Attempts {
		got = append(got, a.Outcome)
	}
	if !slices.Equal(got, want) {
		s.Fatalf("outcomes %v, want %v", got, want)
	}
	return s
}

func (s *story) permits(want int) *story {
	s.Helper()
	if len(s.rec.Permits) != want {
		s.Fatalf("%d permits, want %d", len(s.rec.Permits), want)
	}
	return s
}

func (s *story) incidents(want ...IncidentKind) *story {
	s.Helper()
	var got []IncidentKind
	for _, i := range s.rec.Incidents {
		got = append(got, i.Kind)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.Fatalf("incidents %v, want %v", got, want)
	}
	return s
}

func (s *story) graded(want ...Grade) *story {
	s.Helper()
	var got []Grade
	for _, v := range s.past.verdicts {
		got = append(got, v.Grade)
	}
	if !slices.Equal(got, want) {
		s.Fatalf("verdicts graded %v, want %v", got, want)
	}
	return s
}

// still checks that a step leaves the notification as it was: state, version, outcomes, permits.
func (s *story) still(step func()) *story {
	s.Helper()
	before := s.rec
	step()
	if s.rec.State != before.State || s.rec.Version != before.Version || s.rec.Final != before.Final || !slices.Equal(s.rec.Permits, before.Permits) {
		s.Fatalf("it moved from %s v%d to %s v%d", before.State, before.Version, s.rec.State, s.rec.Version)
	}
	for i, a := range before.Attempts {
		if s.rec.Attempts[i].Outcome != a.Outcome {
			s.Fatalf("attempt %d moved from %s to %s", a.Number, a.Outcome, s.rec.Attempts[i].Outcome)
		}
	}
	return s
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func personal(n int, ruling Ruling, next Next) Verdict {
	return Verdict{Attempt: n, Ruling: ruling, Grade: GradeHuman, Next: next, ReasonCode: "provider_log", By: Actor{ActorStaff, "stf"}}
}

func answered(m Meaning, id string) Exchange {
	return Exchange{Phase: PhaseAnswered, Answer: Answer{Meaning: m, HTTPStatus: 200, MessageID: id}}
}

func taken(id string) Exchange { return answered(MeaningTaken, id) }

func hung() Exchange { return Exchange{Phase: PhaseWritten, Err: context.DeadlineExceeded} }

func unsent() Exchange {
	return Exchange{Phase: PhaseConnecting, Err: errors.New("connection refused")}
}

func match(id string) Conclusion {
	return Conclusion{Result: LookupMatch, Ruling: RulingSent, MessageID: id}
}

func absent() Conclusion {
	return Conclusion{Result: LookupAbsent, Ruling: RulingNotSent, Proof: true}
}
