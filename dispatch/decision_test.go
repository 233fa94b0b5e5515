package dispatch

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func people() (support, compliance, admin Person) {
	return Person{StaffID{1}, "a.roe@example.org", RoleSupport}, Person{StaffID{2}, "c.lee@example.org", RoleCompliance},
		Person{StaffID{3}, "root@example.org", "admin"}
}

// doubtful is a record in doubt with five minutes to live, and what surrounds a decision about it.
func doubtful(t *testing.T) (Record, Circumstances) {
	t.Helper()
	s := newStory(t).doubt()
	terms := s.terms
	terms.MinRemaining, terms.MaxAttempts = 5*time.Second, 3
	return s.rec, Circumstances{Terms: terms, Policy: DefaultDecisionPolicy(), TextKept: true}
}

func complete(r Record) Decision {
	return Decision{Attempt: r.Attempts[0].ID, Version: r.Version, Ruling: RulingSent, Next: NextClose, Reason: "provider_log",
		EvidenceKind: "provider_log", EvidenceRef: "console row A-47", Note: "seen in the console"}
}

func again(r Record) Decision {
	d := complete(r)
	d.Ruling, d.Next, d.Reason = RulingNotSent, NextSendAgain, "provider_has_no_record"
	return d
}

func TestDecideNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	r, c := doubtful(t)
	by, _, _ := people()
	for name, tt := range map[string]struct {
		field  string
		change func(*Decision)
	}{
		"no verdict":              {"verdict", func(d *Decision) { d.Ruling = "" }},
		"no next":                 {"next", func(d *Decision) { d.Next = "" }},
		"sent, and again":         {"next", func(d *Decision) { d.Next = NextSendAgain }},
		"invented reason":         {"reason", func(d *Decision) { d.Reason = "felt_like_it" }},
		"no kind":                 {"evidence_kind", func(d *Decision) { d.EvidenceKind = "" }},
		"sent without evidence":   {"evidence_kind", func(d *Decision) { d.EvidenceKind = NoEvidence }},
		"no reference":            {"evidence_ref", func(d *Decision) { d.EvidenceRef = " " }},
		"a link as reference":     {"evidence_ref", func(d *Decision) { d.EvidenceRef = "https://x.example/?t=1" }},
		"a reference too long":    {"evidence_ref", func(d *Decision) { d.EvidenceRef = strings.Repeat("row ", 51) }},
		"no note":                 {"note", func(d *Decision) { d.Note = "\n" }},
		"a note of 501":           {"note", func(d *Decision) { d.Note = strings.Repeat("ä ", 250) + "x" }},
		"no attempt":              {"attempt", func(d *Decision) { d.Attempt = AttemptID{} }},
		"no version":              {"version", func(d *Decision) { d.Version = 0 }},
		"a number inside of it":   {"note", func(d *Decision) { d.Note = "she has +49 151 200-000-01" }},
		"not sent, no evidence":   {"evidence_kind", func(d *Decision) { d.Ruling, d.EvidenceKind = RulingNotSent, NoEvidence }},
		"undetermined, and again": {"next", func(d *Decision) { d.Ruling, d.Next = RulingUndetermined, NextSendAgain }},
	} {
		d := complete(r)
		tt.change(&d)
		_, err := r.Decide(d, by, c)
		var form *FormError
		if !errors.As(err, &form) || !slices.ContainsFunc(form.Faults, func(f Fault) bool { return f.Field == tt.field }) {
			t.Errorf("%s: %v, want a fault of %s", name, err, tt.field)
		}
	}
	d := complete(r)
	d.Note = strings.Repeat("ä ", 249) + "xy"
	if _, err := r.Decide(d, by, c); err != nil {
		t.Errorf("a note of 500 characters: %v", err)
	}
	d = complete(r)
	d.Ruling, d.EvidenceKind, d.EvidenceRef = RulingUndetermined, NoEvidence, ""
	if _, err := r.Decide(d, by, c); err != nil {
		t.Errorf("undetermined without evidence: %v", err)
	}
}

func TestNotesRefuseWhatMustNotBeKept(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"+4915112345678", "the customer 0151/1234567 has it", "0 1 5 1 1 2 3 4 5", "015.112.345", "(0151) - 12 34 567", "٠١٥١١٢٣٤", "１２３４５６７",
		"49\u200b151\u200b123\u200b45", "0151\n1234\n567", "see https://shop.example/reset?t=a", "www.shop.example", "shop.example/r/abc", "mailto:a@b.example",
		"TOK8F3A9B22C1D4E5F607", "token eyJhbGciOiJIUzI1NiJ9", "k3J9x2Lm4Qp7", "550e8400-e29b-41d4-a716-446655440a00",
		"the code 493817 came", "PIN: 493 817", strings.Repeat("x", 501), "bell\a", "\xff",
	} {
		if TextFault(bad, MaxNote) == "" {
			t.Errorf("%q may stand in a note", bad)
		}
	}
	for _, good := range []string{
		"seen in the provider console", "console row A-47", "INC-20415", "error 30003, then 21211", "between 2026-11-29 10:02 and 2026-11-29 10:09:11",
		"at 2026-11-29T10:02:11.402Z, answer 504", "ticket 12345; row 67", "SM0123456789abcdef0123456789abcdef in the console", "Vermittlungsstelle gestört, Müller sagt: nichts",
		"2 of 3 parts, 160 characters", "ntf_01k0000000000000000000abcd is the other one", "code came after 2 min", "", "line one\nline two",
	} {
		if why := TextFault(good, MaxNote); why != "" {
			t.Errorf("%q is refused: %s", good, why)
		}
	}
	if TextFault("id 99887766554433 of the provider", MaxNote, "99887766554433") != "" {
		t.Error("an id that the record names is refused")
	}
}

func TestDecideKnowsNoExceptionForARole(t *testing.T) {
	t.Parallel()
	r, c := doubtful(t)
	_, _, admin := people()
	for _, by := range []Person{admin, {StaffID{9}, "x@example.org", "auditor"}, {}} {
		if _, err := r.Decide(complete(r), by, c); !errors.Is(err, ErrForbidden) {
			t.Errorf("%q decides: %v", by.Role, err)
		}
		c.Policy.SupportApproves = true
		if _, err := r.Approve(Proposal{State: ProposalOpen}, SecondWord{By: by, Version: 1, Note: "n"}, c); !errors.Is(err, ErrForbidden) {
			t.Errorf("%q approves: %v", by.Role, err)
		}
	}
}

func TestDecideRefusesWhatTheRecordDoesNotAllow(t *testing.T) {
	t.Parallel()
	by, _, _ := people()
	for name, change := range map[string]func(*Record, *Decision, *Circumstances){
		"an older version": func(_ *Record, d *Decision, _ *Circumstances) { d.Version-- },
		"a call under way": func(r *Record, _ *Decision, _ *Circumstances) { r.Attempts[0].Outcome = OutcomePending },
		"accepted":         func(r *Record, _ *Decision, _ *Circumstances) { r.Attempts[0].Outcome = OutcomeAccepted },
		"too little life": func(r *Record, _ *Decision, c *Circumstances) {
			c.Terms.Now = r.ExpiresAt.Add(-c.Terms.MinRemaining + 1)
		},
		"withdrawn":          func(r *Record, _ *Decision, c *Circumstances) { r.WithdrawnAt = c.Terms.Now },
		"the text destroyed": func(_ *Record, _ *Decision, c *Circumstances) { c.TextKept = false },
		"calls used up":      func(_ *Record, _ *Decision, c *Circumstances) { c.Terms.MaxAttempts = 1 },
		"stopped":            func(r *Record, _ *Decision, _ *Circumstances) { r.State = StateExpired },
		"a proposal waits": func(r *Record, d *Decision, c *Circumstances) {
			ruled, err := r.Decide(*d, by, *c)
			if err != nil {
				t.Fatal(err)
			}
			c.Open = ruled.Proposal
		},
	} {
		r, c := doubtful(t)
		d := again(r)
		change(&r, &d, &c)
		ruled, err := r.Decide(d, by, c)
		var why *NotNowError
		if !errors.As(err, &why) || !errors.Is(err, ErrStale) || ruled.Proposal != nil || len(ruled.Change.Effects) > 0 {
			t.Errorf("%s: %+v, %v", name, ruled, err)
		}
	}
}

func TestSendAgainTakesASecondPerson(t *testing.T) {
	t.Parallel()
	r, c := doubtful(t)
	support, compliance, _ := people()
	ruled, err := r.Decide(again(r), support, c)
	if err != nil || len(ruled.Change.Effects) != 0 || ruled.Proposal == nil || ruled.Proposal.State != ProposalOpen {
		t.Fatalf("a proposal became %+v, %v", ruled, err)
	}
	p := *ruled.Proposal
	yes := SecondWord{By: compliance, Version: r.Version, Note: "checked"}
	for name, tt := range map[string]struct {
		by   Person
		want error
	}{
		"the proposer":            {support, ErrForbidden},
		"another of support":      {Person{StaffID{7}, "b@example.org", RoleSupport}, ErrForbidden},
		"his other account":       {Person{StaffID{8}, "A.Roe+2@Example.org", RoleCompliance}, ErrForbidden},
		"his account, other role": {Person{support.ID, "new@example.org", RoleCompliance}, ErrForbidden},
	} {
		w := yes
		w.By = tt.by
		if _, err := r.Approve(p, w, c); !errors.Is(err, tt.want) {
			t.Errorf("%s approves: %v", name, err)
		}
	}
	w := yes
	w.Note = ""
	var form *FormError
	if _, err := r.Approve(p, w, c); !errors.As(err, &form) {
		t.Errorf("approved without a note: %v", err)
	}
	change, err := r.Approve(p, yes, c)
	if err != nil {
		t.Fatal(err)
	}
	after := r.Apply(change)
	v := change.Effects[0].Verdict
	if after.State != StateAccepted || len(after.Permits) != 2 || v.By != support.Actor() || v.ApprovedBy != compliance.Actor() {
		t.Errorf("after the approval: %s, %d permits, %+v", after.State, len(after.Permits), v)
	}
	p.State = ProposalApproved
	if _, err := r.Approve(p, yes, c); !errors.Is(err, ErrStale) {
		t.Errorf("approved twice: %v", err)
	}
	c.Policy.SupportApproves = true
	p.State = ProposalOpen
	yes.By = Person{StaffID{7}, "b@example.org", RoleSupport}
	if _, err := r.Approve(p, yes, c); err != nil {
		t.Errorf("another of support, where the settings allow it: %v", err)
	}
	yes.By = support
	if _, err := r.Approve(p, yes, c); !errors.Is(err, ErrForbidden) {
		t.Errorf("the proposer, where support approves: %v", err)
	}
}

func TestProposalEndsWithWhatItRestsOn(t *testing.T) {
	t.Parallel()
	support, compliance, _ := people()
	for name, tt := range map[string]struct {
		want   ProposalState
		change func(*Record, *Circumstances)
	}{
		"moved":          {ProposalVoid, func(r *Record, _ *Circumstances) { r.Version++ }},
		"other evidence": {ProposalVoid, func(r *Record, _ *Circumstances) { r.Attempts[0].MessageID = "SM1" }},
		"life over":      {ProposalLapsed, func(r *Record, c *Circumstances) { c.Terms.Now = r.ExpiresAt }},
		"no time to send": {ProposalLapsed, func(r *Record, c *Circumstances) {
			c.Terms.Now = r.ExpiresAt.Add(-c.Terms.MinRemaining + time.Millisecond)
		}},
	} {
		r, c := doubtful(t)
		ruled, err := r.Decide(again(r), support, c)
		if err != nil {
			t.Fatal(err)
		}
		tt.change(&r, &c)
		if got := ruled.Proposal.Status(r, c.Terms); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		w := SecondWord{By: compliance, Version: r.Version, Note: "checked"}
		if _, err := r.Approve(*ruled.Proposal, w, c); !errors.Is(err, ErrStale) {
			t.Errorf("%s: approved: %v", name, err)
		}
		if err := r.Decline(*ruled.Proposal, w, c); !errors.Is(err, ErrStale) {
			t.Errorf("%s: declined: %v", name, err)
		}
	}
}

func TestWithoutASecondPersonTheProposalIsSingle(t *testing.T) {
	t.Parallel()
	r, c := doubtful(t)
	by, _, _ := people()
	c.Policy.FourEyes = false
	ruled, err := r.Decide(again(r), by, c)
	if err != nil || ruled.Proposal == nil || ruled.Proposal.State != ProposalSingle {
		t.Fatalf("%+v, %v", ruled, err)
	}
	if after := r.Apply(ruled.Change); after.State != StateAccepted || len(after.Permits) != 2 {
		t.Errorf("it is %s with %d permits", after.State, len(after.Permits))
	}
}

func TestDecideAfterTheEndRecordsAndSendsNothing(t *testing.T) {
	t.Parallel()
	r, c := doubtful(t)
	by, _, _ := people()
	c.Terms.Now = r.ExpiresAt
	change, err := r.Expire(c.Terms)
	if err != nil {
		t.Fatal(err)
	}
	r = r.Apply(change)
	if _, err := r.Decide(again(r), by, c); !errors.Is(err, ErrStale) {
		t.Errorf("sent again after the end: %v", err)
	}
	for _, ruling := range []Ruling{RulingSent, RulingNotSent} {
		d := complete(r)
		d.Ruling = ruling
		ruled, err := r.Decide(d, by, c)
		if err != nil {
			t.Fatal(err)
		}
		after := r.Apply(ruled.Change)
		if after.State != StateExpired || len(after.Permits) != 1 || after.Attempts[0].Outcome != ruling.Outcome() {
			t.Errorf("%s: %s, %d permits, %s", ruling, after.State, len(after.Permits), after.Attempts[0].Outcome)
		}
	}
}
