package store_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

func TestClaimEndsWithTheLifeAndIsTakenOverWithAReason(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, _ := o.doubt()
	step := func(by dispatch.Person, s store.ClaimStep, note string) error {
		return o.WorkOn(o.Context(), store.ClaimOrder{Notification: r.ID, By: by, Step: s, Note: note})
	}
	held := func() store.WorkClaim {
		v, err := o.DecisionView(o.Context(), r.ID)
		o.must(err)
		return v.Claim
	}
	o.must(step(o.roe, store.ClaimTake, ""))
	if c := held(); c.Name != "A. Roe" || !c.Until.Equal(r.ExpiresAt) {
		t.Errorf("held by %q until %v, the life ends %v", c.Name, c.Until, r.ExpiresAt)
	}
	var why *dispatch.NotNowError
	if err := step(o.fox, store.ClaimTake, ""); !errors.As(err, &why) || !strings.Contains(why.Why, "A. Roe") {
		t.Errorf("claimed under another's hands: %v", err)
	}
	var form *dispatch.FormError
	if err := step(o.fox, store.ClaimTakeOver, ""); !errors.As(err, &form) {
		t.Errorf("taken over without a reason: %v", err)
	}
	o.must(step(o.fox, store.ClaimTakeOver, "Roe is at lunch"))
	o.must(step(o.roe, store.ClaimRelease, "")) // holds nothing any more
	if c := held(); c.Name != "B. Fox" {
		t.Errorf("held by %q", c.Name)
	}
	o.must(step(o.fox, store.ClaimRelease, ""))
	if c := held(); !c.Staff.IsZero() {
		t.Errorf("still held by %q", c.Name)
	}
	o.must(step(o.roe, store.ClaimTake, ""))
	o.MustAsk(o.T, r.ID, dispatch.Finding{Complete: true, Pages: 1, Candidates: []dispatch.Candidate{{MessageID: "SM-1"}}}, dispatch.Capabilities{})
	if got := o.MustGet(o.T, r.ID); got.State != dispatch.StateSent {
		t.Errorf("a claim held up the provider's proof: %s", got.State)
	}
	if err := step(o.fox, store.ClaimTake, ""); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("claimed what is settled: %v", err)
	}
}

func TestClaimNextTakesTheLeastLifeForOnePersonEach(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	late, _ := o.doubt()
	a := o.Admission()
	a.ExpiresAt = a.ExpiresAt.Add(-time.Minute)
	job := o.MustClaim(o.T, o.MustAdmit(o.T, a).ID)
	o.MustFinish(o.T, job, storetest.TimedOut())
	var wg sync.WaitGroup
	got := make([]dispatch.NotificationID, 2)
	for i, by := range []dispatch.Person{o.roe, o.fox} {
		wg.Go(func() {
			var err error
			if got[i], err = o.ClaimNext(o.Context(), by, "req"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got[0] == got[1] {
		t.Errorf("both got %s", got[0])
	}
	if id := job.Reference.Notification; got[0] != id && got[1] != id || got[0] != late.ID && got[1] != late.ID {
		t.Errorf("claimed %v", got)
	}
	if _, err := o.ClaimNext(o.Context(), o.lee, "req"); !errors.Is(err, dispatch.ErrNotFound) {
		t.Errorf("a third one: %v", err)
	}
}

func TestRevealedNumberIsOnRecordAndNowhereElse(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	a := o.Admission()
	r := o.MustAdmit(o.T, a)
	v := store.Reveal{Notification: r.ID, By: o.roe, Reason: "customer_on_the_line", RequestID: "req"}
	for name, change := range map[string]func(*store.Reveal){
		"an auditor":         func(v *store.Reveal) { v.By.Role = "auditor" },
		"no reason":          func(v *store.Reveal) { v.Reason = "" },
		"other, unexplained": func(v *store.Reveal) { v.Reason = "other" },
		"the number as note": func(v *store.Reveal) { v.Note = a.Recipient.Reveal() },
		"no such item":       func(v *store.Reveal) { v.Notification = dispatch.NotificationID{1} },
	} {
		bad := v
		change(&bad)
		if number, err := o.RevealNumber(o.Context(), bad); err == nil || !number.IsZero() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if o.events(dispatch.ActionRecipientRevealed) != 0 {
		t.Error("a refused request is on record as a reveal")
	}
	number, err := o.RevealNumber(o.Context(), v)
	o.must(err)
	if number.Reveal() != a.Recipient.Reveal() || o.events(dispatch.ActionRecipientRevealed) != 1 {
		t.Error("not the number, or not on record")
	}
}
