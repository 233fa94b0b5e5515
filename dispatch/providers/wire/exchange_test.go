package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/dispatch/dispatchtest"
	"sentonce/dispatch/providers/wire"
)

// slowConn is a raw connection whose writes wait for leave and then succeed, whatever was closed meanwhile.
type slowConn struct {
	net.Conn
	entered chan struct{}
	proceed chan struct{}
	written atomic.Int64
}

func newSlowConn() *slowConn {
	c, _ := net.Pipe()
	return &slowConn{Conn: c, entered: make(chan struct{}, 16), proceed: make(chan struct{})}
}

func (c *slowConn) Write(p []byte) (int, error) {
	c.entered <- struct{}{}
	<-c.proceed
	c.written.Add(int64(len(p)))
	return len(p), nil
}

// The mark comes before the socket: a write that is still running when the exchange is given up must not be readable as "nothing left".
func TestAWriteThatIsStillRunningAtTheEndIsNeverReadAsNotSent(t *testing.T) {
	t.Parallel()
	raw := newSlowConn()
	b := wire.Bind(t.Context(), raw, nil)
	done := make(chan error, 1)
	go func() { _, err := b.Conn.Write([]byte("POST")); done <- err }()
	<-raw.entered
	phase := b.Seal()
	close(raw.proceed)
	if err := <-done; err != nil {
		t.Errorf("the running write: %v", err)
	}
	if raw.written.Load() > 0 && !phase.BytesMayHaveLeft() {
		t.Errorf("%d bytes left after the exchange had ended in phase %s", raw.written.Load(), phase)
	}
	if n, err := b.Conn.Write([]byte("more")); err == nil || n != 0 {
		t.Errorf("a write after the end: %d, %v", n, err)
	}
}

// The question may be under way when the exchange ends. Whatever it answers then, no byte may leave.
func TestNoByteLeavesWhenTheExchangeEndsDuringTheQuestion(t *testing.T) {
	t.Parallel()
	raw := newSlowConn()
	close(raw.proceed)
	asked, answer := make(chan struct{}), make(chan struct{})
	b := wire.Bind(t.Context(), raw, func(context.Context) error { close(asked); <-answer; return nil })
	done := make(chan error, 1)
	go func() { _, err := b.Conn.Write([]byte("POST")); done <- err }()
	<-asked
	if phase := b.Seal(); phase != dispatch.PhaseConnected {
		t.Errorf("phase %s", phase)
	}
	close(answer)
	if err := <-done; err == nil || raw.written.Load() != 0 {
		t.Errorf("%d bytes left, error %v", raw.written.Load(), err)
	}
}

// The same through the whole stack, with a connection that ignores its own closing.
func TestAGivenUpExchangeOverASlowConnectionIsUnknown(t *testing.T) {
	t.Parallel()
	raw := newSlowConn()
	c := newClient(t, wire.Options{BaseURL: "http://provider.invalid"})
	c.SetOpen(func(context.Context, string, string) (net.Conn, error) { return raw, nil })
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan wire.Result, 1)
	req := post(t, "http://provider.invalid")
	go func() { result <- c.Exchange(ctx, req, nil) }()
	<-raw.entered
	cancel()
	close(raw.proceed)
	r := <-result
	if outcome, rule := classify(r); outcome != dispatch.OutcomeUnknown || rule != dispatch.R6 {
		t.Errorf("%d bytes written, phase %s: %s, %s", raw.written.Load(), r.Phase, outcome, rule)
	}
}

func TestTheQuestionIsAskedOnceWhenTheConnectionIsThere(t *testing.T) {
	t.Parallel()
	s := dispatchtest.NewRawServer(t, dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}")))
	c := newClient(t, wire.Options{BaseURL: s.URL()})
	for i := range 3 {
		asked, before := 0, 0
		r := c.Exchange(within(t, 5*time.Second), post(t, s.URL()), func(context.Context) error {
			asked++
			before = len(s.Requests())
			dispatchtest.Eventually(t, "a connection", func() bool { return s.Accepted() > 0 })
			return nil
		})
		if r.Err != nil || asked != 1 || before != i {
			t.Errorf("exchange %d: asked %d times with %d requests before, error %v", i, asked, before, r.Err)
		}
	}
}

func TestARefusedQuestionStopsTheExchangeWithoutAByte(t *testing.T) {
	t.Parallel()
	touched := make(chan int64, 1)
	s := dispatchtest.NewRawServer(t, func(p *dispatchtest.Peer) {
		n, _ := io.Copy(io.Discard, p)
		touched <- n
	})
	r := newClient(t, wire.Options{BaseURL: s.URL()}).Exchange(within(t, 5*time.Second), post(t, s.URL()),
		func(context.Context) error { return dispatch.ErrStopped })
	check(t, r, want{dispatch.PhaseConnected, dispatch.OutcomeNotSent, dispatch.R2, 0}, 0)
	if !errors.Is(r.Err, dispatch.ErrStopped) {
		t.Errorf("error %v", r.Err)
	}
	if n := <-touched; n != 0 {
		t.Errorf("the server got %d bytes", n)
	}
}

func TestARefusedQuestionOnAKeptConnectionStopsTheExchangeToo(t *testing.T) {
	t.Parallel()
	s := dispatchtest.NewRawServer(t, dispatchtest.AnswerAlways(dispatchtest.Answer(201, "{}")))
	c := newClient(t, wire.Options{BaseURL: s.URL()})
	check(t, c.Exchange(within(t, 5*time.Second), post(t, s.URL()), nil), taken, len(s.Requests()))
	for _, method := range []string{"POST", "GET"} { // the transport would try a GET again on another connection
		asked := 0
		req := post(t, s.URL())
		if req.Method = method; method == "GET" {
			req.Body, req.ContentLength = nil, 0
		}
		r := c.Exchange(within(t, 5*time.Second), req, func(context.Context) error { asked++; return dispatch.ErrStopped })
		check(t, r, want{dispatch.PhaseConnected, dispatch.OutcomeNotSent, dispatch.R2, 1}, len(s.Requests()))
		if !errors.Is(r.Err, dispatch.ErrStopped) || asked != 1 {
			t.Errorf("%s: asked %d times, error %v", method, asked, r.Err)
		}
	}
}

func TestGivingUpIsReadByThePhaseItCameIn(t *testing.T) {
	t.Parallel()
	t.Run("connecting", func(t *testing.T) {
		t.Parallel()
		dialling := make(chan struct{})
		c := newClient(t, wire.Options{BaseURL: "http://provider.invalid"})
		ctx, cancel := context.WithCancel(t.Context())
		c.SetOpen(func(context.Context, string, string) (net.Conn, error) {
			close(dialling)
			<-ctx.Done()
			return nil, errors.New("echo 4915112345678")
		})
		go func() { <-dialling; cancel() }()
		check(t, c.Exchange(ctx, post(t, "http://provider.invalid"), nil), want{dispatch.PhaseConnecting, dispatch.OutcomeNotSent, dispatch.R2, 0}, 0)
	})
	t.Run("connected", func(t *testing.T) {
		t.Parallel()
		s := dispatchtest.NewRawServer(t, (*dispatchtest.Peer).Hang)
		ctx, cancel := context.WithCancel(t.Context())
		r := newClient(t, wire.Options{BaseURL: s.URL()}).Exchange(ctx, post(t, s.URL()), func(context.Context) error { cancel(); return nil })
		check(t, r, want{dispatch.PhaseConnected, dispatch.OutcomeNotSent, dispatch.R2, 0}, len(s.Requests()))
	})
	for _, tt := range []struct {
		name string
		raw  string
		want want
	}{
		{"written", "", silence},
		{"responding", "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\n{", cut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			s := dispatchtest.NewRawServer(t, func(p *dispatchtest.Peer) {
				p.Next()
				p.Say(tt.raw)
				if tt.raw == "" {
					cancel()
				}
				p.Hang()
			})
			if tt.raw != "" {
				ctx = within(t, 100*time.Millisecond)
			}
			r := newClient(t, wire.Options{BaseURL: s.URL()}).Exchange(ctx, post(t, s.URL()), nil)
			check(t, r, tt.want, len(s.Requests()))
			cancel()
		})
	}
}

// A server that answers before it was asked answers something else. Nothing may be written on that connection.
func TestAnAnswerBeforeTheRequestIsNoAnswer(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	c := newClient(t, wire.Options{BaseURL: "http://provider.invalid"})
	c.SetOpen(func(context.Context, string, string) (net.Conn, error) { return ours, nil })
	r := c.Exchange(within(t, 5*time.Second), post(t, "http://provider.invalid"), func(context.Context) error {
		// A write to a pipe returns when it was read, so after the second one the first has been taken note of.
		_, err1 := io.WriteString(theirs, "HTTP/1.1 201 Created\r\n")
		_, err2 := io.WriteString(theirs, "Content-Length: 14\r\n\r\n{\"sid\":\"echo\"}")
		return errors.Join(err1, err2)
	})
	check(t, r, want{dispatch.PhaseConnected, dispatch.OutcomeNotSent, dispatch.R2, 0}, 0)
	if got, err := io.ReadAll(theirs); err != nil || len(got) != 0 {
		t.Errorf("the server got %q, %v", got, err)
	}
}

// What was noticed about a kept connection before the request counts: nothing is written to one that has ended or that has spoken unasked.
func TestNothingIsWrittenToASpentConnection(t *testing.T) {
	t.Parallel()
	for name, spend := range map[string]func(theirs net.Conn) error{
		"closed by the peer": func(theirs net.Conn) error { return theirs.Close() },
		"spoken to unasked":  func(theirs net.Conn) error { _, err := io.WriteString(theirs, "HTTP/1.1 408"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := net.Pipe()
			raw := newSlowConn()
			raw.Conn = ours
			close(raw.proceed)
			asked := false
			b := wire.Bind(t.Context(), raw, func(context.Context) error { asked = true; return nil })
			read := make(chan struct{})
			go func() { b.Conn.Read(make([]byte, 100)); close(read) }()
			if err := spend(theirs); err != nil {
				t.Fatal(err)
			}
			<-read
			if _, err := b.Conn.Write([]byte("POST")); err == nil || raw.written.Load() != 0 || asked {
				t.Errorf("%d bytes written, asked %v, error %v", raw.written.Load(), asked, err)
			}
			if phase := b.Seal(); phase != dispatch.PhaseConnected {
				t.Errorf("phase %s", phase)
			}
		})
	}
}
