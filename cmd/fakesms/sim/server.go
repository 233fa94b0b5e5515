package sim

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// The credentials that apply when none are given. They open nothing but a simulator.
const (
	DefaultAccountSID = "AC00000000000000000000000000000001"
	DefaultAuthToken  = "simulator-token-not-a-secret"
)

// ErrClosed means that the simulator was closed.
var ErrClosed = errors.New("the simulator is closed")

// Options say how to start; the zero value is a complete simulator on two free loopback ports.
type Options struct {
	Listen      string         // the provider's address; "" means a free port on 127.0.0.1
	Control     string         // the control page's address; "" means a free port on 127.0.0.1
	AccountSID  string         // "" means DefaultAccountSID
	AuthToken   string         // "" means DefaultAuthToken
	ListLag     time.Duration  // a message shows in lists only when it is this old
	Receipts    ReceiptPlan    // for messages whose behaviour has no plan of its own
	NoPatterns  bool           // the last digits of a number mean nothing
	AllowRemote bool           // listen on, and send receipts to, addresses that are not loopback
	RootCAs     *x509.CertPool // for receipts to https addresses; nil means the system's
	Clock       Clock          // nil means the wall clock
	Seed        uint64         // of the message ids; 0 means another one each time
	Logger      *slog.Logger   // nil means none; numbers and texts are never logged
}

// Server is a running simulator. All methods may be called at any time from any goroutine.
type Server struct {
	opt     Options
	clock   Clock
	rules   *rules
	book    *book
	post    *http.Client
	ctx     context.Context
	cancel  context.CancelCauseFunc
	port    *port
	control *port
	random  struct {
		sync.Mutex
		source *rand.ChaCha8
	}
	life struct {
		sync.Mutex
		closed bool
		tasks  sync.WaitGroup // handlers and receipts; Add only under the lock and while not closed
	}
}

// Start opens both ports and serves until Close.
func Start(opt Options) (*Server, error) {
	s := newServer(opt)
	var err error
	if s.port, err = newPort(s.ctx, s.opt.Listen, opt.AllowRemote, s.opt.Logger); err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	if s.control, err = newPort(s.ctx, s.opt.Control, opt.AllowRemote, s.opt.Logger); err != nil {
		return nil, fmt.Errorf("control page: %w", closing(s.port.reserved, err))
	}
	s.port.handler, s.control.handler = s.tracked(s.providerHandler()), s.tracked(s.controlHandler())
	if err := errors.Join(s.port.up(), s.control.up()); err != nil {
		return nil, closing(s, err)
	}
	return s, nil
}

func newServer(opt Options) *Server {
	opt.Listen = cmp.Or(opt.Listen, "127.0.0.1:0")
	opt.Control = cmp.Or(opt.Control, "127.0.0.1:0")
	opt.AccountSID = cmp.Or(opt.AccountSID, DefaultAccountSID)
	opt.AuthToken = cmp.Or(opt.AuthToken, DefaultAuthToken)
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Clock == nil {
		opt.Clock = wallClock{}
	}
	s := &Server{opt: opt, clock: opt.Clock, rules: newRules(opt), book: newBook(), post: newReceiptClient(opt)}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	var seed [32]byte
	if opt.Seed != 0 {
		binary.LittleEndian.PutUint64(seed[:], opt.Seed)
	} else {
		crand.Read(seed[:]) // never fails: it ends the program instead
	}
	s.random.source = rand.NewChaCha8(seed)
	return s
}

// Close stops both ports, ends hanging requests and unsent receipts, and returns when nothing of the simulator runs any more.
func (s *Server) Close() error {
	s.life.Lock()
	if s.life.closed {
		s.life.Unlock()
		return nil
	}
	s.life.closed = true
	s.life.Unlock()
	s.cancel(ErrClosed)
	err := errors.Join(s.port.close(), s.control.close())
	s.life.tasks.Wait()
	s.post.CloseIdleConnections()
	return err
}

// begin counts a task in; false when the simulator is closed.
func (s *Server) begin() bool {
	s.life.Lock()
	defer s.life.Unlock()
	if s.life.closed {
		return false
	}
	s.life.tasks.Add(1)
	return true
}

// start runs f in the background until it returns; f must end with s.ctx.
func (s *Server) start(f func()) error {
	if !s.begin() {
		return ErrClosed
	}
	go func() {
		defer s.life.tasks.Done()
		f()
	}()
	return nil
}

// tracked makes Close wait for the handler.
func (s *Server) tracked(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			panic(http.ErrAbortHandler)
		}
		defer s.life.tasks.Done()
		h.ServeHTTP(w, r)
	})
}

// newSID makes a message id in Twilio's form, ^SM[0-9a-f]{32}$.
func (s *Server) newSID() string {
	var b [16]byte
	s.random.Lock()
	defer s.random.Unlock()
	s.random.source.Read(b[:]) // never fails
	return "SM" + hex.EncodeToString(b[:])
}
