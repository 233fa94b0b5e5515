package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// BaseURL is what a sender is configured with: scheme, host and port, no slash at the end.
func (s *Server) BaseURL() string { return s.port.url() }

// ControlURL is the address of the control page; it answers even while the provider is down.
func (s *Server) ControlURL() string { return s.control.url() }

// AccountSID is the account that senders must name.
func (s *Server) AccountSID() string { return s.opt.AccountSID }

// AuthToken is the password of the account, and the key of receipts' signatures.
func (s *Server) AuthToken() string { return s.opt.AuthToken }

// Script plans what happens to the next sends to a number: each step for its Times, the last one for ever if it has none. After the
// plan the number is like any other. No step removes the plan. The error is ErrInvalid.
func (s *Server) Script(to string, steps ...Behaviour) error { return s.rules.script(to, steps) }

// SetMode changes what the whole provider does with numbers that have no script. ModeDown closes the port; every other mode opens it.
func (s *Server) SetMode(m Mode) error {
	if !slices.Contains(Modes(), m) {
		return fmt.Errorf("mode %q: %w", m, ErrInvalid)
	}
	if m == ModeDown {
		return s.Down()
	}
	s.rules.setMode(m)
	return s.Up()
}

// Mode is the present mode; ModeDown while the port is closed, however that came about.
func (s *Server) Mode() Mode {
	if !s.port.isUp() {
		return ModeDown
	}
	return s.rules.currentMode()
}

// Down closes the provider's port and its connections: from when it returns until Up, connections are refused. What was accepted stays
// accepted, and receipts go on.
func (s *Server) Down() error { return s.port.down() }

// Up opens the same port again, in the mode that was set before.
func (s *Server) Up() error { return s.port.up() }

// Hide makes lists show nothing at all, or ends that. Fetches by id are not affected.
func (s *Server) Hide(hidden bool) { s.rules.setHidden(hidden) }

// SetListLag changes how old a message must be to show in lists; messages of any age follow at once.
func (s *Server) SetListLag(lag time.Duration) { s.rules.setLag(max(lag, 0)) }

// Release ends the hanging of requests for a number, or of all when it is empty, and says how many: an accepted message is answered after
// all, the connection of another one is closed.
func (s *Server) Release(to string) int { return s.book.release(to) }

// Ledger lists the accepted messages to a number, or all when it is empty, oldest first.
func (s *Server) Ledger(to string) []Message { return s.book.to(to) }

// Message finds an accepted message by its id.
func (s *Server) Message(sid string) (Message, bool) { return s.book.find(sid) }

// Requests lists when sends to a number were read to their end, whatever became of them.
func (s *Server) Requests(to string) (times []time.Time) {
	s.book.read(func() { times = slices.Clone(s.book.requests[to]) })
	return times
}

// Lookups counts lists and fetches.
func (s *Server) Lookups() int { return s.book.counters().Lookups }

// Foreign counts requests to paths that are not the API's, such as a redirect that was followed.
func (s *Server) Foreign() int { return s.book.counters().Foreign }

// Counters are all totals at one instant.
func (s *Server) Counters() Counters { return s.book.counters() }

// Holding lists the requests that hang for a number, or all when it is empty, in no order.
func (s *Server) Holding(to string) []Held { return s.book.holding(to) }

// WaitAccepted waits for the first message to a number, which may be there already. The error is the context's, or ErrClosed.
func (s *Server) WaitAccepted(ctx context.Context, to string) (m Message, err error) {
	err = s.wait(ctx, func() bool {
		if rows := s.book.byTo[to]; len(rows) > 0 {
			m = rows[0].copy()
			return true
		}
		return false
	})
	return m, err
}

// WaitRequests waits until at least n sends to a number were read to their end.
func (s *Server) WaitRequests(ctx context.Context, to string, n int) error {
	return s.wait(ctx, func() bool { return len(s.book.requests[to]) >= n })
}

// WaitLookups waits until at least n lists and fetches were answered.
func (s *Server) WaitLookups(ctx context.Context, n int) error {
	return s.wait(ctx, func() bool { return s.book.lookups >= n })
}

// WaitHeld waits until a request hangs for a number, or for any when it is empty.
func (s *Server) WaitHeld(ctx context.Context, to string) error {
	return s.wait(ctx, func() bool {
		for h := range s.book.held {
			if to == "" || h.to == to {
				return true
			}
		}
		return false
	})
}

// WaitReceipts waits until at least n call-backs were tried for a message.
func (s *Server) WaitReceipts(ctx context.Context, sid string, n int) error {
	return s.wait(ctx, func() bool {
		m := s.book.bySID[sid]
		return m != nil && len(m.Receipts) >= n
	})
}

func (s *Server) wait(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(ErrClosed) })()
	err := s.book.wait(ctx, holds)
	if err != nil && errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return err
}
