package store_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// schemaOf returns the SQL of everything in a fresh database, by name.
func schemaOf(t *testing.T) map[string]string {
	t.Helper()
	s := storetest.Open(t)
	db, err := store.OpenPool(filepath.Join(s.Dir, store.FileName), true, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string]string{}
	rows, err := db.Query(`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		all[name] = strings.Join(strings.Fields(text), " ")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// words writes constants as the schema does.
func words[T ~string](all []T) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = string(w)
	}
	slices.Sort(list)
	return list
}

// quoted lists the quoted words of a text, sorted.
func quoted(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return all
}

// checked is the list of words that a column may hold.
func checked(t *testing.T, table, column string) []string {
	t.Helper()
	m := regexp.MustCompile(`\b` + column + ` TEXT(?: NOT NULL)? CHECK \(` + column + ` IN \(([^)]*)\)`).FindStringSubmatch(table)
	if m == nil {
		t.Fatalf("no list for %s in %s", column, table)
	}
	return quoted(m[1])
}

func TestSchemaListsTheConstantsOfTheDomain(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t)
	for _, c := range []struct {
		table, column string
		want          []string
	}{
		{"notifications", "state", words(dispatch.States())},
		{"notifications", "reason", words(dispatch.Reasons())},
		{"attempts", "outcome", words(dispatch.Outcomes())},
		{"attempts", "phase", words(dispatch.Phases())},
		{"attempts", "rule", words(dispatch.Rules())},
		{"attempts", "receipt", words(dispatch.ReceiptStatuses())},
		{"lookups", "result", words(dispatch.LookupResults())},
		{"receipts", "status", words(dispatch.ReceiptStatuses())},
		{"verdicts", "ruling", words(dispatch.Rulings())},
		{"verdicts", "grade", words(dispatch.Grades())},
		{"verdicts", "next", words([]dispatch.Next{dispatch.NextClose, dispatch.NextSendAgain})},
		{"incidents", "kind", words(dispatch.IncidentKinds())},
		{"events", "by_kind", words(dispatch.ActorKinds())},
		{"events", "reason", words(dispatch.Reasons())},
		{"events", "outcome", words(dispatch.Outcomes())},
		{"events", "grade", words(dispatch.Grades())},
		{"events", "evidence", words(dispatch.EvidenceKinds())},
		{"staff", "role", words(store.Roles())},
	} {
		if got := checked(t, schema[c.table], c.column); !slices.Equal(got, c.want) {
			t.Errorf("%s.%s lists %v, the domain %v", c.table, c.column, got, c.want)
		}
	}
}

func TestSchemaListsEveryAction(t *testing.T) {
	t.Parallel()
	var got []string
	rows, err := storetest.Open(t).Readers().QueryContext(t.Context(), `SELECT name FROM actions ORDER BY name`)
	for err == nil && rows.Next() {
		var name string
		err = rows.Scan(&name)
		got = append(got, name)
	}
	if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	if want := words(dispatch.Actions()); !slices.Equal(got, want) {
		t.Errorf("the schema lists %v, the domain %v", got, want)
	}
}

func TestSchemaListsTheStepsOfTheLifecycle(t *testing.T) {
	t.Parallel()
	var got, want []string
	check := schemaOf(t)["events"]
	for _, m := range regexp.MustCompile(`from_state = '(\w+)' AND to_state IN \(([^)]*)\)`).FindAllStringSubmatch(check, -1) {
		for _, to := range quoted(m[2]) {
			got = append(got, m[1]+" "+to)
		}
	}
	for _, s := range dispatch.Transitions() {
		want = append(want, string(s.From)+" "+string(s.To))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the schema has %v, the domain %v", got, want)
	}
}

func TestSchemaListsTheStepsOfAnOutcome(t *testing.T) {
	t.Parallel()
	var got, want []string
	trigger := schemaOf(t)["attempts_update"]
	step := regexp.MustCompile(`OLD\.outcome (?:= '(\w+)'|IN \(([^)]*)\)) AND NEW\.outcome (?:= '(\w+)'|IN \(([^)]*)\))`)
	for _, m := range step.FindAllStringSubmatch(trigger, -1) {
		for _, from := range quoted("'" + m[1] + "'" + m[2]) {
			for _, to := range quoted("'" + m[3] + "'" + m[4]) {
				if from != "" && to != "" {
					got = append(got, from+" "+to)
				}
			}
		}
	}
	for _, s := range dispatch.OutcomeSteps() {
		want = append(want, string(s.From)+" "+string(s.To))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the schema has %v, the domain %v", got, want)
	}
}

// The triggers tell a stop from a life by naming the three live states, and an open outcome by naming two.
func TestSchemaNamesTheLiveStatesAndTheOpenOutcomes(t *testing.T) {
	t.Parallel()
	var live, open []string
	for _, s := range dispatch.States() {
		if !s.Stopped() {
			live = append(live, string(s))
		}
	}
	for _, o := range dispatch.Outcomes() {
		if o.Open() {
			open = append(open, string(o))
		}
	}
	slices.Sort(live)
	slices.Sort(open)
	for name, text := range schemaOf(t) {
		for _, m := range regexp.MustCompile(`(?:to_state NOT IN|stopped_at IS NULL\) = \(state IN) \(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
			if got := quoted(m[1]); !slices.Equal(got, live) {
				t.Errorf("%s takes %v for the live states", name, got)
			}
		}
		for _, m := range regexp.MustCompile(`WHERE (?:notification = NEW.notification AND )?outcome IN \(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
			if got := quoted(m[1]); !slices.Contains(got, "accepted") && !slices.Equal(got, open) {
				t.Errorf("%s takes %v for the open outcomes", name, got)
			}
		}
	}
}

func TestEveryTableIsStrictAndHasNoLooseColumn(t *testing.T) {
	t.Parallel()
	tables := 0
	for name, text := range schemaOf(t) {
		if !strings.HasPrefix(text, "CREATE TABLE") {
			continue
		}
		tables++
		if !strings.HasSuffix(text, ") STRICT") && !strings.HasSuffix(text, ") STRICT, WITHOUT ROWID") {
			t.Errorf("%s is not STRICT", name)
		}
		if m := regexp.MustCompile(`\b(REAL|ANY|NUMERIC|FLOAT|DATETIME)\b`).FindString(text); m != "" {
			t.Errorf("%s has a column of type %s", name, m)
		}
		for _, m := range regexp.MustCompile(`\b(\w+_at|at|lookup_at|unknown_since) (\w+)`).FindAllStringSubmatch(text, -1) {
			if columnType := m[2]; columnType == "TEXT" || columnType == "BLOB" || columnType == "REAL" {
				t.Errorf("%s.%s is %s: instants are integer milliseconds", name, m[1], columnType)
			}
		}
	}
	if tables < 15 {
		t.Errorf("only %d tables were looked at", tables)
	}
}

// An OR REPLACE deletes without a trigger whatever it conflicts with. Rows of evidence therefore have no rowid, and every table whose rows are
// protected refuses INSERT of what exists, UPDATE and DELETE by triggers of its own.
func TestProtectedTablesHaveAllTheirGuards(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t)
	for _, table := range []string{"permits", "attempts", "lookups", "receipts", "verdicts", "incidents"} {
		if !strings.HasSuffix(schema[table], "WITHOUT ROWID") {
			t.Errorf("%s has rowids", table)
		}
	}
	for _, table := range []string{"notifications", "permits", "attempts", "lookups", "receipts", "verdicts", "incidents", "events"} {
		for _, verb := range []string{"insert", "update", "delete"} {
			if text := schema[table+"_"+verb]; !strings.Contains(text, "BEFORE "+strings.ToUpper(verb)+" ON "+table) {
				t.Errorf("%s has no guard against %s", table, verb)
			}
		}
	}
}

func TestEveryConnectionCarriesThePragmas(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	want := map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "secure_delete": "1", "trusted_schema": "0",
		"busy_timeout": "5000", "wal_autocheckpoint": "0", "cell_size_check": "1"}
	check := func(name string, read func(query string, dest *string) error) {
		for pragma, value := range want {
			var got string
			if err := read("PRAGMA "+pragma, &got); err != nil || got != value {
				t.Errorf("%s: %s = %q, %v; want %s", name, pragma, got, err, value)
			}
		}
	}
	if err := s.Write(t.Context(), "test", func(tx *store.Tx) error {
		check("writer", func(query string, dest *string) error { return tx.Row(query, dest) })
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	on := func(conn *sql.Conn) func(string, *string) error {
		return func(query string, dest *string) error { return conn.QueryRowContext(t.Context(), query).Scan(dest) }
	}
	check("checkpointer", on(s.Checkpointer()))
	want["query_only"] = "1"
	for range s.Readers().Stats().MaxOpenConnections { // all of them at once, so that each is another one
		conn, err := s.Readers().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		check("reader", on(conn))
	}
}
