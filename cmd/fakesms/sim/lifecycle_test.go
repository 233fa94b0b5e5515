package sim

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestCloseWithHangingRequestsIsQuickAndLeavesNothing is not parallel: it counts goroutines.
func TestCloseWithHangingRequestsIsQuickAndLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	ctx := testContext(t)
	s, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	numbers := []string{"+4915112345601", "+4915112345602", "+4915112345610", "+4915112345612", "+4915112345619"}
	gone := make(chan seen, len(numbers))
	for _, to := range numbers {
		c := newClient(t)
		go func() {
			got := sendForm(ctx, c, s, formTo(to))
			c.CloseIdleConnections()
			gone <- got
		}()
		if err := s.WaitRequests(ctx, to, 1); err != nil {
			t.Fatal(err)
		}
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := s.WaitAccepted(ctx, "+4900000000")
		waiting <- err
	}()
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("Close took %v", took)
	}
	for range numbers {
		if got := <-gone; got.err == nil {
			t.Errorf("a hanging request was answered: %+v", got)
		}
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("the waiter got %v", err)
	}
	goleak.VerifyNone(t, before)
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := s.Up(); err == nil {
		t.Error("a closed simulator came up")
	}
	if _, err := s.SendReceipt(ctx, "SM0", "sent", ReceiptOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a receipt after Close: %v", err)
	}
}

func TestDownRefusesConnectionsAndUpOpensTheSamePort(t *testing.T) {
	t.Parallel()
	ctx, c := testContext(t), newClient(t)
	s := startServer(t, Options{})
	address := s.BaseURL()
	for range 3 {
		if got := sendForm(ctx, c, s, formTo(plainNumber)); got.status != 201 {
			t.Fatalf("up: %+v", got)
		}
		if err := s.Down(); err != nil {
			t.Fatal(err)
		}
		if got := sendForm(ctx, newClient(t), s, formTo(plainNumber)); !errors.Is(got.err, syscall.ECONNREFUSED) {
			t.Fatalf("down: %+v", got)
		}
		if s.Mode() != ModeDown {
			t.Errorf("mode %s", s.Mode())
		}
		if err := s.Up(); err != nil {
			t.Fatal(err)
		}
		c.CloseIdleConnections()
	}
	if s.BaseURL() != address || len(s.Ledger(plainNumber)) != 3 || s.Mode() != ModeNormal {
		t.Errorf("at %s: %d messages, mode %s", s.BaseURL(), len(s.Ledger(plainNumber)), s.Mode())
	}
}

func TestWhileDownNobodyElseGetsThePort(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{})
	if err := s.Down(); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if got := "http://" + ln.Addr().String(); got == s.BaseURL() {
			t.Errorf("somebody else got %s", got)
		}
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Up(); err != nil {
		t.Error(err)
	}
}

func TestDownEndsHangingRequestsAndKeepsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{})
	to := "+4915112345601"
	gone := make(chan seen, 1)
	go func() { gone <- sendForm(ctx, newClient(t), s, formTo(to)) }()
	if err := s.WaitHeld(ctx, to); err != nil {
		t.Fatal(err)
	}
	if err := s.Down(); err != nil {
		t.Fatal(err)
	}
	if got := <-gone; got.err == nil || errors.Is(got.err, context.DeadlineExceeded) {
		t.Errorf("got %+v", got)
	}
	if n := len(s.Ledger(to)); n != 1 {
		t.Errorf("%d in the ledger", n)
	}
}

func TestOnlyLoopbackIsListenedOnUnlessAllowed(t *testing.T) {
	t.Parallel()
	for _, opt := range []Options{{Listen: "0.0.0.0:0"}, {Control: ":0"}, {Listen: "192.0.2.1:9"}} {
		if s, err := Start(opt); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, %v", opt, s, err)
		}
	}
	s := startServer(t, Options{Listen: "0.0.0.0:0", AllowRemote: true})
	if !strings.HasPrefix(s.BaseURL(), "http://0.0.0.0:") {
		t.Errorf("at %s", s.BaseURL())
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	t.Parallel()
	first := startServer(t, Options{})
	second, err := Start(Options{Listen: strings.TrimPrefix(first.BaseURL(), "http://")})
	if err == nil {
		t.Errorf("two on one port: %v", second.Close())
	}
}

func TestTheSameSeedGivesTheSameIds(t *testing.T) {
	t.Parallel()
	var sids [3]string
	for i, seed := range []uint64{7, 7, 0} {
		s := startServer(t, Options{Seed: seed, Clock: newManualClock()})
		sendForm(testContext(t), newClient(t), s, formTo(plainNumber))
		sids[i] = s.Ledger("")[0].SID
	}
	if sids[0] != sids[1] || sids[1] == sids[2] {
		t.Errorf("ids %v", sids)
	}
}
