package systemtest

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

func TestFieldF30_WhatExpiresInAnOutageIsNeverSent(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{})
	must(t, s.sim.Down())
	s.start(t)
	a, lives := s.fresh(5*time.Second), s.fresh(5*time.Minute)
	id, other := s.admit(t, a), s.admit(t, lives)
	want, err := time.Parse(time.RFC3339Nano, a.ExpiresAt)
	must(t, err)
	if d := s.status(t, id); !d.ExpiresAt.Equal(want.Truncate(time.Millisecond)) { // before the provider can have seen a byte
		t.Errorf("the stored expiry is %v, given was %v", d.ExpiresAt, want)
	}
	d := s.reach(t, id, "expired")
	if d.Reason != "provider_unavailable" && d.Reason != "expired_before_send" || d.StoppedAt == nil || !d.Final || d.Advice != "request_new" {
		t.Errorf("%+v", d)
	}
	if d.StoppedAt != nil && d.StoppedAt.After(want.Add(3*time.Second)) {
		t.Errorf("it stopped at %v, %v after its expiry", d.StoppedAt, d.StoppedAt.Sub(want))
	}
	must(t, s.sim.Up())
	s.reach(t, other, "sent") // the outage is over, and the expired one has had its chance to be sent
	s.wantCalls(t, a.Recipient, 0, 0)
	s.wantCalls(t, lives.Recipient, 1, 1)
	s.audit(t)
}

func TestFieldF30_WhatExpiresWhileItWaitsForAWorkerIsNeverSent(t *testing.T) {
	t.Parallel()
	s := newSite(t, layout{workers: 1, timeout: "30s"})
	s.start(t)
	a := s.fresh(5 * time.Minute)
	s.script(t, a.Recipient, acceptThen(sim.EndHang))
	first := s.admit(t, a)
	must(t, s.sim.WaitHeld(t.Context(), a.Recipient))
	b := s.fresh(4 * time.Second)
	d := s.reach(t, s.admit(t, b), "expired")
	if d.Reason != "expired_before_send" || len(d.Attempts) != 0 {
		t.Errorf("%s with %d attempts", d.Reason, len(d.Attempts))
	}
	s.sim.Release("")
	s.reach(t, first, "sent")
	s.wantCalls(t, b.Recipient, 0, 0)
	s.audit(t)
}

// slowDoor is a TLS server before the simulator that lets a handshake begin only when it is told to.
type slowDoor struct {
	address, roots string // roots is a file that SSL_CERT_FILE can name
	came           <-chan struct{}
	open           func()
}

type doorListener struct {
	net.Listener
	came chan<- struct{}
	open <-chan struct{}
}

func (l doorListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.came <- struct{}{}
		<-l.open
	}
	return conn, err
}

func newSlowDoor(t *testing.T, to *url.URL) slowDoor {
	t.Helper()
	came, opened := make(chan struct{}, 64), make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
	front.Listener = doorListener{front.Listener, came, opened}
	front.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	front.StartTLS()
	t.Cleanup(func() {
		open()
		front.Close()
	})
	roots := filepath.Join(t.TempDir(), "roots.pem")
	must(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600))
	return slowDoor{front.URL, roots, came, open}
}

func TestFieldF30_WhatEndsBetweenTheClaimAndTheFirstByteIsNeverSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		life   time.Duration
		end    func(*testing.T, *site, string, admission) // ends its life while the handshake hangs
		state  string
		reason string
	}{
		"withdrawn": {5 * time.Minute, func(t *testing.T, s *site, id string, _ admission) {
			if got := s.call(t, http.MethodPost, "/v1/notifications/"+id+"/cancel", `{"reason":"password_changed"}`); got.code/100 != 2 {
				t.Errorf("cancel answers %d", got.code)
			}
		}, "cancelled", "withdrawn_by_client"},
		"too little life left": {12 * time.Second, func(t *testing.T, _ *site, _ string, a admission) {
			expires, err := time.Parse(time.RFC3339Nano, a.ExpiresAt)
			must(t, err)
			eventually(t, "less than the least life is left", func() bool { return time.Until(expires) < 7900*time.Millisecond })
		}, "expired", "expired_before_send"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := &url.URL{}
			door := newSlowDoor(t, to)
			s := newSite(t, layout{provider: door.address, timeout: "20s", minRemaining: "8s"})
			at, err := url.Parse(s.sim.BaseURL())
			must(t, err)
			*to = *at
			s.start(t, "SSL_CERT_FILE="+door.roots)
			a := s.fresh(c.life)
			id := s.admit(t, a)
			<-door.came
			if d := s.status(t, id); d.State != "dispatching" {
				t.Fatalf("it is %s", d.State)
			}
			c.end(t, s, id, a)
			door.open()
			d := s.await(t, id, "stopped", func(d document) bool { return d.Final })
			if only(t, d, "not_sent", "R2"); d.State != c.state || d.Reason != c.reason {
				t.Errorf("%s, %s", d.State, d.Reason)
			}
			s.wantCalls(t, a.Recipient, 0, 0)
			next := s.fresh(5 * time.Minute) // the door and the provider are in order
			s.reach(t, s.admit(t, next), "sent")
			s.audit(t)
		})
	}
}

func TestFieldF63_AfterAnOutageTheRateIsKeptAndAFreshEventIsNotLate(t *testing.T) {
	t.Parallel()
	const events, rate = 60, 20
	s := newSite(t, layout{workers: 16, more: "rate = 20.0"})
	must(t, s.sim.Down())
	p := s.start(t)
	s.many(t, events, 8)
	dead := s.fresh(3 * time.Second)
	expired := s.admit(t, dead)
	s.reach(t, expired, "expired")
	must(t, s.sim.Up())
	eventually(t, "the provider is found to be back", func() bool { return s.sim.Counters().Accepted > 0 })
	fresh := s.callAs(t, "travel", http.MethodPost, "/v1/notifications", s.fresh(5*time.Minute))
	began := time.Now()
	if fresh.code != http.StatusAccepted {
		t.Fatalf("a fresh event is answered with %d", fresh.code)
	}
	eventually(t, "the fresh event of the other shop is sent", func() bool {
		return s.ask(t, `SELECT count(*) FROM notifications n JOIN clients c ON c.id = n.client WHERE c.name = 'travel' AND n.state = 'sent'`) == "1"
	})
	if took := time.Since(began); s.sim.Counters().Accepted == events+1 || took > 5*time.Second {
		t.Errorf("it waited %v behind the backlog of another shop", took)
	}
	eventually(t, "all are sent", func() bool { return s.sim.Counters().Accepted == events+1 })
	at := make([]time.Time, 0, events)
	for _, m := range s.sim.Ledger("") {
		at = append(at, m.At)
	}
	for i := rate + 2; i < len(at); i++ { // the provider's clock is read a little after the call's
		if at[i].Sub(at[i-rate-2]) < 900*time.Millisecond {
			t.Errorf("%d calls within %v, allowed are %d a second", rate+3, at[i].Sub(at[i-rate-2]), rate)
			break
		}
	}
	s.wantCalls(t, dead.Recipient, 0, 0)
	noLockErrors(t, p)
	s.audit(t)
}
