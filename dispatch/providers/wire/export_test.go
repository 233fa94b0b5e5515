package wire

import (
	"context"
	"net"

	"sentonce/dispatch"
)

// SetOpen replaces how raw connections are made.
func (c *Client) SetOpen(open func(ctx context.Context, network, addr string) (net.Conn, error)) {
	c.transport.DialContext = (&dialer{open: open}).dialPlain
}

// Bound is an exchange that has taken a connection, for tests of what happens between a write and the end of the exchange.
type Bound struct {
	Conn net.Conn
	ex   *exchange
}

// Bind makes one with the transport already listening on the connection.
func Bind(ctx context.Context, raw net.Conn, ask func(context.Context) error) *Bound {
	ex := newExchange(ctx, ask)
	c := newConn(raw)
	ex.take(c, false)
	c.mu.Lock()
	c.wake()
	c.mu.Unlock()
	return &Bound{Conn: c, ex: ex}
}

// Seal ends the exchange as Exchange does.
func (b *Bound) Seal() dispatch.Phase { return b.ex.seal() }
