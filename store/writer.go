package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"sentonce/dispatch"
)

// maxBatch bounds how many closures share a commit, and so how long the first one waits for the last.
const maxBatch = 256

// writer is the one goroutine that writes. It takes whatever is queued, runs each closure in a savepoint of one BEGIN IMMEDIATE … COMMIT,
// and only then answers: nothing is reported as stored unless COMMIT returned nil.
type writer struct {
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	clock  dispatch.Clock
	log    *slog.Logger
	last   int64        // the newest stored time, ms
	full   atomic.Int64 // when a batch was last lost because there was no room or the disk failed, ms; 0: evidence was stored since
	jobs   chan *job
	quit   chan struct{}
	done   chan struct{}
	fatal  func(error)
	after  func(committed []*Tx) // runs after a commit, before the answers
	before func() error          // asked before each batch; an error refuses the batch
	tidy   func()                // runs between batches
}

// job is one closure and who waits for it.
type job struct {
	op    string
	fn    func(*Tx) error
	state atomic.Int32 // queued, then taken by the writer or abandoned by the caller
	err   error
	done  chan struct{}
}

const (
	jobQueued int32 = iota
	jobTaken
	jobAbandoned
)

// do hands a closure to the writer and waits for its commit. The closure runs under the writer's own context: a caller that goes away before
// the writer took it is skipped, one that goes away later still gets the true answer, because the closure cannot be undone for it.
func (w *writer) do(ctx context.Context, op string, fn func(*Tx) error) error {
	j := &job{op: op, fn: fn, done: make(chan struct{})}
	select {
	case <-w.quit:
		return errClosed
	default:
	}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return classify(op, ctx.Err())
	case <-w.quit:
		return errClosed
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		if j.state.CompareAndSwap(jobQueued, jobAbandoned) {
			return classify(op, ctx.Err())
		}
	case <-w.done:
		if j.state.CompareAndSwap(jobQueued, jobAbandoned) {
			return errClosed
		}
	}
	<-j.done
	return j.err
}

// run is the writer's loop; it ends when quit is closed and the queue is empty.
func (w *writer) run() {
	defer close(w.done)
	for {
		select {
		case j := <-w.jobs:
			w.batch(w.collect(j))
		case <-w.quit:
			for {
				select {
				case j := <-w.jobs:
					w.batch(w.collect(j))
				default:
					return
				}
			}
		}
		w.tidy()
	}
}

func (w *writer) collect(first *job) []*job {
	batch := append(make([]*job, 0, 16), first)
	for len(batch) < maxBatch {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// batch runs the closures that are still wanted in one transaction and answers them all.
func (w *writer) batch(all []*job) {
	wanted := all[:0]
	for _, j := range all {
		if j.state.CompareAndSwap(jobQueued, jobTaken) {
			wanted = append(wanted, j)
		}
	}
	if len(wanted) == 0 {
		return
	}
	committed, err := w.transact(wanted)
	if err != nil {
		for _, j := range wanted {
			j.err = classify(j.op, err)
		}
		if isDiskFailure(err) {
			w.full.Store(w.clock.Now().UnixMilli())
		}
		if isSyncFailure(err) {
			w.fatal(err)
		}
	} else {
		w.after(committed)
	}
	for _, j := range wanted {
		close(j.done)
	}
}

// transact returns the committed closures, or the error that cost the whole batch. A closure's own error is in its job.
func (w *writer) transact(batch []*job) (committed []*Tx, err error) {
	if err := w.before(); err != nil {
		return nil, err
	}
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	before := w.last
	defer func() {
		if err != nil {
			w.last = before
			w.rollback()
		}
	}()
	seq, err := w.newest()
	if err != nil {
		return nil, err
	}
	first := seq
	for _, j := range batch {
		tx := w.newTx(&seq)
		if j.err, err = w.savepoint(tx, j); err != nil {
			return nil, err
		}
		if j.err == nil {
			committed = append(committed, tx)
		}
	}
	if err := w.exec("COMMIT"); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	if seq > first {
		w.full.Store(0)
	}
	return committed, nil
}

// newest is the last event's number, 0 before the first. Its time goes into the writer's: another process may have stored a later one.
func (w *writer) newest() (seq int64, err error) {
	s, err := w.stmt(`SELECT seq, at FROM events ORDER BY seq DESC LIMIT 1`)
	if err != nil {
		return 0, fmt.Errorf("last event: %w", err)
	}
	var at int64
	if err := s.QueryRow().Scan(&seq, &at); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("last event: %w", err)
	}
	w.last = max(w.last, at)
	return seq, nil
}

// savepoint runs one closure. own is the closure's error, after which its work alone is undone; lost means that the transaction is gone and
// with it the batch: after a full disk, an I/O error or an interrupt SQLite has discarded all of it, even where the closure went on.
func (w *writer) savepoint(tx *Tx, j *job) (own, lost error) {
	if err := w.exec("SAVEPOINT item"); err != nil {
		return nil, fmt.Errorf("savepoint: %w", err)
	}
	seq := *tx.seq
	own = w.call(tx, j)
	if tx.broken != nil && !errors.Is(own, tx.broken) {
		own = errors.Join(tx.broken, own) // the closure went on as if nothing had been
	}
	if own != nil {
		*tx.seq = seq
		if err := w.exec("ROLLBACK TO item"); err != nil {
			return nil, errors.Join(own, err)
		}
		if code(own) != 0 && !errors.Is(own, dispatch.ErrUnavailable) {
			own = classify(j.op, own)
		}
	}
	if err := w.exec("RELEASE item"); err != nil {
		return nil, errors.Join(own, fmt.Errorf("release: %w", err))
	}
	return own, nil
}

// call runs a closure and turns a panic into its error.
func (w *writer) call(tx *Tx, j *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("a write panicked", "operation", j.op, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %w", j.op, dispatch.ErrUnavailable)
		}
	}()
	return j.fn(tx)
}

func (w *writer) rollback() {
	// The transaction may be gone already; then this fails, and that is what was wanted.
	if err := w.exec("ROLLBACK"); err != nil {
		w.log.Debug("rollback", "error", err.Error())
	}
}

func (w *writer) exec(query string) error {
	s, err := w.stmt(query)
	if err != nil {
		return err
	}
	_, err = s.Exec()
	return err
}

// stmt prepares a statement once. The writer has one connection, and its statements live as long.
func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = s
	return s, nil
}

// newTx starts a closure's view of the transaction with its one timestamp, which never lies before a stored one.
func (w *writer) newTx(seq *int64) *Tx {
	w.last = max(w.last, w.clock.Now().UnixMilli())
	return &Tx{w: w, seq: seq, Now: time.UnixMilli(w.last).UTC()}
}

func (w *writer) close(ctx context.Context) error {
	close(w.quit)
	select {
	case <-w.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}
