package store_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// The baseline and the group commit run on the same settings, schema and rows, so that their ratio says what the one writer is worth here.
func BenchmarkAdmission(b *testing.B) {
	for _, clients := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := storetest.Open(b)
			inParallel(b, clients, func(ctx context.Context) error {
				_, _, err := s.Admit(ctx, s.Admission())
				return err
			})
		})
		b.Run(fmt.Sprintf("one_commit_each/clients=%d", clients), func(b *testing.B) {
			s := storetest.Open(b)
			if err := s.DB.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
			pool, err := store.OpenPool(filepath.Join(s.Dir, store.FileName), false, 1)
			if err != nil {
				b.Fatal(err)
			}
			var seq int64
			if err := pool.QueryRow(`SELECT max(seq) FROM events`).Scan(&seq); err != nil {
				b.Fatal(err)
			}
			inParallel(b, clients, func(ctx context.Context) error { return admitPlainly(ctx, pool, s, &seq) })
			if err := pool.Close(); err != nil {
				b.Fatal(err)
			}
			s.Reopen(b)
		})
	}
}

// inParallel shares b.N operations among clients and reports how many there were in a second, and what one cost.
func inParallel(b *testing.B, clients int, op func(context.Context) error) {
	cpu := cpuTime(b)
	b.ResetTimer()
	share(b, clients, b.N, op)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/event")
}

// share divides n operations among clients that each wait for the last one's end.
func share(b *testing.B, clients, n int, op func(context.Context) error) {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := op(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// admitPlainly writes the rows of one admission in a transaction of its own.
func admitPlainly(ctx context.Context, pool *sql.DB, s *storetest.Store, seq *int64) error {
	a := s.Admission()
	now := time.Now()
	id, err := dispatch.NewID[dispatch.NotificationID](now, rand.Reader)
	if err != nil {
		return err
	}
	recipient, err := dispatch.NewID[dispatch.RecipientRef](now, rand.Reader)
	if err != nil {
		return err
	}
	no, text, err := s.Master.Seal("message", id[:], []byte(a.Text.Reveal()))
	if err != nil {
		return err
	}
	_, number, err := s.Master.Seal("recipient", recipient[:], []byte(a.Recipient.Reveal()))
	if err != nil {
		return err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit there is nothing to undo
	at := now.UnixMilli()
	*seq++
	for _, q := range []struct {
		query string
		args  []any
	}{
		{`INSERT INTO notifications (id, client, event_id, idempotency_key, purpose, recipient, country, hint, text_mac, encoding,
			segments, accepted_at, expires_at, state, version, final, due_at)
			VALUES (?, ?, ?, ?, ?, ?, 'DE', '00', ?, 'GSM-7', 1, ?, ?, 'accepted', 0, 0, ?)`,
			[]any{id[:], s.Client[:], a.EventID, a.IdempotencyKey, a.Purpose, recipient[:], make([]byte, 32), at, at + 300_000, at}},
		{`INSERT INTO sealed_messages (notification, key_no, sealed) VALUES (?, ?, ?)`, []any{id[:], no, text}},
		{`INSERT INTO sealed_recipients (recipient, key_no, sealed, created_at) VALUES (?, ?, ?, ?)`, []any{recipient[:], no, number, at}},
		{`INSERT INTO events (seq, at, by_kind, by_id, action, client, notification, to_state, version, final) VALUES (?, ?, 'client', 'k', 'accepted',
			?, ?, 'accepted', 1, 0)`, []any{*seq, at, s.Client[:], id[:]}},
		{`INSERT INTO permits (notification, n, granted_at) VALUES (?, 1, ?)`, []any{id[:], at}},
	} {
		if _, err := tx.ExecContext(ctx, q.query, q.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
