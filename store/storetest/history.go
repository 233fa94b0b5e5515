package storetest

import (
	"fmt"
	"testing"
	"time"

	"sentonce/dispatch"
)

// Schedule is the ages of a doubt at which the tests' provider is asked.
func Schedule() []time.Duration { return []time.Duration{5 * time.Second, time.Minute} }

// Refused is an exchange in which the provider refused the message for good.
func Refused() dispatch.Exchange {
	return dispatch.Exchange{Phase: dispatch.PhaseAnswered, Answer: dispatch.Answer{Meaning: dispatch.MeaningRefused, HTTPStatus: 400,
		Code: "21211"}}
}

// MustWithdraw withdraws a notification of the store's client.
func (s *Store) MustWithdraw(t testing.TB, id dispatch.NotificationID) {
	t.Helper()
	_, err := s.DB.Withdraw(t.Context(), dispatch.Withdrawal{Client: s.Client, ID: id, Cause: dispatch.CauseUserRequest,
		By: dispatch.Actor{Kind: dispatch.ActorClient, ID: "key_test"}, RequestID: "req-test"})
	must(t, err)
}

// MustReport records a delivery report about a job, by its reference.
func (s *Store) MustReport(t testing.TB, job dispatch.Job, messageID string, status dispatch.ReceiptStatus) {
	t.Helper()
	_, err := s.RecordReceipt(t.Context(), job.Provider, dispatch.Report{MessageID: messageID, Status: status, Raw: string(status)}, &job.Reference)
	must(t, err)
}

// MustAsk answers the one question that is due about a notification. It moves the clock to the question's time.
func (s *Store) MustAsk(t testing.TB, id dispatch.NotificationID, f dispatch.Finding, can dispatch.Capabilities) dispatch.LookupResult {
	t.Helper()
	s.Clock.Add(6 * time.Second)
	jobs, err := s.DueLookups(t.Context(), s.Clock.Now(), 100)
	must(t, err)
	for _, job := range jobs {
		if job.Reference.Notification != id {
			continue
		}
		result, err := s.RecordLookup(t.Context(), dispatch.LookupReport{Job: job, AskedAt: s.Clock.Now(), By: dispatch.Worker(), Finding: f,
			Can: can, AutoResolve: true, Schedule: Schedule()})
		must(t, err)
		return result
	}
	t.Fatalf("no question about %s is due", id)
	return ""
}

// History leads notifications into every state that there is and returns them by what became of them.
func (s *Store) History(t testing.TB) map[string]dispatch.NotificationID {
	t.Helper()
	all := map[string]dispatch.NotificationID{}
	begin := func(name string) dispatch.NotificationID {
		r := s.MustAdmit(t, s.Admission())
		all[name] = r.ID
		return r.ID
	}
	call := func(name string) dispatch.Job { return s.MustClaim(t, begin(name)) }

	dies := begin("expired")
	s.MustFinish(t, call("expired_in_doubt"), TimedOut())
	s.Clock.Add(6 * time.Minute)
	if moved, err := s.EndLives(t.Context(), false, 10); err != nil || moved != 2 {
		t.Fatalf("the lives of %s and another: %d ended, %v", dies, moved, err)
	}
	s.MustFinish(t, call("sent"), Taken("SM-sent"))
	s.deliver(t, call("delivered"), dispatch.ReceiptDelivered)
	s.deliver(t, call("undelivered"), dispatch.ReceiptUndelivered)
	s.MustFinish(t, call("failed"), Refused())
	s.MustWithdraw(t, begin("cancelled"))
	s.contradict(t, call("contradicted"))
	s.MustFinish(t, call("absent"), TimedOut())
	s.MustAsk(t, all["absent"], dispatch.Finding{Complete: true, LaterSeen: true, Pages: 1}, dispatch.Capabilities{AbsenceProves: true})
	s.MustFinish(t, call("second_permit"), NotConnected())
	s.MustFinish(t, call("doubt"), TimedOut())
	withdrawn := call("withdrawn_in_doubt")
	s.MustFinish(t, withdrawn, TimedOut())
	s.MustWithdraw(t, all["withdrawn_in_doubt"])
	call("calling")
	begin("waiting")
	_, err := s.RecordReceipt(t.Context(), "main", dispatch.Report{MessageID: "SM-nobody", Status: dispatch.ReceiptDelivered, Raw: "delivered"}, nil)
	must(t, err)
	return all
}

func (s *Store) deliver(t testing.TB, job dispatch.Job, status dispatch.ReceiptStatus) {
	t.Helper()
	id := "SM-" + string(status)
	s.MustFinish(t, job, Taken(id))
	s.MustReport(t, job, id, status)
}

// contradict opens incidents: the first call, proven unsent, turns out sent while the second one is in doubt.
func (s *Store) contradict(t testing.TB, first dispatch.Job) {
	t.Helper()
	s.MustFinish(t, first, NotConnected())
	s.MustFinish(t, s.MustClaim(t, first.Reference.Notification), TimedOut())
	s.MustReport(t, first, "SM-contradiction", dispatch.ReceiptTaken)
	if r := s.MustGet(t, first.Reference.Notification); len(r.Incidents) == 0 {
		t.Fatal(fmt.Errorf("no incident in %+v", r))
	}
}
