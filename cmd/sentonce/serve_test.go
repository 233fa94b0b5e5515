package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
	"sentonce/cmd/sentonce/config"
	"sentonce/dispatch"
)

func TestAnEventIsSentAndItsReportsArrive(t *testing.T) {
	t.Parallel()
	provider := startSim(t, sim.Options{})
	s := newSite(t, provider.BaseURL(), "")
	s.must(t, "", "migrate")
	r := s.serve(t)
	shop := s.client(t, "shop") // added beside the running server, which must notice
	n := shop.admitWhenKnown(t, "e1", "+4915112340030")
	n = shop.await(t, n.ID, inState(dispatch.StateDelivered))
	if len(n.Attempts) != 1 || n.Attempts[0].Outcome != dispatch.OutcomeAccepted || len(provider.Ledger("")) != 1 {
		t.Errorf("attempts %+v, ledger %d", n.Attempts, len(provider.Ledger("")))
	}
	if code := r.stop(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, r.log)
	}
	for _, secret := range []string{"+4915112340030", "123456", shop.key.Reveal(), s.token} {
		if strings.Contains(r.log.String(), secret) {
			t.Errorf("the log holds a secret: %s", r.log)
		}
	}
	if got := query(t, s, `SELECT group_concat(action) FROM (SELECT action FROM events WHERE action LIKE 'server%' ORDER BY seq)`); got != "server_started,server_stopped" {
		t.Errorf("the audit log says %s of the server", got)
	}
}

// admitWhenKnown posts until the server has noticed the key, which takes it a moment.
func (s shop) admitWhenKnown(t *testing.T, name, number string) news {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-look.C {
		n, err := s.post(t.Context(), event{EventID: name, Key: "key-" + name, Recipient: number, Message: "Your code is 123456",
			ExpiresAt: time.Now().Add(10 * time.Minute).UTC()})
		if err == nil {
			return n
		}
	}
	t.Fatal("the server did not notice the new key")
	return news{}
}

func TestATimedOutCallIsFoundAndNotRepeated(t *testing.T) {
	t.Parallel()
	provider := startSim(t, sim.Options{Receipts: sim.ReceiptPlan{Off: true}})
	s := newSite(t, provider.BaseURL(), "")
	s.must(t, "", "migrate")
	shop := s.client(t, "shop")
	s.serve(t)
	const number = "+4915112340003" // taken, then the connection is reset
	n := shop.admit(t, "e1", number)
	shop.await(t, n.ID, inState(dispatch.StateSent))
	if got := len(provider.Requests(number)); got != 1 {
		t.Errorf("%d sends", got)
	}
}

func TestStopWaitsForTheCallAndReleasesWhoWaits(t *testing.T) {
	t.Parallel()
	provider := startSim(t, sim.Options{})
	s := newSite(t, provider.BaseURL(), "")
	s.must(t, "", "migrate")
	shop := s.client(t, "shop")
	server := s.startServer(t)
	const number = "+4915112340031"
	// The simulator answers as a good provider does, but only when it is released.
	if err := provider.Script(number, sim.Behaviour{Accept: true, Ending: sim.EndHang, Receipts: sim.ReceiptPlan{Off: true}}); err != nil {
		t.Fatal(err)
	}
	n := shop.admit(t, "e1", number)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := provider.WaitHeld(ctx, number); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- shop.hold(ctx, n.ID) }()
	server.awaitRequest(t)

	server.cancel()
	select {
	case err := <-waiting:
		if err != nil {
			t.Errorf("the waiting request: %v", err)
		}
	case <-ctx.Done():
		t.Fatal("the waiting request was not released")
	}
	select {
	case err := <-server.done:
		t.Fatalf("it ended with a call in flight: %v", err)
	default:
	}
	provider.Release(number)
	select {
	case err := <-server.done:
		if err != nil {
			t.Fatal(err)
		}
	case <-ctx.Done():
		t.Fatal("it did not end when the call did")
	}
	s.serve(t)
	n = shop.await(t, n.ID, func(n news) bool { return n.State != dispatch.StateDispatching })
	if n.State != dispatch.StateSent || n.Attempts[0].Rule != dispatch.R3 || len(provider.Requests(number)) != 1 {
		t.Errorf("the call's result was lost in the stop: %+v, %d sends", n, len(provider.Requests(number)))
	}
}

// served is a server whose connections can be watched.
type served struct {
	active chan struct{} // a request began on a new connection
	done   chan error
	cancel context.CancelFunc
}

// startServer starts a server below the command. It is stopped by the test.
func (s site) startServer(t *testing.T) served {
	t.Helper()
	cfg, err := config.Load(s.config, s.env)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	server, err := start(ctx, setup{cfg: cfg, env: s.env, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := served{active: make(chan struct{}, 64), done: make(chan error, 1), cancel: cancel}
	server.http.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateActive {
			r.active <- struct{}{}
		}
	}
	go func() { r.done <- server.run(ctx) }()
	return r
}

// awaitRequest waits until the server has two requests: the admission, and the one that it holds.
func (r served) awaitRequest(t *testing.T) {
	t.Helper()
	for range 2 {
		select {
		case <-r.active:
		case <-time.After(patience):
			t.Fatal("no request arrived")
		}
	}
}

// hold asks for a status with a long wait, on a connection of its own; it returns when there is an answer.
func (s shop) hold(ctx context.Context, id string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/v1/notifications/"+id, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.key.Reveal())
	req.Header.Set("Prefer", "wait=30")
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

func TestASecondSignalDoesNotCutTheStopShort(t *testing.T) {
	t.Parallel()
	provider := startSim(t, sim.Options{})
	s := newSite(t, provider.BaseURL(), "")
	s.must(t, "", "migrate")
	shop := s.client(t, "shop")
	cmd, text := s.process("serve")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the exit code says the same
		close(ended)
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	text.waitFor(t, `"msg":"serving"`, ended)
	const number = "+4915112340031"
	if err := provider.Script(number, sim.Behaviour{Accept: true, Ending: sim.EndHang, Receipts: sim.ReceiptPlan{Off: true}}); err != nil {
		t.Fatal(err)
	}
	shop.admit(t, "e1", number)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := provider.WaitHeld(ctx, number); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		text.waitFor(t, `"msg":"stopping`, ended)
	}
	provider.Release(number)
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("it did not end when the call did")
	}
	if cmd.ProcessState.ExitCode() != exitOK || !strings.Contains(text.String(), `"in_good_order":true`) {
		t.Errorf("%v: %s", cmd.ProcessState, text)
	}
	if got := query(t, s, `SELECT outcome || ' ' || rule FROM attempts`); got != "accepted R3" {
		t.Errorf("the attempt is %s", got)
	}
}

func TestASecondProcessIsRefusedAndTheFirstOneGoesOn(t *testing.T) {
	t.Parallel()
	provider := startSim(t, sim.Options{})
	s := newSite(t, provider.BaseURL(), "")
	s.must(t, "", "migrate")
	shop := s.client(t, "shop")
	s.serve(t)
	for _, command := range []string{"serve", "migrate"} {
		code, out, text := s.run(t, "", command, "--config", s.config)
		if code != exitFailure || out != "" || !strings.Contains(text, "in use by another process") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", command, code, out, text)
		}
	}
	shop.await(t, shop.admit(t, "e1", "+4915112340030").ID, inState(dispatch.StateDelivered))
}

func TestAnAddressInUseIsToldBeforeAnythingIsChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, nowhere, "")
	s.must(t, "", "migrate")
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, _, text := s.run(t, "", "serve", "--config", s.config)
	if code != exitFailure || !strings.Contains(text, "SENTONCE_LISTEN") || !strings.Contains(text, s.address) {
		t.Errorf("exit code %d: %s", code, text)
	}
	if got := query(t, s, `SELECT count(*) FROM events`); got != "0" {
		t.Errorf("%s events were written", got)
	}
}

func TestServeMakesWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nowhere, "")
	r := s.serve(t)
	if code := r.stop(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, r.log)
	}
	s.client(t, "shop")
}

func TestAPanicOfALoopIsContainedAndToldWithoutItsValue(t *testing.T) {
	t.Parallel()
	log := newLines()
	s := &server{setup: setup{log: newLogger(log, slog.LevelInfo)}}
	err := s.contained("pool", func() error { panic("+4915112345678") })
	if err == nil || !strings.Contains(err.Error(), "pool panicked") {
		t.Errorf("error %v", err)
	}
	if text := log.String(); !strings.Contains(text, "a loop panicked") || strings.Contains(text+err.Error(), "+49151") {
		t.Errorf("log %s", text)
	}
}
