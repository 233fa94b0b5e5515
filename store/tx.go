package store

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"sentonce/dispatch"
)

// Tx is one closure's share of a write transaction: a timestamp, the statements, and what has to happen after the commit. It must not be kept
// after the closure returns.
type Tx struct {
	w      *writer
	seq    *int64 // the last event's; shared by the batch
	broken error  // an error that may have cost the transaction; from then on every statement fails
	Now    time.Time

	changed []dispatch.NotificationID // to wake who watches
	signal  Signal
	settled []settled // for the metrics
}

// Signal says what a commit has made possible, so that the engine looks at once.
type Signal struct {
	Work   bool      // a notification waits for a claim
	Doubt  bool      // an attempt is in doubt
	EndsAt time.Time // a life that ends at this instant was stored; zero: none
	Keys   bool      // clients or API keys changed
}

func (s *Signal) add(o Signal) {
	s.Work, s.Doubt, s.Keys = s.Work || o.Work, s.Doubt || o.Doubt, s.Keys || o.Keys
	if !o.EndsAt.IsZero() && (s.EndsAt.IsZero() || o.EndsAt.Before(s.EndsAt)) {
		s.EndsAt = o.EndsAt
	}
}

// exec runs a statement and returns the number of rows that it changed.
func (tx *Tx) exec(query string, args ...any) (int64, error) {
	s, err := tx.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := s.Exec(args...)
	if err != nil {
		return 0, tx.note(err)
	}
	n, err := res.RowsAffected()
	return n, tx.note(err)
}

// row scans the one row of a query. The error is dispatch.ErrNotFound when there is none.
func (tx *Tx) row(query string, args []any, dest ...any) error {
	s, err := tx.prepare(query)
	if err != nil {
		return err
	}
	err = s.QueryRow(args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return dispatch.ErrNotFound
	}
	return tx.note(err)
}

// rows calls each for every row of a query.
func (tx *Tx) rows(query string, args []any, each func(scan func(...any) error) error) error {
	s, err := tx.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return tx.note(err)
	}
	return tx.note(eachRow(rows, each))
}

func (tx *Tx) prepare(query string) (*sql.Stmt, error) {
	if tx.broken != nil {
		return nil, tx.broken
	}
	s, err := tx.w.stmt(query)
	return s, tx.note(err)
}

// note remembers every error but a constraint's: after those nothing of this closure may count.
func (tx *Tx) note(err error) error {
	if err != nil && !isConstraint(err) {
		tx.broken = err
	}
	return err
}

// eachRow iterates and closes rows.
func eachRow(rows *sql.Rows, each func(scan func(...any) error) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// nextSeq gives the next event its number.
func (tx *Tx) nextSeq() int64 {
	*tx.seq++
	return *tx.seq
}

// newID makes an id in the transaction's millisecond.
func newID[T ~[16]byte](tx *Tx) (T, error) { return dispatch.NewID[T](tx.Now, rand.Reader) }
