package store

import (
	"database/sql"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// ms is how an instant is stored: milliseconds UTC, NULL for the zero time.
func ms(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// instant reads a stored instant back.
func instant(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64).UTC()
}

// text stores "" as NULL.
func text[T ~string](s T) any {
	if s == "" {
		return nil
	}
	return string(s)
}

// number stores 0 as NULL.
func number[T ~int | ~int64](n T) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

// blob stores an id, and the zero id as NULL.
func blob[T ~[16]byte](id T) any {
	if [16]byte(id) == ([16]byte{}) {
		return nil
	}
	return append([]byte(nil), id[:]...)
}

// sum stores a digest, and the zero digest as NULL.
func sum(d [32]byte) any {
	if d == ([32]byte{}) {
		return nil
	}
	return append([]byte(nil), d[:]...)
}

// into scans a blob column into a fixed array; NULL leaves it zero.
func into(dst []byte) sql.Scanner { return &fixed{dst} }

type fixed struct{ dst []byte }

// Scan copies a blob of exactly the array's size. The error is dispatch.ErrUnreadable.
func (f *fixed) Scan(v any) error {
	switch b := v.(type) {
	case nil:
		return nil
	case []byte:
		if len(b) == len(f.dst) {
			copy(f.dst, b)
			return nil
		}
	}
	return fmt.Errorf("a blob of %d bytes: %w", len(f.dst), dispatch.ErrUnreadable)
}

// nullable scans a text or integer column whose NULL means the zero value.
type nullable[T ~string | ~int | ~int64] struct{ dst *T }

func opt[T ~string | ~int | ~int64](dst *T) sql.Scanner { return nullable[T]{dst} }

// Scan converts what the driver gives for a STRICT column.
func (n nullable[T]) Scan(v any) error {
	var zero T
	if v == nil {
		*n.dst = zero
		return nil
	}
	var null sql.Null[T]
	if err := null.Scan(v); err != nil {
		return fmt.Errorf("%w: %w", dispatch.ErrUnreadable, err)
	}
	*n.dst = null.V
	return nil
}

// when scans an instant; NULL is the zero time.
type when struct{ dst *time.Time }

func at(dst *time.Time) sql.Scanner { return when{dst} }

// Scan reads integer milliseconds.
func (w when) Scan(v any) error {
	var n sql.NullInt64
	if err := n.Scan(v); err != nil {
		return fmt.Errorf("%w: %w", dispatch.ErrUnreadable, err)
	}
	*w.dst = instant(n)
	return nil
}
