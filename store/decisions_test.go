package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/store/storetest"
)

// office is a store with people in it.
type office struct {
	*storetest.Store
	*testing.T
	roe, lee, fox dispatch.Person // support, compliance, support
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{Store: storetest.Open(t), T: t}
	o.roe = o.person("A. Roe", "roe@example.org", store.RoleSupport)
	o.lee = o.person("C. Lee", "lee@example.org", store.RoleCompliance)
	o.fox = o.person("B. Fox", "fox@example.org", store.RoleSupport)
	return o
}

func (o *office) must(err error) {
	o.Helper()
	if err != nil {
		o.T.Fatal(err)
	}
}

func (o *office) person(name, email string, role store.Role) dispatch.Person {
	o.Helper()
	id, err := o.AddStaff(o.Context(), store.NewStaff{Email: email, Name: name, Role: role, PasswordHash: "x",
		By: dispatch.Actor{Kind: dispatch.ActorOperator}})
	o.must(err)
	return dispatch.Person{ID: id, Email: email, Role: string(role)}
}

// doubt brings a new notification into doubt.
func (o *office) doubt() (dispatch.Record, dispatch.Job) {
	o.Helper()
	job := o.MustClaim(o.T, o.MustAdmit(o.T, o.Admission()).ID)
	o.MustFinish(o.T, job, storetest.TimedOut())
	return o.MustGet(o.T, job.Reference.Notification), job
}

func decisionOn(r dispatch.Record, ruling dispatch.Ruling, next dispatch.Next) dispatch.Decision {
	return dispatch.Decision{Attempt: r.Attempts[len(r.Attempts)-1].ID, Version: r.Version, Ruling: ruling, Next: next, Reason: "provider_log",
		EvidenceKind: "provider_log", EvidenceRef: "console row A-47", Note: "seen in the console"}
}

func (o *office) decide(r dispatch.Record, by dispatch.Person, ruling dispatch.Ruling, next dispatch.Next) (store.Decided, error) {
	return o.Decide(o.Context(), store.PersonDecides{Notification: r.ID, Decision: decisionOn(r, ruling, next), By: by, RequestID: "req"})
}

// propose makes a proposal and returns its id.
func (o *office) propose(r dispatch.Record, by dispatch.Person) dispatch.ProposalID {
	o.Helper()
	out, err := o.decide(r, by, dispatch.RulingNotSent, dispatch.NextSendAgain)
	o.must(err)
	if out.Settled || out.Proposal.IsZero() {
		o.Fatalf("a proposal became %+v", out)
	}
	return out.Proposal
}

func (o *office) answer(r dispatch.Record, p dispatch.ProposalID, by dispatch.Person, approve bool) error {
	return o.AnswerProposal(o.Context(), store.ProposalAnswer{Notification: r.ID, Proposal: p, Approve: approve,
		Word: dispatch.SecondWord{By: by, Version: r.Version, Note: "checked with the provider"}})
}

// count counts rows.
func (o *office) count(query string, args ...any) (n int) {
	o.Helper()
	o.must(o.Readers().QueryRowContext(o.Context(), query, args...).Scan(&n))
	return n
}

func (o *office) events(action dispatch.Action) int {
	o.Helper()
	return o.count(`SELECT count(*) FROM events WHERE action = ?`, string(action))
}

func TestVerdictOfAPersonIsStoredWithItsEvidence(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, _ := o.doubt()
	out, err := o.decide(r, o.roe, dispatch.RulingSent, dispatch.NextClose)
	o.must(err)
	after := o.MustGet(o.T, r.ID)
	if !out.Settled || after.State != dispatch.StateSent || after.Attempts[0].Outcome != dispatch.OutcomeAccepted {
		t.Errorf("%+v: %s, %s", out, after.State, after.Attempts[0].Outcome)
	}
	if n := o.count(`SELECT count(*) FROM verdicts WHERE grade = 'human' AND evidence_ref = 'console row A-47' AND by_id = ?`, o.roe.ID.String()); n != 1 {
		t.Errorf("%d verdicts", n)
	}
	if _, err := o.decide(r, o.roe, dispatch.RulingSent, dispatch.NextClose); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("the same form again: %v", err)
	}
}

func TestProposalWaitsForASecondPersonAndIsApprovedOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, _ := o.doubt()
	p := o.propose(r, o.roe)
	if got := o.MustGet(o.T, r.ID); got.State != dispatch.StateUnknown || got.Version != r.Version {
		t.Fatalf("the proposal moved it to %s, version %d", got.State, got.Version)
	}
	if _, err := o.decide(r, o.fox, dispatch.RulingNotSent, dispatch.NextSendAgain); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("a second proposal beside the first: %v", err)
	}
	for name, by := range map[string]dispatch.Person{"the proposer": o.roe, "support": o.fox,
		"the proposer as compliance": {ID: o.roe.ID, Email: "else@example.org", Role: dispatch.RoleCompliance}} {
		if err := o.answer(r, p, by, true); !errors.Is(err, dispatch.ErrForbidden) {
			t.Errorf("%s approves: %v", name, err)
		}
	}
	o.must(o.answer(r, p, o.lee, true))
	after := o.MustGet(o.T, r.ID)
	if after.State != dispatch.StateAccepted || len(after.Permits) != 2 {
		t.Fatalf("after the approval: %s, %d permits", after.State, len(after.Permits))
	}
	if n := o.count(`SELECT count(*) FROM verdicts WHERE by_id = ? AND approved_id = ?`, o.roe.ID.String(), o.lee.ID.String()); n != 1 {
		t.Errorf("%d verdicts name both people", n)
	}
	for _, approve := range []bool{true, false} {
		if err := o.answer(after, p, o.lee, approve); !errors.Is(err, dispatch.ErrStale) {
			t.Errorf("answered again (%v): %v", approve, err)
		}
	}
	if o.events(dispatch.ActionProposalMade) != 1 || o.events(dispatch.ActionProposalApproved) != 1 || o.events(dispatch.ActionProposalVoided) != 0 {
		t.Error("the log does not tell the story of the proposal")
	}
}

func TestDeclinedProposalCannotBeApproved(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, _ := o.doubt()
	p := o.propose(r, o.roe)
	o.must(o.answer(r, p, o.lee, false))
	if err := o.answer(r, p, o.lee, true); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("approved after the decline: %v", err)
	}
	if got := o.MustGet(o.T, r.ID); got.State != dispatch.StateUnknown || len(got.Permits) != 1 {
		t.Errorf("it is %s with %d permits", got.State, len(got.Permits))
	}
	o.propose(r, o.fox)
}

func TestProposalIsVoidWhenAnythingIsLearned(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		want  dispatch.Action
		learn func(*office, dispatch.Record, dispatch.Job)
	}{
		"a receipt": {dispatch.ActionProposalVoided, func(o *office, _ dispatch.Record, job dispatch.Job) {
			o.MustReport(o.T, job, "SM-late", dispatch.ReceiptDelivered)
		}},
		"another's verdict": {dispatch.ActionProposalVoided, func(o *office, r dispatch.Record, _ dispatch.Job) {
			_, err := o.decide(r, o.fox, dispatch.RulingUndetermined, dispatch.NextClose)
			o.must(err)
		}},
		"a withdrawal": {dispatch.ActionProposalVoided, func(o *office, r dispatch.Record, _ dispatch.Job) { o.MustWithdraw(o.T, r.ID) }},
		"the end of its life": {dispatch.ActionProposalLapsed, func(o *office, _ dispatch.Record, _ dispatch.Job) {
			o.Clock.Add(6 * time.Minute)
			_, err := o.EndLives(o.Context(), false, 10)
			o.must(err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			r, job := o.doubt()
			p := o.propose(r, o.roe)
			tt.learn(o, r, job)
			if o.events(tt.want) != 1 {
				t.Errorf("no event %s", tt.want)
			}
			now := o.MustGet(o.T, r.ID)
			if err := o.answer(now, p, o.lee, true); !errors.Is(err, dispatch.ErrStale) {
				t.Errorf("approved: %v", err)
			}
			if len(now.Permits) != 1 {
				t.Errorf("%d permits", len(now.Permits))
			}
		})
	}
}

func TestEmptyLookupsVoidNoProposal(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, _ := o.doubt()
	p := o.propose(r, o.roe)
	o.MustAsk(o.T, r.ID, dispatch.Finding{Complete: true, Pages: 1}, dispatch.Capabilities{})
	o.must(o.answer(r, p, o.lee, true))
}

func TestApprovedByManyAtOnceHasOneEffect(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, _ := o.doubt()
	p := o.propose(r, o.roe)
	var ok atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			switch err := o.answer(r, p, o.lee, true); {
			case err == nil:
				ok.Add(1)
			case !errors.Is(err, dispatch.ErrStale):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := o.MustGet(o.T, r.ID); ok.Load() != 1 || len(got.Permits) != 2 || o.events(dispatch.ActionProposalApproved) != 1 {
		t.Errorf("%d approvals took effect, %d permits", ok.Load(), len(got.Permits))
	}
}

func TestFieldF21_LateReceiptStopsTheQueuedResend(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, job := o.doubt()
	o.must(o.answer(r, o.propose(r, o.roe), o.lee, true))
	o.MustReport(o.T, job, "SM-late", dispatch.ReceiptDelivered)
	after := o.MustGet(o.T, r.ID)
	if after.State != dispatch.StateDelivered || after.Permits[1].Open() {
		t.Errorf("it is %s, the second permit is %+v", after.State, after.Permits[1])
	}
	if len(after.Incidents) != 1 || after.Incidents[0].Kind != dispatch.IncidentContradiction {
		t.Errorf("the conflict is not shown: %+v", after.Incidents)
	}
	if _, err := o.Claim(o.Context(), storetest.Order(r.ID)); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("the queued resend was claimed: %v", err)
	}
	i := after.Incidents[0]
	w := dispatch.SecondWord{By: o.lee, Version: after.Version, Note: "the log row belonged to another message"}
	o.must(o.CloseIncident(o.Context(), r.ID, i.ID, w, "req"))
	closed := o.MustGet(o.T, r.ID)
	if c := closed.Incidents[0]; c.ClosedBy != o.lee.Actor() || c.Why != w.Note || closed.Version != after.Version+1 {
		t.Errorf("closed as %+v, version %d after %d", c, closed.Version, after.Version)
	}
	w.Version = closed.Version
	if err := o.CloseIncident(o.Context(), r.ID, i.ID, w, "req"); !errors.Is(err, dispatch.ErrStale) {
		t.Errorf("closed twice: %v", err)
	}
}

func TestFourEyesFollowTheSettings(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	set := func(name, value string) {
		o.must(o.Write(o.Context(), "set", func(tx *store.Tx) error {
			_, err := tx.Exec(`INSERT INTO settings (name, version, value, set_at, by_kind, by_id, note)
				SELECT ?, 1 + coalesce((SELECT max(version) FROM settings WHERE name = ?1), 0), ?, 0, 'operator', '', ''`, name, value)
			return err
		}))
	}
	r, _ := o.doubt()
	p := o.propose(r, o.roe)
	set(store.SettingSupportApproves, "on")
	o.must(o.answer(r, p, o.fox, true))
	set(store.SettingFourEyes, "off")
	r, _ = o.doubt()
	out, err := o.decide(r, o.roe, dispatch.RulingNotSent, dispatch.NextSendAgain)
	o.must(err)
	if got := o.MustGet(o.T, r.ID); !out.Settled || len(got.Permits) != 2 || o.count(`SELECT count(*) FROM proposals WHERE state = 'single'`) != 1 {
		t.Errorf("without a second person: %+v, %d permits", out, len(got.Permits))
	}
	set(store.SettingFourEyes, "whatever")
	r, _ = o.doubt()
	o.propose(r, o.roe)
}

// Whatever the code does, the schema lets nobody send again alone.
func TestSchemaRefusesToSendAgainOnOnePersonsWord(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r, _ := o.doubt()
	p := o.propose(r, o.roe)
	verdict := `INSERT INTO verdicts (id, notification, attempt, ruling, grade, next, reason_code, evidence_kind, evidence_ref, note, by_kind, by_id,
		approved_kind, approved_id, at) VALUES (randomblob(16), ?1, 1, 'not_sent', 'human', 'send_again', 'other', 'ticket', 'x', 'x', 'staff', ?2, ?3, ?4, ?5)`
	end := `UPDATE proposals SET state = 'approved', ended_at = ?5, ended_staff = ?6, ended_by = ?4 WHERE id = ?7`
	now := o.Clock.Now().UnixMilli()
	try := func(name, query string, args ...any) {
		t.Helper()
		err := o.Write(o.Context(), "attack", func(tx *store.Tx) error {
			_, err := tx.Exec(query, args...)
			return err
		})
		if err == nil {
			t.Errorf("%s went through", name)
		}
	}
	roe, lee := o.roe.ID.String(), o.lee.ID.String()
	try("a verdict without an approval", verdict, r.ID[:], roe, nil, nil, now)
	try("a verdict that claims an approval", verdict, r.ID[:], roe, "staff", lee, now)
	try("the proposer approves", end, nil, nil, nil, roe, now, o.roe.ID[:], p[:])
	try("under another's name", end, nil, nil, nil, lee, now, o.roe.ID[:], p[:])
	try("nobody approves", end, nil, nil, nil, "stf_x", now, make([]byte, 16), p[:])
	try("deleted", `DELETE FROM proposals`)
	try("turned into a single one", `UPDATE proposals SET state = 'single', ended_at = ?`, now)
}
