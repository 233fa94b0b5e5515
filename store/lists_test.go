package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// pages walks a list to its end and returns the ids in the order in which they were shown.
func pages(t *testing.T, s *storetest.Store, f store.Filter, size int, between func(page int)) (ids []dispatch.NotificationID) {
	t.Helper()
	cut := store.Cut{Limit: size}
	for n := 0; ; n++ {
		p, err := s.List(t.Context(), f, cut)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Rows {
			ids = append(ids, r.ID)
		}
		if !p.Older {
			return ids
		}
		cut.Before = p.Rows[len(p.Rows)-1].ID
		between(n)
	}
}

// 205 within one millisecond, more of them arriving and moving while the pages are read.
func TestFieldF51_PagingIsCompleteWhileRowsArriveAndMove(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	var originals []dispatch.NotificationID
	for range 205 {
		originals = append(originals, s.MustAdmit(t, s.Admission()).ID)
	}
	s.Clock.Add(time.Millisecond)
	seen := pages(t, s, store.Filter{}, 50, func(page int) {
		for i := range 25 {
			r := s.MustAdmit(t, s.Admission())
			if i%5 == 0 {
				s.MustFinish(t, s.MustClaim(t, r.ID), storetest.Taken(fmt.Sprintf("SM-%d-%d", page, i)))
			}
		}
		for i := range 10 {
			s.MustClaim(t, originals[page*10+i])
		}
	})
	if len(seen) != len(originals) {
		t.Fatalf("%d rows shown, %d were there", len(seen), len(originals))
	}
	for _, id := range originals {
		if n := count(seen, id); n != 1 {
			t.Fatalf("%s was shown %d times", id, n)
		}
	}
	back, err := s.List(t.Context(), store.Filter{}, store.Cut{After: seen[99], Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range back.Rows {
		if r.ID != seen[49+i] {
			t.Fatalf("the way back shows %s at %d, the way there %s", r.ID, i, seen[49+i])
		}
	}
	if !back.Newer || !back.Older {
		t.Errorf("a page in the middle says newer %v, older %v", back.Newer, back.Older)
	}
}

func count[T comparable](all []T, one T) (n int) {
	for _, v := range all {
		if v == one {
			n++
		}
	}
	return n
}

// filters are lists of every kind over a history, with the statement that says the same in plain words.
func filters(s *storetest.Store, at time.Time, rcp dispatch.RecipientRef) map[string]struct {
	f     store.Filter
	plain string
} {
	type pair = struct {
		f     store.Filter
		plain string
	}
	hex := func(b []byte) string { return fmt.Sprintf("x'%x'", b) }
	return map[string]pair{
		"all":        {store.Filter{}, `1`},
		"one state":  {store.Filter{States: []dispatch.State{dispatch.StateSent}}, `state = 'sent'`},
		"states":     {store.Filter{States: []dispatch.State{dispatch.StateSent, dispatch.StateExpired, dispatch.StateFailed}}, `state IN ('sent', 'expired', 'failed')`},
		"reason":     {store.Filter{Reason: dispatch.ReasonOutcomeUnknown}, `reason = 'outcome_unknown'`},
		"taken":      {store.Filter{Reason: dispatch.ReasonProviderAccepted}, `reason = 'provider_accepted'`},
		"client":     {store.Filter{Client: s.Client}, `client = ` + hex(s.Client[:])},
		"recipient":  {store.Filter{Recipient: rcp}, `recipient = ` + hex(rcp[:])},
		"provider":   {store.Filter{Provider: "main"}, `EXISTS (SELECT 1 FROM attempts WHERE notification = notifications.id AND provider = 'main')`},
		"elsewhere":  {store.Filter{Provider: "other"}, `0`},
		"again":      {store.Filter{Attempts: 2}, `(SELECT count(*) FROM attempts WHERE notification = notifications.id) >= 2`},
		"called":     {store.Filter{Attempts: 1}, `(SELECT count(*) FROM attempts WHERE notification = notifications.id) >= 1`},
		"purpose":    {store.Filter{Purpose: "login"}, `purpose = 'login'`},
		"from":       {store.Filter{From: at}, fmt.Sprintf(`accepted_at >= %d`, at.UnixMilli())},
		"to":         {store.Filter{To: at}, fmt.Sprintf(`accepted_at < %d`, at.UnixMilli())},
		"everything": {store.Filter{States: dispatch.States(), Client: s.Client, Provider: "main", Attempts: 1, From: at.Add(-time.Hour)}, `EXISTS (SELECT 1 FROM attempts WHERE notification = notifications.id)`},
	}
}

// Each filter, forwards and backwards and counted, gives what a plain statement over the whole table gives.
func TestListsShowWhatTheirFilterSays(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	s.History(t)
	a := s.Admission()
	a.Purpose = "login"
	r := s.MustAdmit(t, a)
	for name, c := range filters(s, r.AcceptedAt, r.Recipient) {
		var want []dispatch.NotificationID
		rows, err := s.Readers().QueryContext(t.Context(), `SELECT id FROM notifications WHERE `+c.plain+` ORDER BY id DESC`)
		if err != nil {
			t.Fatal(name, err)
		}
		for rows.Next() {
			var id []byte
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			want = append(want, dispatch.NotificationID(id))
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if got := pages(t, s, c.f, 2, func(int) {}); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
		}
		if n, err := s.CountList(t.Context(), c.f, 10_000); err != nil || n != len(want) {
			t.Errorf("%s: counted %d, %v; want %d", name, n, err, len(want))
		}
		for i, id := range want {
			newer, older, err := s.Neighbours(t.Context(), c.f, id)
			var wantNewer, wantOlder dispatch.NotificationID
			if i > 0 {
				wantNewer = want[i-1]
			}
			if i < len(want)-1 {
				wantOlder = want[i+1]
			}
			if err != nil || newer != wantNewer || older != wantOlder {
				t.Errorf("%s: the neighbours of row %d are wrong (%v)", name, i, err)
			}
		}
		if len(want) > 2 {
			if n, err := s.CountNewer(t.Context(), c.f, want[2], 10); err != nil || n != 2 {
				t.Errorf("%s: %d newer than the third, %v", name, n, err)
			}
		}
	}
	if n, err := s.CountList(t.Context(), store.Filter{}, 3); err != nil || n != 4 {
		t.Errorf("a count beyond its limit is %d, %v; want limit + 1", n, err)
	}
}

// The last millisecond of a range belongs to it, the first one after it does not.
func TestFieldF49_ARangeIsHalfOpenToTheMillisecond(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	day := s.Clock.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
	var inside []dispatch.NotificationID
	for _, at := range []time.Duration{-time.Millisecond, 0, time.Hour, 24*time.Hour - time.Millisecond, 24 * time.Hour} {
		s.Clock.Add(day.Add(at).Sub(s.Clock.Now()))
		r := s.MustAdmit(t, s.Admission())
		if at >= 0 && at < 24*time.Hour {
			inside = append([]dispatch.NotificationID{r.ID}, inside...)
		}
	}
	if got := pages(t, s, store.Filter{From: day, To: day.Add(24 * time.Hour)}, 10, func(int) {}); !slices.Equal(got, inside) {
		t.Errorf("the day has %v, want %v", got, inside)
	}
}

// Whatever the list, it is found by its index and cut by the id: nothing is sorted, skipped or scanned but the index itself.
func TestListsAreReadFromTheirIndexes(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	at := s.Clock.Now()
	uses := map[string]string{
		"all": "USING COVERING INDEX sqlite_autoindex_notifications_1", "one state": "notifications_state (state=? AND id<?)",
		"states": "notifications_state (state=? AND id<?)", "reason": "notifications_reason (reason=? AND id<?)",
		"taken": "sqlite_autoindex_notifications_1 (id<?)", "client": "notifications_client (client=? AND id<?)",
		"recipient": "notifications_recipient (recipient=? AND id<?)", "provider": "attempts_provider (provider=? AND notification<?)",
		"again": "attempts_again (number=? AND notification<?)", "purpose": "sqlite_autoindex_notifications_1 (id<?)",
		"from": "sqlite_autoindex_notifications_1 (id>? AND id<?)", "to": "sqlite_autoindex_notifications_1 (id<?)",
	}
	for name, c := range filters(s, at, dispatch.RecipientRef{1}) {
		for _, query := range s.ListStatements(t.Context(), c.f, dispatch.NotificationID{1}) {
			if strings.Contains(strings.ToUpper(query.SQL), "OFFSET") {
				t.Errorf("%s uses OFFSET", name)
			}
			plan := planOf(t, s, query.SQL, query.Args...)
			if want := uses[name]; want != "" && !strings.Contains(plan, want) {
				t.Errorf("%s is not read by %s:\n%s", name, want, plan)
			}
			sorted := strings.Contains(plan, "USE TEMP B-TREE FOR ORDER BY")
			if merged := strings.Contains(query.SQL, "UNION ALL"); sorted && !merged {
				t.Errorf("%s is sorted:\n%s", name, plan)
			}
		}
	}
}

// The indexes of the pages are no better plan for the engine: its statements keep their own.
func TestTheEngineKeepsItsOwnIndexes(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for query, want := range map[string]string{
		`SELECT id FROM notifications WHERE state = 'accepted' AND expires_at <= 1 ORDER BY expires_at LIMIT 1`:                                 "notifications_ends (expires_at<?)",
		`SELECT id FROM notifications WHERE state = 'dispatch_unknown' AND expires_at <= 1 ORDER BY expires_at LIMIT 1`:                         "notifications_doubts (expires_at<?)",
		`SELECT id FROM notifications WHERE state = 'sent' AND final = 0 AND stopped_at <= 1 ORDER BY stopped_at LIMIT 1`:                       "notifications_unreported (stopped_at<?)",
		`SELECT id FROM notifications WHERE state = 'accepted' AND client = x'00' AND due_at <= 1 ORDER BY due_at LIMIT 1`:                      "notifications_due (client=? AND due_at<?)",
		`SELECT id FROM notifications WHERE client = x'00' AND event_id = 'e' ORDER BY id`:                                                      "(client=? AND event_id=?)",
		`SELECT id FROM notifications WHERE client = x'00' AND subject = x'01' ORDER BY rowid DESC LIMIT 100`:                                   "notifications_subject (client=? AND subject=?)",
		`SELECT 1 FROM notifications n JOIN attempts a ON a.notification = n.id WHERE n.recipient = x'00' AND n.id <> x'' AND a.provider = 'p'`: "notifications_recipient (recipient=?)",
		`SELECT number FROM attempts WHERE message_id = 'm' AND provider = 'p' ORDER BY started_at LIMIT 1`:                                     "attempts_message (message_id=?)",
	} {
		if plan := planOf(t, s, query); !strings.Contains(plan, want) {
			t.Errorf("%s\nis not read by %s:\n%s", query, want, plan)
		}
	}
}

func planOf(t *testing.T, s *storetest.Store, query string, args ...any) (plan string) {
	t.Helper()
	rows, err := s.Readers().QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail + "\n"
	}
	return plan
}
