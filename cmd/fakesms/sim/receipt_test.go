package sim

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSignIsTwiliosOwnExample uses the example of Twilio's documentation (https://www.twilio.com/docs/usage/security), so that the
// simulator's signatures are measured against something that this package did not make.
func TestSignIsTwiliosOwnExample(t *testing.T) {
	t.Parallel()
	form := url.Values{"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+14158675309"}, "Digits": {"1234"}, "From": {"+14158675309"},
		"To": {"+18005551212"}}
	if got := Sign("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", form); got != "RSOYDt4T1cUTdK1PDd93/VVr8B8=" {
		t.Errorf("got %q", got)
	}
}

// quick is a plan's steps without their waits.
func quick(p ReceiptPlan) ReceiptPlan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		p.Steps[i].After = 0
	}
	return p
}

func sendWithCallback(ctx context.Context, t *testing.T, s *Server, callback string) {
	t.Helper()
	form := formTo(plainNumber)
	form.Set("StatusCallback", callback)
	if got := sendForm(ctx, newClient(t), s, form); got.status != 201 {
		t.Fatalf("send: %+v", got)
	}
}

func TestReceiptsFollowTheirPlanAndVerify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plan   ReceiptPlan
		want   string
		status string
	}{
		"usual":       {Delivered(), "sent delivered", "delivered"},
		"undelivered": {Undelivered("30003"), "sent undelivered", "undelivered"},
		"mixed":       {Mixed(), "delivered sent delivered sent", "delivered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			s := startServer(t, Options{})
			callbackURL, got := receiver(t, http.StatusNoContent)
			script(t, s, plainNumber, Behaviour{Accept: true, Receipts: quick(test.plan)})
			sendWithCallback(ctx, t, s, callbackURL)
			m, err := s.WaitAccepted(ctx, plainNumber)
			if err != nil {
				t.Fatal(err)
			}
			var statuses []string
			for range test.plan.Steps {
				c := next(ctx, t, got)
				statuses = append(statuses, c.form.Get("MessageStatus"))
				if c.url != callbackURL || c.signature != Sign(s.AuthToken(), callbackURL, c.form) || c.form.Get("MessageSid") != m.SID {
					t.Errorf("call-back %+v", c)
				}
				if wantCode := c.form.Get("MessageStatus") == "undelivered"; wantCode != (c.form.Get("ErrorCode") == "30003") {
					t.Errorf("error code in %v", c.form)
				}
			}
			if strings.Join(statuses, " ") != test.want {
				t.Errorf("got %v, want %s", statuses, test.want)
			}
			if err := s.WaitReceipts(ctx, m.SID, len(statuses)); err != nil {
				t.Fatal(err)
			}
			if m, _ := s.Message(m.SID); m.Status != test.status || m.Receipts[0].HTTP != http.StatusNoContent {
				t.Errorf("ledger %+v", m)
			}
		})
	}
}

func TestFieldF20_TheReceiptCanOvertakeTheAnswer(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{})
	entered, leave := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-leave
	}))
	defer srv.Close()
	script(t, s, plainNumber, Behaviour{Accept: true, Receipts: Early()})
	answered := make(chan seen, 1)
	form := formTo(plainNumber)
	form.Set("StatusCallback", srv.URL)
	go func() { answered <- sendForm(ctx, newClient(t), s, form) }()
	<-entered
	select {
	case got := <-answered:
		t.Errorf("answered before its receipt: %+v", got)
	default:
	}
	close(leave)
	if got := <-answered; got.status != 201 {
		t.Errorf("got %+v", got)
	}
}

func TestReceiptsWaitForTheirTime(t *testing.T) {
	t.Parallel()
	ctx, clock := testContext(t), newManualClock()
	s := startServer(t, Options{Clock: clock})
	callbackURL, got := receiver(t, http.StatusOK)
	sendWithCallback(ctx, t, s, callbackURL)
	clock.awaitTimer(ctx, t)
	if n := len(got); n != 0 {
		t.Errorf("%d call-backs at once", n)
	}
	clock.advance(sentAfter)
	if c := next(ctx, t, got); c.form.Get("MessageStatus") != "sent" {
		t.Errorf("first %v", c.form)
	}
	clock.awaitTimer(ctx, t)
	clock.advance(deliveredAfter)
	if c := next(ctx, t, got); c.form.Get("MessageStatus") != "delivered" || c.form.Get("RawDlrDoneDate") != "2611291400" {
		t.Errorf("second %v", c.form)
	}
}

func TestEveryForgeryFailsToVerify(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{Receipts: ReceiptPlan{Off: true}, Clock: newManualClock()})
	callbackURL, got := receiver(t, http.StatusForbidden)
	sendWithCallback(ctx, t, s, callbackURL)
	sid := s.Ledger(plainNumber)[0].SID
	for _, forgery := range append(Forgeries(), Honest) {
		status, err := s.SendReceipt(ctx, sid, "delivered", ReceiptOptions{Forgery: forgery})
		if err != nil || status != http.StatusForbidden {
			t.Fatalf("%q: %d %v", forgery, status, err)
		}
		c := next(ctx, t, got)
		if authentic := c.signature == Sign(s.AuthToken(), c.url, c.form); authentic != (forgery == Honest) {
			t.Errorf("%q: authentic %t", forgery, authentic)
		}
		if m, _ := s.Message(sid); (m.Status == "delivered") != (forgery == Honest) {
			t.Errorf("%q: the message is %s", forgery, m.Status)
		}
	}
}

func TestFieldF24_AReceiptCanBeSignedForAPublicAddress(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{Receipts: ReceiptPlan{Off: true}})
	local, got := receiver(t, http.StatusOK)
	const public = "https://sms.example.org/hooks/receipts/main?z=1&a=2"
	sendWithCallback(ctx, t, s, public)
	sid := s.Ledger(plainNumber)[0].SID
	if _, err := s.SendReceipt(ctx, sid, "sent", ReceiptOptions{PostURL: local, SignedURL: public, Host: "sms.example.org:443"}); err != nil {
		t.Fatal(err)
	}
	if c := next(ctx, t, got); c.signature != Sign(s.AuthToken(), public, c.form) || c.url != local {
		t.Errorf("got %+v", c)
	}
}

func TestReceiptsStayOnLoopback(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{Receipts: quick(Delivered())})
	sendWithCallback(ctx, t, s, "http://192.0.2.1/receipts/main?ref=secret#rc=1")
	sid := s.Ledger(plainNumber)[0].SID
	if err := s.WaitReceipts(ctx, sid, 2); err != nil {
		t.Fatal(err)
	}
	m, _ := s.Message(sid)
	for _, r := range m.Receipts {
		if !errors.Is(r.Err, errNotLoopback) || strings.Contains(r.Err.Error(), "secret") {
			t.Errorf("receipt %+v", r)
		}
	}
}

func TestACallbackIsRetriedOnceWhenTheConnectionFails(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var calls atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			hangUp(w, true)
			return
		}
		w.WriteHeader(http.StatusInternalServerError) // an answer, whatever it says, ends the tries
	}))
	defer srv.Close()
	s := startServer(t, Options{Receipts: ReceiptPlan{Steps: []ReceiptStep{{Status: "sent"}}}})
	sendWithCallback(ctx, t, s, srv.URL)
	sid := s.Ledger(plainNumber)[0].SID
	if err := s.WaitReceipts(ctx, sid, 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // nothing can follow any more
		t.Fatal(err)
	}
	m, _ := s.Message(sid)
	if len(m.Receipts) != 2 || m.Receipts[0].Err == nil || m.Receipts[1].HTTP != 500 || calls.Load() != 2 {
		t.Errorf("receipts %+v, calls %d", m.Receipts, calls.Load())
	}
}

func TestACallbackIsGivenUpAfterOneRetry(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { hangUp(w, true) }))
	defer srv.Close()
	s := startServer(t, Options{})
	script(t, s, plainNumber, Behaviour{Accept: true, Receipts: ReceiptPlan{Steps: []ReceiptStep{{Status: "sent"}, {Status: "delivered"}}}})
	sendWithCallback(ctx, t, s, srv.URL)
	sid := s.Ledger(plainNumber)[0].SID
	if err := s.WaitReceipts(ctx, sid, 4); err != nil {
		t.Fatal(err)
	}
	m, _ := s.Message(sid)
	if m.Receipts[1].Status != "sent" || m.Receipts[2].Status != "delivered" {
		t.Errorf("receipts %+v", m.Receipts)
	}
}

func TestAReceiptForNothingIsRefused(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s := startServer(t, Options{Clock: newManualClock()})
	if _, err := s.SendReceipt(ctx, "SM0", "sent", ReceiptOptions{}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	sendForm(ctx, newClient(t), s, formTo(plainNumber))
	sid := s.Ledger(plainNumber)[0].SID
	if _, err := s.SendReceipt(ctx, sid, "sent", ReceiptOptions{}); !errors.Is(err, ErrNoCallback) {
		t.Error(err)
	}
	if _, err := s.SendReceipt(ctx, sid, "sent", ReceiptOptions{Forgery: "clumsy"}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestAnUnansweredReceiptEndsWithClose(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	entered := make(chan struct{}, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		entered <- struct{}{}
		<-r.Context().Done()
	}))
	defer srv.Close()
	s := startServer(t, Options{Receipts: ReceiptPlan{Steps: []ReceiptStep{{Status: "sent"}}}})
	sendWithCallback(ctx, t, s, srv.URL)
	<-entered
	began := time.Now()
	if err := s.Close(); err != nil || time.Since(began) > time.Second {
		t.Errorf("Close took %v: %v", time.Since(began), err)
	}
	if m := s.Ledger(plainNumber)[0]; len(m.Receipts) != 1 || m.Receipts[0].Err == nil {
		t.Errorf("Close did not wait for the call-back's end: %+v", m.Receipts)
	}
}
