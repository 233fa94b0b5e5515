package systemtest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

func TestFieldF07_AKillAfterTheProviderTookItLeavesADoubtAndNoSecondCall(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{timeout: "30s"})
	s.sim.Hide(true)
	p := s.start(t)
	a := s.fresh(5 * time.Minute)
	s.script(t, a.Recipient, acceptThen(sim.EndHang))
	id := s.admit(t, a)
	must(t, s.sim.WaitHeld(t.Context(), a.Recipient))
	p.kill()
	if got := s.auditCopy(t).Entries; len(got) != 1 {
		t.Errorf("on disk: %+v", got)
	}
	s.start(t)
	only(t, s.reach(t, id, "dispatch_unknown", "failed", "sent"), "unknown", "R8")
	if got := s.ask(t, `SELECT count(*) FROM events WHERE action = 'attempt_interrupted'`); got != "1" {
		t.Errorf("the timeline says %s times that the attempt was interrupted", got)
	}
	s.asked(t, 3)
	s.wantCalls(t, a.Recipient, 1, 1)
	s.sim.Hide(false)
	s.reach(t, id, "sent")
	s.wantCalls(t, a.Recipient, 1, 1)
	s.audit(t)
}

// blackHole takes connections and never says a word, so that a TLS handshake hangs. It tells of each one.
func blackHole(t *testing.T) (address string, taken <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	came := make(chan struct{}, 64)
	var held sync.WaitGroup
	end := make(chan struct{})
	held.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			came <- struct{}{}
			held.Go(func() {
				<-end
				conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		close(end)
		l.Close()
		held.Wait()
	})
	return l.Addr().String(), came
}

func TestFieldF12_AKillWhileConnectingLeavesNothingInFlightForEver(t *testing.T) {
	t.Parallel()
	hole, came := blackHole(t)
	s := newSite(t, layout{provider: "https://" + hole, timeout: "30s"})
	p := s.start(t)
	id := s.admit(t, s.fresh(5*time.Minute))
	<-came
	if d := s.status(t, id); d.State != "dispatching" {
		t.Errorf("while connecting it is %s", d.State)
	}
	p.kill()
	s.auditCopy(t)
	s.start(t)
	only(t, s.reach(t, id, "dispatch_unknown", "accepted", "sent"), "unknown", "R8")
	if n := s.ask(t, `SELECT count(*) FROM notifications WHERE state = 'dispatching'`); n != "0" {
		t.Errorf("%s are dispatching", n)
	}
	metrics := s.call(t, http.MethodGet, "/metrics", nil).body
	for _, want := range []string{"\nsentonce_unknown_open 1\n", "\nsentonce_unknown_oldest_age_seconds "} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics do not say %q", want)
		}
	}
	s.audit(t)
}

// openCalls admits events whose calls stay open at the provider.
func openCalls(t *testing.T, s *site, n int) (all []admission, ids []string) {
	t.Helper()
	for range n {
		a := s.fresh(5 * time.Minute)
		s.script(t, a.Recipient, acceptThen(sim.EndHang))
		all, ids = append(all, a), append(ids, s.admit(t, a))
	}
	eventually(t, "all calls are open", func() bool { return s.sim.Counters().Held == n })
	return all, ids
}

func TestFieldF08_AStopWaitsForTheCallsAndForNobodyElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{timeout: "10s"})
	s.sim.Hide(true) // what is lost must not be mended by a lookup
	p := s.start(t)
	all, ids := openCalls(t, s, 5)
	idle, err := net.Dial("tcp", s.listen) // a connection that asks nothing
	must(t, err)
	defer idle.Close()
	fmt.Fprintf(idle, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n") // … more
	poll := make(chan error, 1)
	http.DefaultClient.CloseIdleConnections() // so that it takes a new one, which a server that stops does not mistake for an idle one
	go func() {
		_, err := s.try(t.Context(), request{method: http.MethodGet, path: "/v1/notifications/" + ids[0], client: "shop",
			header: map[string]string{"Prefer": "wait=30"}})
		poll <- err
	}()
	holds(t, time.Second, "the poller is held", func() bool { return len(poll) == 0 })
	p.terminate(t)
	p.waitFor(t, `"msg":"stopping`)
	began := time.Now()
	if err := <-poll; err != nil {
		t.Errorf("the poller was cut off: %v", err)
	}
	if got, err := s.try(t.Context(), request{method: http.MethodPost, path: "/v1/notifications", client: "shop",
		body: encode(t, s.fresh(time.Minute))}); err == nil && got.code != http.StatusServiceUnavailable {
		t.Errorf("an admission during the stop was answered with %d", got.code)
	}
	p.alive(t)
	s.sim.Release("")
	if code := p.ended(t, patience); code != 0 || time.Since(began) > 15*time.Second {
		t.Errorf("exit code %d after %v", code, time.Since(began))
	}
	s.start(t)
	for i, id := range ids {
		d := s.status(t, id)
		if only(t, d, "accepted", "R3"); d.State != "sent" {
			t.Errorf("after the stop it is %s", d.State)
		}
		s.wantCalls(t, all[i].Recipient, 1, 1)
	}
	s.audit(t)
}

func TestFieldF08_CallsThatOutliveTheirDeadlineInAStopAreDoubts(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{timeout: "2s"})
	s.sim.Hide(true)
	p := s.start(t)
	all, ids := openCalls(t, s, 5)
	p.terminate(t)
	began := time.Now()
	if code := p.ended(t, patience); code != 0 || time.Since(began) > 7*time.Second {
		t.Errorf("exit code %d after %v, with a timeout of 2 s", code, time.Since(began))
	}
	s.start(t)
	for i, id := range ids {
		d := s.status(t, id)
		if only(t, d, "unknown", "R6"); d.State != "dispatch_unknown" {
			t.Errorf("after the stop it is %s", d.State)
		}
		s.wantCalls(t, all[i].Recipient, 1, 1)
	}
	s.audit(t)
}

func TestFieldF48_WhatWas202IsThereAfterEachKill(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	s.sim.Hide(true)
	accepted := map[string]string{} // by event
	const rounds = 20
	for round := range rounds {
		p := s.start(t)
		last := s.fresh(10 * time.Minute)
		for range 4 {
			accepted[last.EventID] = s.admit(t, last)
			last = s.fresh(10 * time.Minute)
		}
		id := s.admit(t, last)
		must(t, p.cmd.Process.Signal(syscall.SIGKILL)) // at once
		accepted[last.EventID] = id
		<-p.gone
		if round%5 != 4 {
			continue
		}
		book := s.auditCopy(t)
		for key, n := range book.Entries {
			if accepted[key.Event] != n.ID {
				t.Errorf("%s is %s on disk and was answered with %s", key.Event, n.ID, accepted[key.Event])
			}
		}
		if len(book.Entries) != len(accepted) {
			t.Fatalf("round %d: %d on disk, %d accepted", round, len(book.Entries), len(accepted))
		}
	}
	for _, m := range s.sim.Ledger("") {
		if s.calls(m.To) != 1 || s.taken(m.To) != 1 {
			t.Errorf("%d calls, %d messages for one event", s.calls(m.To), s.taken(m.To))
		}
	}
}

func TestFieldF10_ABacklogIsSentOnceEach(t *testing.T) {
	t.Parallel()
	const events = 500
	s := newSite(t, layout{workers: 32, timeout: "10s"})
	must(t, s.sim.Down())
	p := s.start(t)
	s.many(t, events, 16)
	must(t, s.sim.Up())
	eventually(t, "all are sent", func() bool { return s.sim.Counters().Accepted >= events })
	eventually(t, "all are recorded", func() bool {
		return s.ask(t, `SELECT count(*) FROM notifications WHERE state IN ('accepted', 'dispatching', 'dispatch_unknown')`) == "0"
	})
	numbers := map[string]bool{}
	for _, m := range s.sim.Ledger("") {
		numbers[m.To] = true
	}
	if n := len(s.sim.Ledger("")); n != events || len(numbers) != events {
		t.Errorf("%d messages for %d numbers", n, len(numbers))
	}
	noLockErrors(t, p)
	for _, n := range s.audit(t).Entries {
		if n.State != "sent" {
			t.Errorf("%s is %s", n.ID, n.State)
		}
	}
}

// many admits events from several clients at once.
func (s *site) many(t *testing.T, events, atOnce int) {
	t.Helper()
	var shops sync.WaitGroup
	work := make(chan admission)
	for range atOnce {
		shops.Go(func() {
			for a := range work {
				got, err := s.try(t.Context(), request{method: http.MethodPost, path: "/v1/notifications", client: "shop", body: encode(t, a)})
				if err != nil || got.code != http.StatusAccepted {
					t.Errorf("admission: %d %v", got.code, errors.Join(err))
				}
			}
		})
	}
	for range events {
		work <- s.fresh(30 * time.Minute)
	}
	close(work)
	shops.Wait()
}

func noLockErrors(t *testing.T, p *process) {
	t.Helper()
	for _, bad := range []string{"locked", "SQLITE_BUSY", `"status":5`} {
		if strings.Contains(p.log.String(), bad) {
			t.Errorf("the log holds %q", bad)
		}
	}
}
