package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// Instants are stored as numbers: neither the zone in which somebody wrote one nor this process's own zone makes a difference.
func TestFieldF47_ZonesMakeNoDifference(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	s.History(t)
	a := s.Admission()
	a.OccurredAt = s.Clock.Now().Add(-time.Second)
	for i, zone := range []*time.Location{time.UTC, time.FixedZone("NPT", 5*3600+45*60), time.FixedZone("", -5*3600), time.Local} {
		b := a
		b.ExpiresAt, b.OccurredAt = a.ExpiresAt.In(zone), a.OccurredAt.In(zone)
		r, replayed, err := s.Admit(t.Context(), b)
		if err != nil || replayed != (i > 0) {
			t.Fatalf("in %s: replayed %t, %v", zone, replayed, err)
		}
		for _, at := range []time.Time{r.ExpiresAt, r.AcceptedAt, r.OccurredAt} {
			if at.Location() != time.UTC {
				t.Errorf("%v is not in UTC", at)
			}
		}
		if !r.ExpiresAt.Equal(a.ExpiresAt) || !r.OccurredAt.Equal(a.OccurredAt) {
			t.Errorf("in %s: it expires at %v, occurred at %v", zone, r.ExpiresAt, r.OccurredAt)
		}
	}
	for table, text := range schemaIn(t, s) {
		for _, column := range instants(text) {
			if n := dump(t, s.Readers(), "SELECT count(*) FROM "+table+" WHERE typeof("+column+") NOT IN ('integer', 'null')"); n[0] != "[0]" {
				t.Errorf("%s.%s has %s values that are not integers", table, column, n)
			}
		}
	}
	for _, name := range []string{"", "-wal"} {
		content, err := os.ReadFile(filepath.Join(s.Dir, store.FileName+name))
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{" m=+", "+0000 UTC", "+0545", "NPT"} {
			if bytes.Contains(content, []byte(word)) {
				t.Errorf("%s%s holds %q", store.FileName, name, word)
			}
		}
	}
}

// An event that is over when the writer gets to it is not accepted, however the check before it went.
func TestAdmissionThatExpiredInTheQueueIsRefused(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	a := s.Admission()
	s.Clock.Add(5 * time.Minute)
	_, _, err := s.Admit(t.Context(), a)
	var refused *dispatch.RefusalError
	if !errors.As(err, &refused) || refused.Rule != dispatch.RuleExpired {
		t.Fatalf("exactly at the expiry: %v", err)
	}
	if _, err := s.NotificationByKey(t.Context(), s.Client, a.IdempotencyKey); !errors.Is(err, dispatch.ErrNotFound) {
		t.Fatalf("reading it: %v", err)
	}
}

// At the expiry itself nothing is sent any more; a millisecond earlier the policy's least life decides.
func TestNothingIsClaimedWithTooLittleLife(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for _, c := range []struct {
		left time.Duration
		want error
	}{{2 * s.Policy.MinRemaining, nil}, {s.Policy.MinRemaining - time.Millisecond, dispatch.ErrStopped}, {0, dispatch.ErrStopped},
		{-time.Hour, dispatch.ErrStopped}} {
		r := s.MustAdmit(t, s.Admission())
		s.Clock.Add(r.Life(s.Clock.Now()) - c.left)
		_, err := s.Claim(t.Context(), storetest.Order(r.ID))
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("a claim with %v of life: %v", c.left, err)
		}
		if got := s.MustGet(t, r.ID); c.want != nil && (got.State != dispatch.StateExpired || got.Reason != dispatch.ReasonExpiredBeforeSend) {
			t.Errorf("with %v of life it became %s", c.left, got.State)
		}
	}
}

// instants lists the columns of a table that hold a point in time.
func instants(create string) (columns []string) {
	for _, word := range strings.Fields(create) {
		if !strings.Contains(word, "(") && (strings.HasSuffix(word, "_at") || word == "at" || word == "unknown_since") {
			columns = append(columns, word)
		}
	}
	return columns
}

// schemaIn returns the definitions of a store's tables.
func schemaIn(t *testing.T, s *storetest.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	rows, err := s.Readers().Query(`SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE '%STRICT%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}
