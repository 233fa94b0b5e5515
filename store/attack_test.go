package store_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// attack is SQL that would break an invariant if anything let it. {name} stands for an id of the history, {now} for an instant, and {seq} for
// the next event's number. Each is tried with every conflict clause.
type attack struct {
	name   string
	guards string // the triggers without which it succeeds, by space; none: a constraint stops it
	sql    string
}

// victim is the database file of a history.
type victim struct {
	raw []byte
	ids map[string]dispatch.NotificationID
}

func newVictim(t *testing.T) victim {
	t.Helper()
	s := storetest.Open(t)
	v := victim{ids: s.History(t)}
	if err := s.DB.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	var err error
	if v.raw, err = os.ReadFile(filepath.Join(s.Dir, store.FileName)); err != nil {
		t.Fatal(err)
	}
	s.Reopen(t)
	return v
}

// copy opens a copy of the database on one connection with the given pragmas.
func (v victim) copy(t *testing.T, pragmas ...string) *sql.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "victim.db")
	if err := os.WriteFile(path, v.raw, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(0)&_pragma="+strings.Join(pragmas, "&_pragma="))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// variants fills in the ids and writes the attack with every conflict clause.
func (v victim) variants(query string) []string {
	for name, id := range v.ids {
		query = strings.ReplaceAll(query, "{"+name+"}", fmt.Sprintf("x'%x'", id[:]))
	}
	query = strings.ReplaceAll(query, "{now}", "1790000000000")
	query = strings.ReplaceAll(query, "{seq}", "(SELECT max(seq) + 1 FROM events)")
	all := []string{query}
	for _, clause := range []string{"REPLACE", "IGNORE", "ABORT", "FAIL", "ROLLBACK"} {
		w := strings.ReplaceAll(query, "INSERT INTO", "INSERT OR "+clause+" INTO")
		all = append(all, strings.ReplaceAll(w, "UPDATE !", "UPDATE OR "+clause+" "))
	}
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "UPDATE !", "UPDATE ")
	}
	all = slices.Compact(all)
	if raced {
		return all[:min(2, len(all))]
	}
	return all
}

// sample leaves out most attacks where the race detector runs.
func sample(all []attack) []attack {
	if !raced {
		return all
	}
	var some []attack
	for i := 0; i < len(all); i += 10 {
		some = append(some, all[i])
	}
	return some
}

// strike runs an attack in a transaction of its own.
func strike(t *testing.T, db *sql.DB, query string) error {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(query); err != nil {
		_ = tx.Rollback() // OR ROLLBACK has done it already
		return err
	}
	return tx.Commit()
}

func attackedTables() []string {
	return []string{"notifications", "permits", "attempts", "lookups", "receipts", "verdicts", "incidents", "events", "sealed_messages",
		"proposals", "settings"}
}

// digest stands for the content of every table that an invariant is about.
func digest(t *testing.T, db *sql.DB) [32]byte {
	t.Helper()
	h := sha256.New()
	for _, table := range attackedTables() {
		for _, row := range dump(t, db, "SELECT * FROM "+table+" ORDER BY 1, 2") {
			fmt.Fprintln(h, table, row)
		}
	}
	return [32]byte(h.Sum(nil))
}

// dump returns the rows of a query as text.
func dump(t testing.TB, db *sql.DB, query string, args ...any) (all []string) {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, ptrs := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			ptrs[i] = &cells[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%v", cells))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func allAttacks() []attack {
	return slices.Concat(attacksOnIdentity(), attacksOnPermits(), attacksOnCalls(), attacksOnOutcomes(), attacksOnEvents(), attacksOnEvidence(),
		attacksOnDecisions())
}

func TestRawSQLBreaksNoInvariantWhateverTheConnectionsSettings(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	for _, pragmas := range [][]string{
		{"foreign_keys(1)", "recursive_triggers(0)"},
		{"foreign_keys(0)", "recursive_triggers(0)"},
		{"foreign_keys(1)", "recursive_triggers(1)"},
		{"foreign_keys(0)", "recursive_triggers(1)"},
	} {
		t.Run(strings.Join(pragmas, " "), func(t *testing.T) {
			t.Parallel()
			db := v.copy(t, pragmas...)
			before := digest(t, db)
			for _, a := range sample(allAttacks()) {
				for _, query := range v.variants(a.sql) {
					if strike(t, db, query) != nil {
						continue
					}
					if after := digest(t, db); after != before {
						t.Errorf("%s succeeded:\n%s", a.name, query)
						before = after
					}
				}
			}
			if digest(t, db) != before {
				t.Error("a refused attack left something behind")
			}
		})
	}
}

// Each attack succeeds once its guards are gone: it is they that stop it, and not a mistake in the attack.
func TestRawSQLAttacksHaveTeeth(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	for _, a := range sample(allAttacks()) {
		if a.guards == "" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			var errs []error
			for _, query := range v.variants(a.sql) {
				db := v.copy(t, "foreign_keys(0)")
				before := digest(t, db)
				for _, guard := range strings.Fields(a.guards) {
					if _, err := db.Exec("DROP TRIGGER " + guard); err != nil {
						t.Fatal(err)
					}
				}
				err := strike(t, db, query)
				if digest(t, db) != before {
					return
				}
				errs = append(errs, err)
			}
			t.Fatalf("it fails without %s, too: %v", a.guards, errs)
		})
	}
}

// Every trigger that refuses something is the guard in some attack.
func TestEveryTriggerIsAttacked(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	attacked := map[string]bool{}
	for _, a := range allAttacks() {
		for _, guard := range strings.Fields(a.guards) {
			attacked[guard] = true
		}
	}
	var have []string
	for _, name := range dump(t, v.copy(t, "foreign_keys(0)"), `SELECT name FROM sqlite_master
		WHERE type = 'trigger' AND (sql LIKE '%RAISE(%' OR name IN ('attempts_spend', 'events_move')) ORDER BY 1`) {
		have = append(have, strings.Trim(name, "[]"))
	}
	if named := slices.Sorted(maps.Keys(attacked)); !slices.Equal(have, named) {
		t.Errorf("the triggers are\n%v, attacked are\n%v", have, named)
	}
}

// A connection can switch the CHECKs off. Even then nothing leads from a stop back to a permit or a call.
func TestStoppedNotificationGetsNoPermitWithoutTheChecks(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	db := v.copy(t, "foreign_keys(0)", "ignore_check_constraints(1)")
	for _, name := range []string{"sent", "delivered", "failed", "expired", "expired_in_doubt", "cancelled"} {
		for _, query := range v.variants(fmt.Sprintf(`
			INSERT INTO events (seq, at, by_kind, by_id, action, notification, from_state, to_state, version, final)
			SELECT {seq}, {now}, 'worker', '', 'verdict_recorded', id, state, 'accepted', version + 1, 0 FROM notifications WHERE id = {%s};
			INSERT INTO verdicts (id, notification, attempt, ruling, grade, next, reason_code, evidence_kind, evidence_ref, note, by_kind, by_id, at)
			SELECT randomblob(16), notification, number, 'not_sent', 'provider_denied', 'send_again', '', '', '', '', 'worker', '', {now} FROM attempts
			WHERE notification = {%[1]s} AND outcome <> 'accepted';
			INSERT INTO permits (notification, n, granted_at) SELECT notification, max(n) + 1, {now} FROM permits
			WHERE notification = {%[1]s}`, name)) {
			if err := strike(t, db, query); err == nil {
				t.Errorf("%s got a new permit:\n%s", name, query)
			}
		}
	}
}
