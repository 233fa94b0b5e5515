package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"sentonce/dispatch"
)

const (
	// stopSlack is how long after the longest call the process has ended (I10).
	stopSlack = 5 * time.Second
	// closeSlack is the part of it that is kept for the last event and for closing the database; where the calls end early they have more,
	// so that one slow sync does not make a good stop look like a bad one.
	closeSlack = 500 * time.Millisecond
	// noteTime bounds the writing of the event at the start.
	noteTime = 10 * time.Second
)

// errStopped is the cause with which the loops end in good order.
var errStopped = errors.New("the server was asked to stop")

// run serves until ctx ends, a loop fails, or the store says that nothing may be believed any more; then it stops in good order: it takes
// nothing more and claims nothing more, releases who waits, waits for the calls in flight and records them (I10). The error is nil when
// every result is on disk.
func (s *server) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.release(context.WithoutCancel(ctx))) }()
	if err := s.note(ctx, dispatch.ActionServerStarted, noteTime); err != nil {
		return fmt.Errorf("record the start: %w", err)
	}
	work, end := context.WithCancelCause(ctx)
	defer end(errStopped)
	loops := s.begin(work, end)
	s.log.Info("serving", "address", s.listener.Addr().String(), "public_url", s.cfg.PublicURL.String(), "data_dir", s.cfg.DataDir)

	select {
	case err := <-s.db.Fatal():
		s.log.Error("the storage cannot be trusted any more; the process ends and the next start recovers", "error", err)
		return errors.Join(fmt.Errorf("storage: %w", err), s.http.Close())
	case <-work.Done():
	}
	s.log.Info("stopping: no new work, waiting for the calls in flight", "cause", context.Cause(work).Error(), "at_most", s.longestCall()+stopSlack)
	s.stopBy = time.Now().Add(s.longestCall() + stopSlack)
	close(s.draining)
	err = s.drain(loops)
	if cause := context.Cause(work); ctx.Err() == nil {
		err = errors.Join(cause, err)
	}
	s.flushReplays(ctx)
	if err == nil {
		err = s.note(context.WithoutCancel(ctx), dispatch.ActionServerStopped, max(time.Until(s.stopBy)-closeSlack/2, closeSlack/2))
	}
	s.log.Info("stopped", "in_good_order", err == nil)
	return err
}

// flushReplays writes the counts that wait, so that the last event is the server's own.
func (s *server) flushReplays(ctx context.Context) {
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), s.stopBy.Add(-closeSlack))
	defer cancel()
	s.db.FlushReplays(ctx)
}

// note writes an event about the server itself.
func (s *server) note(ctx context.Context, action dispatch.Action, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.db.Note(ctx, dispatch.Event{At: s.clock.Now(), By: dispatch.Worker(), Action: action})
}

// loops are the goroutines of a server.
type loops struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// begin starts every loop and the HTTP server. One that ends by itself, or panics, ends all: half a service would be a silent one.
func (s *server) begin(ctx context.Context, end context.CancelCauseFunc) *loops {
	l := &loops{}
	for name, loop := range map[string]func() error{
		"pool":       func() error { return s.pool.Run(ctx) },
		"reconciler": func() error { return s.reconciler.Run(ctx) },
		"sweeper":    func() error { return s.sweeper.Run(ctx) },
		"clock":      func() error { return s.clock.Run(ctx, s.db, s.log, s.pool.Wake) },
		"bulks":      func() error { return s.bulks(ctx) },
		"http":       s.serveHTTP,
	} {
		l.wg.Go(func() {
			err := s.contained(name, loop)
			if ctx.Err() == nil {
				end(errors.Join(fmt.Errorf("the %s ended by itself", name), err))
				return
			}
			l.add(err)
		})
	}
	return l
}

func (l *loops) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

// err is what the loops ended with.
func (l *loops) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errs...)
}

func (s *server) serveHTTP() error {
	err := s.http.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("HTTP server: %w", err)
}

// contained makes an error of a panic. The value is not told, because it may hold a text or a number; the stack holds addresses alone.
func (s *server) contained(name string, loop func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("a loop panicked", "loop", name, "kind", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			err = fmt.Errorf("the %s panicked", name)
		}
	}()
	return loop()
}

// drain waits for requests and calls in flight, for as long as the longest call may take and the slack that is left.
func (s *server) drain(l *loops) error {
	ctx, cancel := context.WithDeadline(context.Background(), s.stopBy.Add(-closeSlack))
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := s.http.Shutdown(ctx)
		if err != nil {
			err = errors.Join(fmt.Errorf("requests were cut off: %w", err), s.http.Close())
		}
		l.wg.Wait()
		done <- errors.Join(err, l.err())
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("something hangs; what it holds becomes unknown at the next start")
	}
}

// longestCall is how long a call may take at most.
func (s *server) longestCall() (longest time.Duration) {
	for _, r := range s.routes {
		longest = max(longest, r.Timeout)
	}
	return longest
}

// release gives back what was taken, in the opposite order. A database that does not close in time is left to the end of the process.
func (s *server) release(ctx context.Context) error {
	var err error
	if s.listener != nil {
		_ = s.listener.Close() // closed already where the HTTP server had it
	}
	if s.db != nil {
		err = s.closeStore(ctx)
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Release())
	}
	return err
}

func (s *server) closeStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(time.Until(s.stopBy), closeSlack))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.db.Close(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("the database did not close in time; the next start recovers it")
	}
}
