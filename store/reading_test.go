package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

func addStaff(t *testing.T, s *storetest.Store, name string, role store.Role) dispatch.StaffID {
	t.Helper()
	id, err := s.AddStaff(t.Context(), store.NewStaff{Email: strings.ToLower(name) + "@example.org", Name: name, Role: role, PasswordHash: "x",
		By: dispatch.Actor{Kind: dispatch.ActorOperator}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The counters are what counting would give, whatever the history: states by the hour of acceptance, doubts opened and settled, calls.
func TestCountersEqualCounting(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	s.History(t)
	s.Clock.Add(time.Hour)
	for range 3 {
		s.MustAdmit(t, s.Admission())
		job := s.MustClaim(t, s.MustAdmit(t, s.Admission()).ID)
		s.MustFinish(t, job, storetest.TimedOut())
		s.MustReport(t, job, "SM-late-"+job.Reference.Attempt.String(), dispatch.ReceiptDelivered)
	}
	if _, err := s.EndLives(t.Context(), false, 100); err != nil {
		t.Fatal(err)
	}
	from, to := s.Clock.Now().Add(-48*time.Hour), s.Clock.Now().Add(48*time.Hour)
	counters, err := s.Hourly(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range counters {
		got[fmt.Sprint(c.Hour.UnixMilli()/3_600_000, c.What)] = c.N
	}
	want := map[string]int{}
	sum(t, s, want, `SELECT accepted_at / 3600000, state, count(*) FROM notifications GROUP BY 1, 2`)
	sum(t, s, want, `SELECT unknown_since / 3600000, 'opened', count(*) FROM attempts WHERE unknown_since IS NOT NULL GROUP BY 1`)
	sum(t, s, want, `SELECT at / 3600000, 'settled:' || grade, count(*) FROM events e WHERE action = 'verdict_recorded'
		AND EXISTS (SELECT 1 FROM events o WHERE o.notification = e.notification AND o.attempt = e.attempt AND o.outcome = 'unknown' AND o.seq < e.seq)
		AND NOT EXISTS (SELECT 1 FROM events v WHERE v.notification = e.notification AND v.attempt = e.attempt AND v.action = 'verdict_recorded' AND v.seq < e.seq)
		GROUP BY 1, 2`)
	if len(want) < 8 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the counters say\n%v\ncounting says\n%v", got, want)
	}
	calls, err := s.Calls(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		var n int
		if err := s.Readers().QueryRow(`SELECT count(*) FROM attempts WHERE provider = ? AND outcome = ?`, c.Provider, c.Outcome).Scan(&n); err != nil || n != c.N {
			t.Errorf("calls: %+v, counted %d, %v", c, n, err)
		}
	}
	if len(calls) < 5 {
		t.Errorf("only %v", calls)
	}
}

func sum(t *testing.T, s *storetest.Store, into map[string]int, query string) {
	t.Helper()
	rows, err := s.Readers().Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var hour int64
		var what string
		var n int
		if err := rows.Scan(&hour, &what, &n); err != nil {
			t.Fatal(err)
		}
		into[fmt.Sprint(hour, what)] += n
	}
}

// A story has the whole history with the names of those who made it, and says so when it is cut.
func TestAStoryHasEventsEvidenceAndNames(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	all := s.History(t)
	story, err := s.Story(t.Context(), all["contradicted"])
	if err != nil {
		t.Fatal(err)
	}
	if story.Cut || len(story.Events) < 6 || len(story.Verdicts) == 0 || len(story.Receipts) != 1 || len(story.Incidents) == 0 ||
		story.Names.Clients[s.Client] != "shop" {
		t.Errorf("the story of a contradiction: %d events, %d verdicts, %d receipts, names %v", len(story.Events), len(story.Verdicts),
			len(story.Receipts), story.Names)
	}
	if !slices.IsSortedFunc(story.Events, func(a, b dispatch.Event) int { return int(a.Seq - b.Seq) }) {
		t.Error("the events are not in order")
	}
	if story, err = s.Story(t.Context(), all["absent"]); err != nil || len(story.Lookups) != 1 || story.Lookups[0].Result != dispatch.LookupAbsent {
		t.Errorf("the story of an absence: %+v, %v", story.Lookups, err)
	}
	if _, err := s.Story(t.Context(), dispatch.NotificationID{1}); !errors.Is(err, dispatch.ErrNotFound) {
		t.Errorf("nothing has a story: %v", err)
	}
}

func TestSearchFindsByEveryKindOfID(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	other := s.MustAdmit(t, s.Admission())
	job := s.MustClaim(t, s.MustAdmit(t, s.Admission()).ID)
	s.MustFinish(t, job, storetest.Taken("SM-found"))
	s.MustReport(t, job, "SM-found", dispatch.ReceiptDelivered)
	r := s.MustGet(t, job.Reference.Notification)
	story, err := s.Story(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	for text, kind := range map[string]string{r.ID.String(): "notification", strings.ToUpper(r.ID.String()): "notification",
		r.ID.String()[:29]: "notification", r.EventID: "event", r.IdempotencyKey: "idempotency_key", "SM-found": "provider_message",
		r.Attempts[0].ID.String(): "attempt", story.Receipts[0].ID.String(): "receipt"} {
		ids, got, err := s.Search(t.Context(), text)
		if err != nil || got != kind || len(ids) != 1 || ids[0] != r.ID {
			t.Errorf("%s: found %v by %q, %v", text, ids, got, err)
		}
	}
	ids, _, err := s.Search(t.Context(), r.ID.String()[:12])
	if err != nil || !slices.Contains(ids, r.ID) || !slices.Contains(ids, other.ID) {
		t.Errorf("a beginning finds %v, %v", ids, err)
	}
	for _, nothing := range []string{"", "x", "ntf_", "ntf_0", "att_", "%", "' OR 1", strings.Repeat("n", 4000)} {
		if ids, kind, err := s.Search(t.Context(), nothing); err != nil || len(ids) != 0 || kind != "text" {
			t.Errorf("%q finds %v by %q, %v", nothing, ids, kind, err)
		}
	}
	for _, text := range []string{r.ID.String(), r.EventID, r.Attempts[0].ID.String(), story.Receipts[0].ID.String()} {
		for _, q := range s.SearchStatements(text) {
			if plan := planOf(t, s, q.SQL, q.Args...); strings.Contains(plan, "SCAN notifications") || strings.Contains(plan, "SCAN attempts") ||
				strings.Contains(plan, "SCAN n\n") || strings.Contains(plan, "SCAN receipts") {
				t.Errorf("a search scans a table:\n%s\n%s", q.SQL, plan)
			}
		}
	}
}

// The log in pages is the log: whatever the filter, forwards and backwards.
func TestFieldF51_TheAuditLogInPagesIsComplete(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	all := s.History(t)
	person := dispatch.Actor{Kind: dispatch.ActorStaff, ID: addStaff(t, s, "Roe", store.RoleCompliance).String()}
	must(t, s.Note(t.Context(), dispatch.Event{By: person, Action: dispatch.ActionSearched, Cause: "number"}))
	middle, contradicted := s.Clock.Now(), all["contradicted"]
	for name, c := range map[string]struct {
		f     store.AuditFilter
		plain string
	}{
		"all":          {store.AuditFilter{}, `1`},
		"common":       {store.AuditFilter{Action: dispatch.ActionAccepted}, `action = 'accepted'`},
		"rare":         {store.AuditFilter{Action: dispatch.ActionVerdictRecorded}, `action = 'verdict_recorded'`},
		"person":       {store.AuditFilter{Actor: dispatch.ActorStaff}, `by_kind = 'staff'`},
		"this person":  {store.AuditFilter{Actor: person.Kind, ActorID: person.ID}, `by_id = '` + person.ID + `'`},
		"worker":       {store.AuditFilter{Actor: dispatch.ActorWorker}, `by_kind = 'worker'`},
		"client":       {store.AuditFilter{Client: s.Client}, `client IS NOT NULL`},
		"notification": {store.AuditFilter{Notification: all["contradicted"]}, fmt.Sprintf(`notification = x'%x'`, contradicted[:])},
		"from":         {store.AuditFilter{From: middle}, fmt.Sprintf(`at >= %d`, middle.UnixMilli())},
		"to":           {store.AuditFilter{To: middle}, fmt.Sprintf(`at < %d`, middle.UnixMilli())},
	} {
		var want, got []int64
		rows, err := s.Readers().Query(`SELECT seq FROM events WHERE ` + c.plain + ` ORDER BY seq DESC`)
		must(t, err)
		for rows.Next() {
			var seq int64
			must(t, rows.Scan(&seq))
			want = append(want, seq)
		}
		must(t, rows.Close())
		cut := store.AuditCut{Limit: 3}
		for {
			p, err := s.Audit(t.Context(), c.f, cut)
			must(t, err)
			for _, ev := range p.Events {
				got = append(got, ev.Seq)
			}
			if !p.Older {
				break
			}
			if cut.Before = p.Reached; p.Reached == 0 {
				cut.Before = p.Events[len(p.Events)-1].Seq
			}
			must(t, s.Note(t.Context(), dispatch.Event{At: middle.Add(time.Hour), By: dispatch.Worker(), Action: dispatch.ActionClockStepped}))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if len(want) > 4 {
			back, err := s.Audit(t.Context(), c.f, store.AuditCut{After: want[4], Limit: 2})
			if err != nil || len(back.Events) != 2 || back.Events[1].Seq != want[3] || back.Events[0].Seq != want[2] {
				t.Errorf("%s: the way back is wrong (%v)", name, err)
			}
		}
		query, args := s.AuditStatement(t.Context(), c.f, store.AuditCut{Limit: 3})
		plan := planOf(t, s, query, args...)
		if strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "seq>?") && !strings.Contains(plan, "rowid>?") {
			t.Errorf("%s is not cut by seq:\n%s", name, plan)
		}
	}
}

func TestViewsBelongToTheirOwner(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	roe, fox := addStaff(t, s, "Roe", store.RoleSupport), addStaff(t, s, "Fox", store.RoleSupport)
	save := func(owner dispatch.StaffID, name string, shared bool) dispatch.ViewID {
		id, err := s.SaveView(t.Context(), store.View{Owner: owner, Name: name, Query: "state=sent", Shared: shared})
		must(t, err)
		return id
	}
	own, shared := save(roe, "mine", false), save(roe, "ours", true)
	names := func(of dispatch.StaffID) (all []string) {
		views, err := s.Views(t.Context(), of)
		must(t, err)
		for _, v := range views {
			all = append(all, v.Name)
		}
		return all
	}
	if got := fmt.Sprint(names(roe), names(fox)); got != "[mine ours] [ours]" {
		t.Errorf("views: %s", got)
	}
	if err := s.DeleteView(t.Context(), fox, shared); !errors.Is(err, dispatch.ErrNotFound) {
		t.Errorf("another's view was deleted: %v", err)
	}
	if again := save(roe, "mine", false); again != own {
		t.Error("saving under the same name made another view")
	}
	must(t, s.DeleteView(t.Context(), roe, own))
	for i := range 49 {
		save(roe, fmt.Sprint(i), false)
	}
	if _, err := s.SaveView(t.Context(), store.View{Owner: roe, Name: "one too many", Query: ""}); !errors.Is(err, store.ErrFull) {
		t.Errorf("the 51st view: %v", err)
	}
}

func TestHoldsArePersistentAndEvents(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	by := dispatch.Actor{Kind: dispatch.ActorStaff, ID: addStaff(t, s, "Roe", store.RoleSupport).String()}
	h := store.ProviderHold{Provider: "main", By: by, Reason: "incident", Note: "they told us"}
	must(t, s.HoldProvider(t.Context(), h))
	if err := s.HoldProvider(t.Context(), h); !errors.Is(err, store.ErrExists) {
		t.Errorf("held twice: %v", err)
	}
	must(t, s.DB.Close(t.Context()))
	s.Reopen(t)
	all, err := s.ProviderHolds(t.Context())
	if err != nil || len(all) != 1 || all[0].ByName != "Roe" || all[0].Reason != "incident" {
		t.Errorf("after a restart: %+v, %v", all, err)
	}
	must(t, s.ReleaseProvider(t.Context(), "main", by))
	if err := s.ReleaseProvider(t.Context(), "main", by); !errors.Is(err, dispatch.ErrNotFound) {
		t.Errorf("released twice: %v", err)
	}
	p, err := s.Audit(t.Context(), store.AuditFilter{Actor: dispatch.ActorStaff}, store.AuditCut{Limit: 10})
	if err != nil || len(p.Events) != 2 || p.Events[1].Cause != "incident" || p.Events[0].Action != dispatch.ActionProviderResumed {
		t.Errorf("events: %+v, %v", p.Events, err)
	}
}

func TestSettingsAreSeededOnceVersionedAndRead(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	var cell store.PolicyCell
	seed := store.DefaultPolicy()
	seed.MinRemaining, seed.Countries = 50*time.Millisecond, []string{"AT", "DE"}
	must(t, s.SeedSettings(t.Context(), seed, &cell))
	if got := cell.Get(); fmt.Sprint(got) != fmt.Sprint(seed) {
		t.Fatalf("seeded %+v, read %+v", seed, got)
	}
	by := dispatch.Actor{Kind: dispatch.ActorStaff, ID: addStaff(t, s, "Roe", store.RoleAdmin).String()}
	change := store.SettingVersion{Name: "max_attempts", Version: 1, Value: "5", By: by, Note: "more tries"}
	must(t, s.ChangeSetting(t.Context(), change))
	if err := s.ChangeSetting(t.Context(), change); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("changed from a version that is not the newest: %v", err)
	}
	seed.MinRemaining = time.Hour
	must(t, s.SeedSettings(t.Context(), seed, &cell)) // the next start
	if got := cell.Get(); got.MaxAttempts != 5 || got.MinRemaining != 50*time.Millisecond {
		t.Errorf("the file overwrote what a person set: %+v", got)
	}
	history, err := s.SettingHistory(t.Context(), "max_attempts")
	if err != nil || len(history) != 2 || history[0].ByName != "Roe" || history[1].Value != "3" {
		t.Errorf("history: %+v, %v", history, err)
	}
	for _, spec := range store.SettingSpecs() {
		p := store.DefaultPolicy()
		if err := errors.Join(spec.Parse(spec.Default, &p), spec.Check(p)); err != nil || fmt.Sprint(p) != fmt.Sprint(store.DefaultPolicy()) {
			t.Errorf("%s does not take its default %q: %v", spec.Name, spec.Default, err)
		}
		for _, bad := range []string{"", "x", "-1", "9999999999999999999", "DEU", "DE;DROP", "99999h"} {
			if err := spec.Parse(bad, &p); err == nil && spec.Check(p) == nil {
				t.Errorf("%s takes %q", spec.Name, bad)
			}
		}
	}
}

func TestKeysRotateWithAnOverlapAndEndAtOnce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	by := dispatch.Actor{Kind: dispatch.ActorOperator}
	first, err := s.AddAPIKey(t.Context(), store.NewAPIKey{Client: s.Client, Name: "live", Scopes: []dispatch.Scope{dispatch.ScopeRead}, By: by})
	must(t, err)
	name, _, keys, err := s.APIKeys(t.Context(), s.Client)
	if err != nil || name != "shop" || len(keys) != 1 {
		t.Fatalf("keys: %s %+v, %v", name, keys, err)
	}
	change := store.KeyChange{Client: s.Client, Key: keys[0].ID, By: by}
	second, called, err := s.RotateAPIKey(t.Context(), change, time.Hour, time.Time{})
	if err != nil || called != "live (2)" {
		t.Fatalf("rotated to %q, %v", called, err)
	}
	valid := func(secret dispatch.Secret) bool {
		k, err := s.Authenticate(t.Context(), secret)
		return err == nil && fmt.Sprint(k.Scopes) == "[read]"
	}
	if !valid(first) || !valid(second) {
		t.Error("within the overlap both keys must work")
	}
	s.Clock.Add(time.Hour + time.Millisecond)
	if valid(first) || !valid(second) {
		t.Error("after the overlap the new one alone must work")
	}
	if err := s.RevokeAPIKey(t.Context(), change); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("a key that has ended was revoked: %v", err)
	}
	_, _, keys, err = s.APIKeys(t.Context(), s.Client)
	must(t, err)
	keys = slices.DeleteFunc(keys, func(k dispatch.APIKey) bool { return k.ID == change.Key })
	must(t, s.RevokeAPIKey(t.Context(), store.KeyChange{Client: s.Client, Key: keys[0].ID, By: by}))
	if valid(second) {
		t.Error("a revoked key still works")
	}
	if err := s.RevokeAPIKey(t.Context(), store.KeyChange{Client: dispatch.ClientID{1}, Key: keys[0].ID, By: by}); !errors.Is(err, dispatch.ErrNotFound) {
		t.Errorf("another client's key: %v", err)
	}
	all, err := s.Clients(t.Context(), s.Clock.Now().Add(-24*time.Hour))
	if err != nil || len(all) != 1 || all[0].Keys != 0 {
		t.Errorf("clients: %+v, %v", all, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
