package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checker holds a database against what must be true of it at any moment. It reads by SQL of its own.
type checker struct {
	failer
	db *sql.DB
}

func (w *world) check(rt *rapid.T) {
	w.T = rt
	c := checker{rt, w.s.Readers()}
	for _, id := range w.ids {
		c.notification(id)
	}
}

// crashed checks a copy of the files as they are now, after what a restart does with them.
func crashed(t *testing.T, rt *rapid.T, w *world) {
	dir, err := os.MkdirTemp(t.TempDir(), "crash")
	if err != nil {
		rt.Fatal(err)
	}
	for _, name := range []string{store.FileName, store.FileName + "-wal", "master.key"} {
		content, err := os.ReadFile(filepath.Join(w.s.Dir, name))
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			rt.Fatal(err)
		}
	}
	twin := &storetest.Store{Dir: dir, Clock: w.s.Clock, Master: w.s.Master, Client: w.s.Client, Policy: w.s.Policy}
	if twin.DB, err = store.Open(t.Context(), twin.Config()); err != nil {
		rt.Fatal(err)
	}
	defer os.RemoveAll(dir)
	defer twin.DB.Close(context.Background())
	for _, id := range w.ids {
		live, copied := w.get(id), (&world{T: rt, s: twin, ctx: w.ctx}).get(id)
		if rendered(live) != rendered(copied) {
			rt.Fatalf("the files hold\n%s\nthe store says\n%s", rendered(copied), rendered(live))
		}
	}
	if _, err := twin.Recover(t.Context(), func(string) []time.Duration { return storetest.Schedule() }); err != nil {
		rt.Fatal(err)
	}
	c := checker{rt, twin.Readers()}
	for _, id := range w.ids {
		c.notification(id)
	}
	c.none("a call is open after the restart", `SELECT 1 FROM attempts WHERE outcome = 'pending'`)
}

func (c checker) none(what, query string, args ...any) {
	c.Helper()
	var n int
	if err := c.db.QueryRow(`SELECT count(*) FROM (`+query+`)`, args...).Scan(&n); err != nil {
		c.Fatalf("%s: %v", what, err)
	}
	if n != 0 {
		c.Fatalf("%s (%d)", what, n)
	}
}

// log checks the whole log: gapless, and in the order of time.
func (c checker) log() {
	c.none("a gap in the log", `SELECT count(*) FROM events HAVING count(*) <> max(seq) OR min(seq) <> 1`)
	c.none("an event before the one before it", `SELECT 1 FROM events e JOIN events f ON f.seq = e.seq + 1 WHERE f.at < e.at`)
}

func (c checker) notification(id dispatch.NotificationID) {
	c.fold(id)
	c.permits(id)
	c.digests(id)
	c.none("the text is there although it has stopped, or the other way round", `SELECT 1 FROM notifications n WHERE id = ? AND
		(stopped_at IS NULL) <> EXISTS (SELECT 1 FROM sealed_messages WHERE notification = n.id)`, id[:])
	c.none("a stop or a state that its calls contradict", `SELECT 1 FROM notifications n WHERE id = ? AND (
		stopped_at IS NULL AND EXISTS (SELECT 1 FROM attempts WHERE notification = n.id AND outcome IN ('accepted', 'refused'))
		OR (state = 'dispatching') > EXISTS (SELECT 1 FROM attempts WHERE notification = n.id AND outcome = 'pending')
		OR (state = 'dispatch_unknown') > EXISTS (SELECT 1 FROM attempts WHERE notification = n.id AND outcome = 'unknown'))`, id[:])
}

// permits: I2 and I3.
func (c checker) permits(id dispatch.NotificationID) {
	c.none("a call without its permit", `SELECT 1 FROM attempts a WHERE notification = ? AND NOT EXISTS (SELECT 1 FROM permits
		WHERE notification = a.notification AND n = a.number AND spent_at = a.started_at AND void_at IS NULL)`, id[:])
	c.none("a permit spent without a call", `SELECT 1 FROM permits p WHERE notification = ? AND spent_at IS NOT NULL AND NOT EXISTS
		(SELECT 1 FROM attempts WHERE notification = p.notification AND number = p.n)`, id[:])
	c.none("a permit without a verdict", `SELECT 1 FROM permits p WHERE notification = ? AND n > 1 AND NOT EXISTS (SELECT 1 FROM verdicts
		WHERE notification = p.notification AND attempt = p.n - 1 AND ruling = 'not_sent')`, id[:])
	c.none("an open permit where nothing waits, or none where something does", `SELECT 1 FROM notifications n WHERE id = ? AND (state = 'accepted') <>
		((SELECT count(*) FROM permits WHERE notification = n.id AND spent_at IS NULL AND void_at IS NULL) = 1)`, id[:])
	c.none("two open calls", `SELECT count(*) FROM attempts WHERE notification = ? AND outcome IN ('pending', 'unknown') HAVING count(*) > 1`, id[:])
	c.none("an outcome without its result or verdict", `SELECT 1 FROM attempts a WHERE notification = ? AND outcome <> 'pending' AND finished_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM verdicts WHERE notification = a.notification AND attempt = a.number AND ruling = 'sent')`, id[:])
}

// fold compares the row with what its events alone say.
func (c checker) fold(id dispatch.NotificationID) {
	var state, reason, kind, by, withdrawn sql.NullString
	var version, final, stopped, withdrawnAt, last int64
	rows, err := c.db.Query(`SELECT seq, at, by_kind, by_id, action, to_state, version, final, reason FROM events
		WHERE notification = ? AND version IS NOT NULL ORDER BY seq`, id[:])
	if err != nil {
		c.Fatalf("events: %v", err)
	}
	defer rows.Close()
	for rows.Next() {
		var at, v, f int64
		var byKind, byID, action string
		var to, why sql.NullString
		if err := rows.Scan(&last, &at, &byKind, &byID, &action, &to, &v, &f, &why); err != nil {
			c.Fatalf("event: %v", err)
		}
		if v != version+1 {
			c.Fatalf("version %d follows %d", v, version)
		}
		version, final = v, max(final, f)
		if action == "withdrawn" && withdrawnAt == 0 {
			withdrawnAt, withdrawn = at, why
		}
		if to.Valid {
			if stopped == 0 && dispatch.State(to.String).Stopped() {
				stopped, reason, kind.String, by.String = at, why, byKind, byID
			}
			state = to
		}
	}
	if err := rows.Err(); err != nil {
		c.Fatalf("events: %v", err)
	}
	folded := fmt.Sprint(state.String, reason.String, version, final, stopped, kind.String, by.String, withdrawnAt, withdrawn.String, last)
	if row := c.row(id); row != folded {
		c.Fatalf("the events give %s, stored is %s", folded, row)
	}
}

func (c checker) row(id dispatch.NotificationID) string {
	var state, reason, kind, by, withdrawn string
	var version, final, stopped, withdrawnAt, last int64
	err := c.db.QueryRow(`SELECT state, coalesce(reason, ''), version, final, coalesce(stopped_at, 0), coalesce(stopped_kind, ''),
		coalesce(stopped_id, ''), coalesce(withdrawn_at, 0), coalesce(withdrawn_reason, ''), last_seq FROM notifications WHERE id = ?`, id[:]).
		Scan(&state, &reason, &version, &final, &stopped, &kind, &by, &withdrawnAt, &withdrawn, &last)
	if err != nil {
		c.Fatalf("notification: %v", err)
	}
	return fmt.Sprint(state, reason, version, final, stopped, kind, by, withdrawnAt, withdrawn, last)
}
