package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// port serves a handler on one address that stays the same while it goes down and up.
type port struct {
	addr     *net.TCPAddr
	reserved *reservation
	handler  http.Handler
	base     context.Context
	logger   *slog.Logger
	conns    *atomic.Uint64 // numbers the connections

	mu   sync.Mutex
	srv  *http.Server // nil while down
	done chan error   // what Serve returned
}

type connKey struct{}

// connOf is the number of the connection that a request came on; 0 when it is not known.
func connOf(ctx context.Context) uint64 {
	n, _ := ctx.Value(connKey{}).(uint64)
	return n
}

func newPort(ctx context.Context, addr string, remote bool, logger *slog.Logger) (*port, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", addr, err)
	}
	if !remote && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("address %q is not a loopback address: %w", addr, ErrInvalid)
	}
	reserved, bound, err := reserve(resolved)
	if err != nil {
		return nil, err
	}
	return &port{addr: bound, reserved: reserved, base: ctx, logger: logger, conns: new(atomic.Uint64)}, nil
}

// up listens, unless it does already.
func (p *port) up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.srv != nil {
		return nil
	}
	if err := p.base.Err(); err != nil {
		return fmt.Errorf("listen on %s: %w", p.addr, err)
	}
	ln, err := net.ListenTCP("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", p.addr, err)
	}
	srv := &http.Server{
		Handler: p.handler, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:    slog.NewLogLogger(p.logger.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return p.base },
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, p.conns.Add(1))
		},
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	p.srv, p.done = srv, done
	return nil
}

// down closes the listener and every connection, so that new ones are refused.
func (p *port) down() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.srv == nil {
		return nil
	}
	err := p.srv.Close()
	if served := <-p.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	p.srv, p.done = nil, nil
	if err != nil {
		return fmt.Errorf("close %s: %w", p.addr, err)
	}
	return nil
}

func (p *port) isUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.srv != nil
}

// close goes down and gives the address up.
func (p *port) close() error { return errors.Join(p.down(), p.reserved.Close()) }

func (p *port) url() string { return "http://" + p.addr.String() }

// closing closes c and adds what that says to err.
func closing(c io.Closer, err error) error { return errors.Join(err, c.Close()) }
