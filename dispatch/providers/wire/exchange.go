package wire

import (
	"context"
	"net/http/httptrace"
	"slices"
	"sync"

	"sentonce/dispatch"
)

// exchange is the state of one exchange: how far it got, and the right to write. The state belongs to the exchange and not to the
// connection, because connections outlive exchanges: one may be dialled for this exchange and serve another.
type exchange struct {
	ctx    context.Context
	sealed chan struct{} // closed by seal

	mu       sync.Mutex // never held during I/O or the question
	phase    dispatch.Phase
	ask      func(context.Context) error
	conn     *conn // the only connection that may carry the request; set anew only while nothing was written
	reused   bool  // conn had carried an exchange before
	early    bool  // an answer began before the request did
	buffered bool  // the transport has handed over the whole request, the last of it perhaps to its buffer
	refused  error // why a write was refused
}

func newExchange(ctx context.Context, ask func(context.Context) error) *exchange {
	return &exchange{ctx: ctx, ask: ask, phase: dispatch.PhaseNone, sealed: make(chan struct{})}
}

// trace follows the transport. WroteRequest fires when the request is in the transport's buffer, before the flush to the connection, so it
// does not mean PhaseWritten by itself; conn.Write completes it.
func (ex *exchange) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { ex.advance(dispatch.PhaseConnecting) },
		GotConn: func(info httptrace.GotConnInfo) {
			if c, ok := info.Conn.(*conn); ok {
				ex.take(c, info.Reused)
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				ex.mu.Lock()
				ex.buffered = true
				ex.mu.Unlock()
			}
		},
		GotFirstResponseByte: ex.heard,
	}
}

// take binds a connection to the exchange. The transport calls it after it has chosen the connection and before anything of the request is
// written to it. A second connection is accepted only while nothing was written: after that it is a replay, and its writes are refused.
func (ex *exchange) take(c *conn, reused bool) {
	c.serve(ex)
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.isSealed() || ex.phase.BytesMayHaveLeft() {
		return
	}
	ex.conn, ex.reused, ex.phase = c, reused, dispatch.PhaseConnected
}

// admit gives leave for a write to c. The first leave marks PhaseWriting *before* the socket is touched, and once marked an exchange never
// goes back: whatever happens later, it cannot be read as "nothing was written".
func (ex *exchange) admit(c *conn) error {
	ex.mu.Lock()
	first, own := !ex.phase.BytesMayHaveLeft(), ex.conn == c
	refused, ask := ex.refused, ex.ask
	ex.ask = nil
	ex.mu.Unlock()
	switch {
	case refused != nil:
		return refused
	case !own:
		return ex.refuse(errReplay)
	case !first:
		return ex.leave(c, false)
	}
	if err := c.awaitQuiet(ex); err != nil {
		return ex.refuse(err)
	}
	if ask != nil {
		if err := ask(ex.ctx); err != nil {
			return ex.refuse(&refusal{err})
		}
	}
	return ex.leave(c, true)
}

// leave is the last look before the socket is touched.
func (ex *exchange) leave(c *conn, first bool) error {
	var err error
	if first {
		err = c.quiet()
	}
	ex.mu.Lock()
	defer ex.mu.Unlock()
	switch {
	case ex.isSealed():
		err = errSealed
	case first && err == nil && ex.early:
		err = errUnasked
	case first && err == nil:
		err = ex.ctx.Err()
	}
	if err != nil {
		ex.refused = err
		return err
	}
	if first {
		ex.phase = dispatch.PhaseWriting
	}
	return nil
}

func (ex *exchange) refuse(err error) error {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.refused == nil {
		ex.refused = err
	}
	return err
}

// flushed notes that a write to the connection has succeeded.
func (ex *exchange) flushed() {
	ex.mu.Lock()
	buffered := ex.buffered
	ex.mu.Unlock()
	if buffered {
		ex.advance(dispatch.PhaseWritten)
	}
}

// heard notes the first byte of an answer. If it comes before the first byte of the request it answers something else: what an earlier
// exchange left behind, or a server's farewell.
func (ex *exchange) heard() {
	ex.mu.Lock()
	ex.early = ex.early || !ex.phase.BytesMayHaveLeft()
	ex.mu.Unlock()
	ex.advance(dispatch.PhaseResponding)
}

// advance raises the phase. Nothing but admit raises it to PhaseWriting, and nothing goes beyond before that.
func (ex *exchange) advance(to dispatch.Phase) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.isSealed() || rank(to) <= rank(ex.phase) || to.BytesMayHaveLeft() && !ex.phase.BytesMayHaveLeft() {
		return
	}
	ex.phase = to
}

// seal ends the exchange and returns the phase that it stopped in. A write that has leave may still finish; none gets leave any more, and
// the phase does not change again: a phase below PhaseWriting is proof that no byte has left or will leave.
func (ex *exchange) seal() dispatch.Phase {
	ex.mu.Lock()
	close(ex.sealed)
	phase, c := ex.phase, ex.conn
	ex.ask = nil
	ex.mu.Unlock()
	if c != nil {
		c.release(ex)
	}
	return phase
}

func (ex *exchange) begun() bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.phase.BytesMayHaveLeft()
}

// lostReused reports that a kept connection was dropped under the request without a byte of an answer.
func (ex *exchange) lostReused(err error) bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return err != nil && ex.ctx.Err() == nil && ex.reused && (ex.phase == dispatch.PhaseWriting || ex.phase == dispatch.PhaseWritten)
}

// isSealed is called with mu held.
func (ex *exchange) isSealed() bool {
	select {
	case <-ex.sealed:
		return true
	default:
		return false
	}
}

func rank(p dispatch.Phase) int { return slices.Index(dispatch.Phases(), p) }
