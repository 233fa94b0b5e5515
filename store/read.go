package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"sentonce/dispatch"
)

// querier is the reading half of Tx, so that one loader serves both.
type querier interface {
	row(query string, args []any, dest ...any) error
	rows(query string, args []any, each func(scan func(...any) error) error) error
}

// readers are connections that only read. The requests of clients have theirs and the engine has its own, so that a crowd that waits for one
// record does not keep a message from being sent.
type readers struct {
	pool  *sql.DB
	stmts statements
}

func openReaders(path string, size int) (*readers, error) {
	pool, err := openPool(path, true, size)
	return &readers{pool: pool}, err
}

func (rs *readers) close() error { return errors.Join(rs.stmts.close(), rs.pool.Close()) }

// queryRow reads one row. The error is dispatch.ErrNotFound when there is none.
func (rs *readers) queryRow(ctx context.Context, query string, args []any, dest ...any) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	s, err := rs.stmts.prepare(ctx, rs.pool, query)
	if err != nil {
		return classify("read", err)
	}
	return oneRow(s.QueryRowContext(ctx, args...), dest)
}

// snapshot runs a function that sees one state of the database for at most readLimit.
func (rs *readers) snapshot(ctx context.Context, fn func(querier) error) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	tx, err := rs.pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return classify("read", err)
	}
	r := &reader{ctx: ctx, tx: tx, known: &rs.stmts}
	err = fn(r)
	if end := tx.Rollback(); !errors.Is(end, sql.ErrTxDone) { // the time-out has ended it already
		err = errors.Join(err, classify("read", end))
	}
	for _, query := range r.unknown { // only now: it needs a connection, and this one holds one
		if _, prepareErr := rs.stmts.prepare(ctx, rs.pool, query); prepareErr != nil {
			break // the next one compiles it again
		}
	}
	return err
}

// queryRow reads one row for a client's request.
func (db *DB) queryRow(ctx context.Context, query string, args []any, dest ...any) error {
	return db.read.queryRow(ctx, query, args, dest...)
}

// snapshot reads for a client's request.
func (db *DB) snapshot(ctx context.Context, fn func(querier) error) error {
	return db.read.snapshot(ctx, fn)
}

type reader struct {
	ctx     context.Context
	tx      *sql.Tx
	known   *statements
	unknown []string
}

func (r *reader) row(query string, args []any, dest ...any) error {
	if s := r.known.get(query); s != nil {
		return oneRow(r.tx.StmtContext(r.ctx, s).QueryRowContext(r.ctx, args...), dest)
	}
	r.unknown = append(r.unknown, query)
	return oneRow(r.tx.QueryRowContext(r.ctx, query, args...), dest)
}

func (r *reader) rows(query string, args []any, each func(scan func(...any) error) error) (err error) {
	var rows *sql.Rows
	if s := r.known.get(query); s != nil {
		rows, err = r.tx.StmtContext(r.ctx, s).QueryContext(r.ctx, args...)
	} else {
		r.unknown = append(r.unknown, query)
		rows, err = r.tx.QueryContext(r.ctx, query, args...)
	}
	if err != nil {
		return classify("read", err)
	}
	return classify("read", eachRow(rows, each))
}

func oneRow(row *sql.Row, dest []any) error {
	err := row.Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return dispatch.ErrNotFound
	}
	return classify("read", err)
}

// statements are the readers' prepared statements: to compile one costs several times what it costs to run it. There are as many as the code
// has queries, which are constants.
type statements struct {
	mu  sync.RWMutex
	all map[string]*sql.Stmt
}

func (p *statements) get(query string) *sql.Stmt {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.all[query]
}

// prepare prepares a query once; database/sql prepares it again on each connection that it meets. It may wait for a connection, so that
// neither the lock nor a connection is held meanwhile.
func (p *statements) prepare(ctx context.Context, pool *sql.DB, query string) (*sql.Stmt, error) {
	if s := p.get(query); s != nil {
		return s, nil
	}
	s, err := pool.PrepareContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.all[query]; first != nil {
		return first, s.Close()
	}
	if p.all == nil {
		p.all = map[string]*sql.Stmt{}
	}
	p.all[query] = s
	return s, nil
}

func (p *statements) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.all {
		errs = append(errs, s.Close())
	}
	clear(p.all)
	return errors.Join(errs...)
}
