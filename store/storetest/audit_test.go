package storetest_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"sentonce/store"
	"sentonce/store/storetest"
)

func TestTheAuditorFindsNothingInASoundHistory(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	all := s.History(t)
	book, err := storetest.Audit(t.Context(), filepath.Join(s.Dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if len(book.Findings) > 0 || len(book.Entries) != len(all) {
		t.Errorf("%d entries for %d notifications; findings:\n%s", len(book.Entries), len(all), strings.Join(book.Findings, "\n"))
	}
}

func TestTheAuditorFindsWhatTheTriggersWouldHaveStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ drop, spoil, says string }{
		"a gap":             {"events_delete", `DELETE FROM events WHERE seq = 3`, "gaps"},
		"a moved state":     {"notifications_update", `UPDATE notifications SET final = 1 - final WHERE state = 'sent'`, "the events say"},
		"a text kept":       {"sealed_messages_insert", `INSERT INTO sealed_messages SELECT id, 1, x'00' FROM notifications WHERE state = 'failed' LIMIT 1`, "I8"},
		"a stolen permit":   {"permits_update", `UPDATE permits SET spent_at = spent_at + 1 WHERE spent_at IS NOT NULL`, "I2"},
		"a call too late":   {"attempts_update", `UPDATE attempts SET validity_ms = validity_ms + 600000`, "I5"},
		"a lookup unsigned": {"events_update", `UPDATE events SET evidence_id = NULL WHERE evidence = 'lookup'`, "without its event"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			s.History(t)
			path := filepath.Join(s.Dir, store.FileName)
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, statement := range []string{`DROP TRIGGER ` + c.drop, c.spoil} {
				if _, err := db.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			book, err := storetest.Audit(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(book.Findings, "\n"); !strings.Contains(got, c.says) {
				t.Errorf("no finding says %q:\n%s", c.says, got)
			}
		})
	}
}
