package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// The price of a claim and of a result must not depend on how much is stored. SENTONCE_BENCH_ROWS makes the larger database smaller.
func BenchmarkClaimAndFinish(b *testing.B) {
	many := 1_000_000
	if v, err := strconv.Atoi(os.Getenv("SENTONCE_BENCH_ROWS")); err == nil {
		many = v
	}
	for _, rows := range []int{10_000, many} {
		s := storetest.Open(b)
		stockUp(b, s, rows)
		for _, workers := range []int{1, 32} {
			name := fmt.Sprintf("rows=%d/workers=%d", rows, workers)
			var jobs []dispatch.Job
			b.Run("claim/"+name, func(b *testing.B) {
				ids := admitted(b, s, b.N)
				jobs = make([]dispatch.Job, b.N)
				var next atomic.Int64
				inParallel(b, workers, func(ctx context.Context) (err error) {
					i := next.Add(1) - 1
					jobs[i], err = s.Claim(ctx, storetest.Order(ids[i]))
					return err
				})
			})
			b.Run("finish/"+name, func(b *testing.B) {
				for len(jobs) < b.N {
					jobs = append(jobs, s.MustClaim(b, admitted(b, s, 1)[0]))
				}
				var next atomic.Int64
				inParallel(b, workers, func(ctx context.Context) error {
					job := jobs[next.Add(1)-1]
					return s.Finish(ctx, job.Reference, storetest.Taken("SM-"+job.Reference.Notification.String()), dispatch.FinishFacts{})
				})
				jobs = nil
			})
		}
	}
}

// admitted makes n notifications that wait.
func admitted(b *testing.B, s *storetest.Store, n int) []dispatch.NotificationID {
	b.Helper()
	ids := make([]dispatch.NotificationID, n)
	var next atomic.Int64
	share(b, min(n, 64), n, func(ctx context.Context) error {
		r, _, err := s.Admit(ctx, s.Admission())
		ids[next.Add(1)-1] = r.ID
		return err
	})
	return ids
}

// stockUp fills a database with delivered notifications, each with its permit, attempt and three events. The triggers are taken away meanwhile.
func stockUp(b *testing.B, s *storetest.Store, rows int) {
	b.Helper()
	if err := s.DB.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	db, err := store.OpenPool(filepath.Join(s.Dir, store.FileName), false, 1)
	if err != nil {
		b.Fatal(err)
	}
	exec := func(query string, args ...any) {
		b.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
	triggers := map[string]string{}
	found, err := db.Query(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger'`)
	if err != nil {
		b.Fatal(err)
	}
	for found.Next() {
		var name, create string
		if err := found.Scan(&name, &create); err != nil {
			b.Fatal(err)
		}
		triggers[name] = create
	}
	if err := found.Close(); err != nil {
		b.Fatal(err)
	}
	exec(`PRAGMA foreign_keys = 0`)
	exec(`PRAGMA synchronous = 0`)
	for name := range triggers {
		exec(`DROP TRIGGER ` + name)
	}
	for from := 0; from < rows; from += 100_000 {
		exec(`BEGIN`)
		stock(exec, s.Client, from, min(from+100_000, rows), time.Now().Add(-24*time.Hour).UnixMilli())
		exec(`COMMIT`)
		exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	for _, create := range triggers {
		exec(create)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	s.Reopen(b)
}

// stock writes the rows of notifications from..to; ids ascend as real ones do, and pseudonyms are spread.
func stock(exec func(string, ...any), client dispatch.ClientID, from, to int, at int64) {
	const each = `WITH RECURSIVE i (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM i WHERE n + 1 < ?2) `
	const id = `unhex(printf('%012x%020x', ?3 + n / 1000, n))`
	exec(each+`INSERT INTO notifications (id, client, event_id, idempotency_key, purpose, recipient, country, hint, text_mac, encoding, segments,
		accepted_at, expires_at, state, reason, version, final, due_at, stopped_at, stopped_kind, stopped_id, last_seq)
		SELECT `+id+`, ?4, 'stock-evt-' || n, 'stock-key-' || n, 'password_reset', randomblob(16), 'DE', '00', randomblob(32), 'GSM-7', 1,
		?3 + n / 1000, ?3 + 300000 + n / 1000, 'delivered', 'provider_accepted', 3, 1, ?3, ?3 + 1000 + n / 1000, 'provider', 'main', 3 FROM i`,
		from, to, at, client[:])
	exec(each+`INSERT INTO permits (notification, n, granted_at, spent_at) SELECT `+id+`, 1, ?3, ?3 FROM i`, from, to, at)
	exec(each+`INSERT INTO attempts (id, notification, number, provider, outcome, started_at, deadline_at, validity_ms, finished_at, phase, rule,
		http_status, answer_id, message_id, receipt) SELECT randomblob(16), `+id+`, 1, 'main', 'accepted', ?3, ?3, 1000, ?3, 'answered', 'R3', 201,
		'SM-' || n, 'SM-' || n, 'delivered' FROM i`, from, to, at)
	for version, action := range map[int]string{1: "accepted", 2: "dispatch_started", 3: "attempt_finished"} {
		exec(each+`INSERT INTO events (seq, at, by_kind, by_id, action, client, notification, from_state, to_state, version, final)
			SELECT (SELECT max(seq) FROM events) + n - ?1 + 1, ?3, 'worker', '', ?5, ?4, `+id+`, CASE ?6 WHEN 1 THEN NULL WHEN 2 THEN 'accepted' ELSE
			'dispatching' END, CASE ?6 WHEN 1 THEN 'accepted' WHEN 2 THEN 'dispatching' ELSE 'delivered' END, ?6, ?6 = 3 FROM i`,
			from, to, at, client[:], action, version)
	}
}
