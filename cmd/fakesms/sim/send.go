package sim

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

const maxRequest = 64 << 10 // bytes of a send; Twilio's own limits keep a real one far below

// send is POST Messages.json.
func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		answerError(w, http.StatusRequestEntityTooLarge, 20413, "Request entity too large")
		return
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil || !isForm(r) {
		form = url.Values{} // as Twilio: whatever is not a form has no 'To'
	}
	to := form.Get("To")
	s.book.change(func() {
		s.book.sends++
		s.book.requests[to] = append(s.book.requests[to], s.clock.Now())
	})
	if !s.authorised(w, r) {
		return
	}
	b := s.rules.pick(to)
	b.Receipts = b.Receipts.or(s.opt.Receipts).or(Delivered())
	if b.Accept {
		if f := validate(form); f != nil {
			answerError(w, http.StatusBadRequest, f.code, f.message)
			return
		}
	}
	taken, err := s.take(b, form, connOf(r.Context()))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.finish(w, r, exchange{b, to, taken})
}

// exchange is one send after it was decided.
type exchange struct {
	Behaviour
	to    string
	taken *taking // nil when nothing is accepted
}

// taking is the acceptance of one message, which may lie in the future.
type taking struct {
	message  Message       // At, Status and so on as of the acceptance
	accepted chan struct{} // closed when the message is in the ledger
	reported chan struct{} // closed when the receipts' plan has run
}

// take puts the message into the ledger, now or later, and starts its receipts. Nothing is nil when nothing is to be accepted.
func (s *Server) take(b Behaviour, form url.Values, conn uint64) (*taking, error) {
	if !b.Accept {
		return nil, nil
	}
	t := &taking{message: s.newMessage(form, conn), accepted: make(chan struct{}), reported: make(chan struct{})}
	add := func() {
		t.message.At = s.clock.Now()
		t.message.UpdatedAt = t.message.At
		s.book.add(t.message)
		close(t.accepted)
	}
	if b.AcceptAfter == 0 {
		add()
	}
	return t, s.start(func() {
		if b.AcceptAfter > 0 {
			if pause(s.ctx, s.clock, b.AcceptAfter) != nil {
				return
			}
			add()
		}
		s.report(t.message, b.Receipts)
		close(t.reported)
	})
}

func (s *Server) newMessage(form url.Values, conn uint64) Message {
	m := Message{SID: s.newSID(), To: form.Get("To"), From: form.Get("From"), ServiceSID: form.Get("MessagingServiceSid"),
		Body: form.Get("Body"), Callback: form.Get("StatusCallback"), Validity: form.Get("ValidityPeriod"), Conn: conn, Status: "queued"}
	if m.ServiceSID != "" {
		m.Status = "accepted"
	}
	return m
}

// finish plays the behaviour's ending.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, x exchange) {
	if x.taken != nil && x.Receipts.BeforeAnswer {
		await(r.Context(), x.taken.reported)
	}
	if pause(r.Context(), s.clock, x.Delay) != nil {
		panic(http.ErrAbortHandler)
	}
	switch x.Ending {
	case EndReset:
		hangUp(w, true)
	case EndClose:
		hangUp(w, false)
	case EndHang:
		s.hang(r, x)
		if x.taken == nil {
			hangUp(w, false)
			return
		}
		x.answer(w, r)
	case EndStall:
		x.stall(w)
		s.hang(r, x)
		if x.taken == nil {
			panic(http.ErrAbortHandler)
		}
		w.Write(x.body(r))
	case EndCut:
		x.cut(w, r)
	default:
		x.answer(w, r)
	}
}

// hang returns when the request is released, and ends the handler when there is nobody left to answer.
func (s *Server) hang(r *http.Request, x exchange) {
	h := &hold{to: x.to, since: s.clock.Now()}
	if x.taken != nil {
		h.sid = x.taken.message.SID
	}
	if !s.book.hang(r.Context(), h) {
		panic(http.ErrAbortHandler)
	}
}

// await waits for a signal and ends the handler when the client or the server has gone before.
func await(ctx context.Context, signal <-chan struct{}) {
	select {
	case <-signal:
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	}
}

// hangUp closes the connection without a byte of an answer: in good order, or by a reset.
func hangUp(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // which closes it, too
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		// Without lingering, the kernel drops the connection with RST instead of FIN. An error means that it is dead already.
		if tcp.SetLinger(0) != nil {
			panic(http.ErrAbortHandler)
		}
	}
	conn.Close() // the peer may have been first; there is nothing more to do either way
}

func decimal(n int) string { return strconv.Itoa(n) }
