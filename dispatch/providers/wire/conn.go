package wire

import (
	"net"
	"sync"
)

// conn is a connection to the provider, above TLS, so that what it is asked to write is HTTP and nothing else. It writes only for the
// exchange that has taken it, and only with that exchange's leave.
type conn struct {
	net.Conn

	mu        sync.Mutex
	owner     *exchange
	listening chan struct{} // closed while the transport waits in Read, and for good once the connection is spent
	spent     bool          // closed, failed, or the peer has sent something unasked
}

func newConn(raw net.Conn) *conn { return &conn{Conn: raw, listening: make(chan struct{})} }

func (c *conn) serve(ex *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner = ex
}

// release lets go of the exchange, unless another one has taken the connection meanwhile.
func (c *conn) release(ex *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == ex {
		c.owner = nil
	}
}

// Write asks the exchange for leave and writes.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	ex := c.owner
	c.mu.Unlock()
	if ex == nil {
		return 0, errSealed
	}
	if err := ex.admit(c); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if err == nil {
		ex.flushed()
	}
	return n, err
}

// Read reads, and notes that the transport is waiting and how the wait ended.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	c.wake()
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || n > 0 && (c.owner == nil || !c.owner.begun()) {
		c.spent = true
	}
	if !c.spent {
		c.listening = make(chan struct{})
	}
	return n, err
}

// Close closes the connection.
func (c *conn) Close() error {
	c.mu.Lock()
	c.spent = true
	c.wake()
	c.mu.Unlock()
	return c.Conn.Close()
}

func (c *conn) wake() {
	select {
	case <-c.listening:
	default:
		close(c.listening)
	}
}

// awaitQuiet waits until the transport's reader waits for the connection. It waits there before every request (persistConn.readLoop peeks
// first), and only when its buffer is empty; so from then on nothing is left over from an earlier answer, and a server that has closed the
// connection has been noticed, as far as that can be known here.
func (c *conn) awaitQuiet(ex *exchange) error {
	c.mu.Lock()
	listening := c.listening
	c.mu.Unlock()
	select {
	case <-listening:
		return c.quiet()
	case <-ex.sealed:
		return errSealed
	case <-ex.ctx.Done():
		return ex.ctx.Err()
	}
}

func (c *conn) quiet() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spent {
		return errSpent
	}
	return nil
}
