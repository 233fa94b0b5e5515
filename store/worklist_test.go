package store_test

import (
	"errors"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

func (o *office) list(w store.WorkQuery) (ids []dispatch.NotificationID, items []store.WorkItem) {
	o.Helper()
	if w.Limit == 0 {
		w.Limit = 50
	}
	items, err := o.Worklist(o.Context(), w)
	o.must(err)
	for _, i := range items {
		ids = append(ids, i.ID)
	}
	return ids, items
}

func TestWorklistTabsHoldWhatTheySay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	free, _ := o.doubt()
	o.Clock.Add(time.Second)
	mine, _ := o.doubt()
	o.must(o.WorkOn(o.Context(), store.ClaimOrder{Notification: mine.ID, By: o.roe, Step: store.ClaimTake}))
	o.Clock.Add(time.Second)
	waiting, _ := o.doubt()
	o.propose(waiting, o.fox)
	settled, _ := o.doubt()
	_, err := o.decide(settled, o.roe, dispatch.RulingSent, dispatch.NextClose)
	o.must(err)
	for tab, want := range map[store.WorkTab][]dispatch.NotificationID{
		store.WorkMine: {mine.ID}, store.WorkFree: {free.ID, waiting.ID}, store.WorkApproval: {waiting.ID},
		store.WorkAuto: {free.ID, mine.ID, waiting.ID}, store.WorkAll: {free.ID, mine.ID, waiting.ID}, store.WorkNever: nil,
		store.WorkResolved: {settled.ID},
	} {
		got, items := o.list(store.WorkQuery{Tab: tab, Me: o.roe.ID})
		if len(got) != len(want) {
			t.Errorf("%s holds %v, want %v", tab, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s holds %v, want %v", tab, got, want)
			}
		}
		if tab == store.WorkApproval && items[0].ProposalBy != "B. Fox" || tab == store.WorkMine && items[0].Claim.Name != "A. Roe" {
			t.Errorf("%s does not name the person: %+v", tab, items[0])
		}
	}
	c, err := o.WorkCounts(o.Context(), store.WorkQuery{Me: o.roe.ID})
	o.must(err)
	if c.ByTab[store.WorkAll] != 3 || c.ByTab[store.WorkMine] != 1 || c.ByTab[store.WorkApproval] != 1 || c.ByTab[store.WorkFree] != 2 {
		t.Errorf("counted %v", c.ByTab)
	}
	bursts, err := o.Bursts(o.Context())
	o.must(err)
	if len(bursts) > 2 {
		t.Errorf("bursts %+v", bursts)
	}
	o.Clock.Add(6 * time.Minute)
	_, err = o.EndLives(o.Context(), false, 10)
	o.must(err)
	if got, _ := o.list(store.WorkQuery{Tab: store.WorkNever}); len(got) != 3 {
		t.Errorf("%d ended and are not known", len(got))
	}
	if got, _ := o.list(store.WorkQuery{Tab: store.WorkAll}); len(got) != 0 {
		t.Errorf("%d are still open", len(got))
	}
}

func TestWorklistPagesMeetEachItemOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	want := map[dispatch.NotificationID]bool{}
	for range 7 {
		r, _ := o.doubt() // all lives end at the same instant
		want[r.ID] = true
	}
	for _, tab := range []store.WorkTab{store.WorkAll, store.WorkNever, store.WorkResolved} {
		seen := map[dispatch.NotificationID]bool{}
		var after store.WorkKey
		for range 10 {
			_, items := o.list(store.WorkQuery{Tab: tab, After: after, Limit: 2})
			for _, i := range items {
				if seen[i.ID] {
					t.Errorf("%s shows %s twice", tab, i.ID)
				}
				seen[i.ID] = true
				after = i.Key
			}
		}
		if len(seen) != len(want) {
			t.Errorf("%s shows %d of %d", tab, len(seen), len(want))
		}
		o.Clock.Add(6 * time.Minute)
		_, err := o.EndLives(o.Context(), false, 10)
		o.must(err)
	}
}

func (o *office) start(id dispatch.BulkID, by dispatch.Person, r dispatch.Ruling, next dispatch.Next, typed int) error {
	d := dispatch.Decision{Ruling: r, Next: next, Reason: "incident", EvidenceKind: "ticket", EvidenceRef: "INC-20415", Note: "outage of the provider"}
	return o.StartBulk(o.Context(), store.BulkStart{ID: id, By: by, Decision: d, Typed: typed, RequestID: "req"})
}

func (o *office) runBulks() {
	o.Helper()
	for {
		more, err := o.BulkStep(o.Context())
		o.must(err)
		if !more {
			return
		}
	}
}

func results(b store.Bulk) map[string]int {
	all := map[string]int{}
	for _, i := range b.Items {
		all[i.Result]++
	}
	return all
}

func TestBulkDecidesTheFrozenSetAndNothingElse(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	one, _ := o.doubt()
	moved, job := o.doubt()
	others, _ := o.doubt()
	o.must(o.WorkOn(o.Context(), store.ClaimOrder{Notification: others.ID, By: o.fox, Step: store.ClaimTake}))
	proposed, _ := o.doubt()
	o.propose(proposed, o.fox)
	id, err := o.FreezeBulk(o.Context(), store.BulkSelection{List: &store.WorkQuery{Tab: store.WorkAll}, What: "all", By: o.roe})
	o.must(err)
	late, _ := o.doubt()
	b, err := o.Bulk(o.Context(), id)
	o.must(err)
	if b.Count != 2 || len(b.Items) != 4 {
		t.Fatalf("%d to decide of %d", b.Count, len(b.Items))
	}
	var form *dispatch.FormError
	if err := o.start(id, o.roe, dispatch.RulingUndetermined, dispatch.NextClose, 3); !errors.As(err, &form) {
		t.Errorf("a wrong count: %v", err)
	}
	if err := o.start(id, o.fox, dispatch.RulingUndetermined, dispatch.NextClose, 2); !errors.Is(err, dispatch.ErrForbidden) {
		t.Errorf("another person's set: %v", err)
	}
	o.must(o.start(id, o.roe, dispatch.RulingUndetermined, dispatch.NextClose, 2))
	if err := o.start(id, o.roe, dispatch.RulingUndetermined, dispatch.NextClose, 2); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("the same form again: %v", err)
	}
	o.MustReport(o.T, job, "SM-late", dispatch.ReceiptDelivered)
	o.runBulks()
	if b, err = o.Bulk(o.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := results(b); got[store.BulkSettled] != 1 || got[store.BulkRefused] != 1 || b.FinishedAt.IsZero() {
		t.Errorf("%v, finished %v", got, b.FinishedAt)
	}
	for id, want := range map[dispatch.NotificationID]dispatch.State{one.ID: dispatch.StateCancelled, moved.ID: dispatch.StateDelivered,
		others.ID: dispatch.StateUnknown, proposed.ID: dispatch.StateUnknown, late.ID: dispatch.StateUnknown} {
		if got := o.MustGet(o.T, id); got.State != want {
			t.Errorf("%s is %s, want %s", id, got.State, want)
		}
	}
	if o.events(dispatch.ActionBulkStarted) != 1 || o.events(dispatch.ActionBulkFinished) != 1 {
		t.Error("the run is not in the log")
	}
}

func TestBulkToSendAgainOnlyProposes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, _ := o.doubt()
	id, err := o.FreezeBulk(o.Context(), store.BulkSelection{IDs: []dispatch.NotificationID{r.ID, r.ID, {7}}, What: "rows", By: o.lee})
	o.must(err)
	o.must(o.start(id, o.lee, dispatch.RulingNotSent, dispatch.NextSendAgain, 1))
	o.runBulks()
	b, err := o.Bulk(o.Context(), id)
	o.must(err)
	if got := results(b); got[store.BulkProposed] != 1 {
		t.Fatalf("%v", got)
	}
	v, err := o.DecisionView(o.Context(), r.ID)
	o.must(err)
	p := v.Circumstances.Open
	if p == nil || p.Bulk != id || len(v.Record.Permits) != 1 {
		t.Fatalf("%+v, %d permits", p, len(v.Record.Permits))
	}
	if err := o.answer(r, p.ID, o.lee, true); !errors.Is(err, dispatch.ErrForbidden) {
		t.Errorf("the one who decided for many approves: %v", err)
	}
}

func TestBulkGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for range 45 {
		o.doubt()
	}
	id, err := o.FreezeBulk(o.Context(), store.BulkSelection{List: &store.WorkQuery{Tab: store.WorkAll}, What: "all", By: o.roe})
	o.must(err)
	o.must(o.start(id, o.roe, dispatch.RulingUndetermined, dispatch.NextClose, 45))
	more, err := o.BulkStep(o.Context())
	o.must(err)
	b, err := o.Bulk(o.Context(), id)
	o.must(err)
	if got := results(b); !more || got[store.BulkSettled] != 20 {
		t.Fatalf("after one step: %v", got)
	}
	o.must(o.DB.Close(o.Context()))
	o.Reopen(o.T)
	o.runBulks()
	if b, err = o.Bulk(o.Context(), id); err != nil || results(b)[store.BulkSettled] != 45 {
		t.Errorf("after the restart: %v, %v", results(b), err)
	}
	if n := o.count(`SELECT count(*) FROM verdicts`); n != 45 {
		t.Errorf("%d verdicts", n)
	}
}

func TestBulkOfAnOldPreviewIsRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	a := o.Admission()
	a.ExpiresAt = o.Clock.Now().Add(2 * time.Hour)
	job := o.MustClaim(o.T, o.MustAdmit(o.T, a).ID)
	o.MustFinish(o.T, job, storetest.TimedOut())
	id, err := o.FreezeBulk(o.Context(), store.BulkSelection{List: &store.WorkQuery{Tab: store.WorkAll}, What: "all", By: o.roe})
	o.must(err)
	o.Clock.Add(31 * time.Minute)
	if err := o.start(id, o.roe, dispatch.RulingUndetermined, dispatch.NextClose, 1); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("decided after half an hour: %v", err)
	}
}
