package dispatch

import (
	"fmt"
	"time"
)

type (
	proposalKind struct{}
	bulkKind     struct{}
	revealKind   struct{}
)

func (proposalKind) prefix() string { return "prp_" }
func (bulkKind) prefix() string     { return "blk_" }
func (revealKind) prefix() string   { return "rvl_" }

// The identifiers of decisions.
type (
	ProposalID = ID[proposalKind] // prp_
	BulkID     = ID[bulkKind]     // blk_
	RevealID   = ID[revealKind]   // rvl_
)

// ParseProposalID reads "prp_…".
func ParseProposalID(s string) (ProposalID, error) { return ParseID[proposalKind](s) }

// ParseBulkID reads "blk_…".
func ParseBulkID(s string) (BulkID, error) { return ParseID[bulkKind](s) }

// ParseIncidentID reads "inc_…".
func ParseIncidentID(s string) (IncidentID, error) { return ParseID[incidentKind](s) }

// ProposalState is where a proposal stands.
type ProposalState string

const (
	ProposalOpen     ProposalState = "open"     // it waits for a second person
	ProposalApproved ProposalState = "approved" // a second person approved it
	ProposalDeclined ProposalState = "declined" // a second person declined it
	ProposalVoid     ProposalState = "void"     // the record has moved since
	ProposalLapsed   ProposalState = "lapsed"   // too little life is left
	ProposalSingle   ProposalState = "single"   // the settings asked for no second person when it was made
)

// ProposalStates lists every state.
func ProposalStates() []ProposalState {
	return []ProposalState{ProposalOpen, ProposalApproved, ProposalDeclined, ProposalVoid, ProposalLapsed, ProposalSingle}
}

// Proposal is a person's verdict “not sent, send it again” that waits for a second person. It holds for the record as the first one saw it.
type Proposal struct {
	ID           ProposalID
	Notification NotificationID
	Attempt      int
	Version      int      // of the record
	Digest       [32]byte // of what was known: Record.EvidenceDigest
	Reason       string
	EvidenceKind string
	EvidenceRef  string
	Note         string
	By           Person // the role is not kept
	At           time.Time
	LapsesAt     time.Time // less than min_remaining is left from then on
	State        ProposalState
	EndedAt      time.Time
	EndedBy      StaffID // who approved or declined
	EndedNote    string
	Bulk         BulkID // the bulk decision that made it
}

// Status is where the proposal stands at an instant: an open one may be void or lapsed before anybody has written that down.
func (p Proposal) Status(r Record, t Terms) ProposalState {
	a, err := r.Attempt(p.Attempt)
	switch {
	case p.State != ProposalOpen:
		return p.State
	case r.Life(t.Now) < max(t.MinRemaining, 1):
		return ProposalLapsed
	case err != nil || a.Outcome != OutcomeUnknown || r.Version != p.Version || r.EvidenceDigest() != p.Digest:
		return ProposalVoid
	}
	return ProposalOpen
}

// EvidenceDigest is one figure for all that is known of the attempts: two people who saw the same have the same one.
func (r Record) EvidenceDigest() [32]byte {
	c := encode("evidence").bytes(r.ID[:]).number(int64(r.Version)).text(string(r.State)).instant(r.WithdrawnAt)
	for _, a := range r.Attempts {
		sum := SumResult(r.ID, a)
		c.bytes(sum[:]).text(string(a.Outcome)).text(a.MessageID).text(string(a.Receipt)).text(a.ReceiptCode)
	}
	for _, i := range r.Incidents {
		c.text(string(i.Kind)).number(int64(i.Attempt)).instant(i.ClosedAt)
	}
	return c.sum()
}

func (r Record) propose(a Attempt, d Decision, by Person, c Circumstances) Proposal {
	return Proposal{Notification: r.ID, Attempt: a.Number, Version: r.Version, Digest: r.EvidenceDigest(), Reason: d.Reason,
		EvidenceKind: d.EvidenceKind, EvidenceRef: d.EvidenceRef, Note: d.Note, By: by, At: c.Terms.Now,
		LapsesAt: r.ExpiresAt.Add(-c.Terms.MinRemaining), State: ProposalOpen}
}

// SecondWord is a second person's answer to a proposal.
type SecondWord struct {
	By      Person
	Version int
	Note    string
}

// Approve turns a proposal into its verdict. The errors are those of Decide; nobody approves what is his own.
func (r Record) Approve(p Proposal, w SecondWord, c Circumstances) (Change, error) {
	if err := r.mayAnswer(p, w, c); err != nil {
		return Change{}, err
	}
	a, err := r.Attempt(p.Attempt)
	if err != nil {
		return Change{}, fmt.Errorf("approve: %w", err)
	}
	if why := r.SendAgainOff(a, c); why != "" {
		return Change{}, notNow(why)
	}
	d := Decision{Attempt: a.ID, Version: p.Version, Ruling: RulingNotSent, Next: NextSendAgain, Reason: p.Reason,
		EvidenceKind: p.EvidenceKind, EvidenceRef: p.EvidenceRef, Note: p.Note}
	v := d.verdict(a, p.By)
	v.ApprovedBy = w.By.Actor()
	return r.Settle(v, c.Terms)
}

// Decline reports whether a second person may decline a proposal. The errors are those of Approve.
func (r Record) Decline(p Proposal, w SecondWord, c Circumstances) error { return r.mayAnswer(p, w, c) }

func (r Record) mayAnswer(p Proposal, w SecondWord, c Circumstances) error {
	if !c.Policy.MayApprove(w.By) {
		return fmt.Errorf("answer a proposal with the role %s: %w", w.By.Role, ErrForbidden)
	}
	if w.By.Is(p.By) {
		return fmt.Errorf("answer one's own proposal: %w", ErrForbidden)
	}
	if err := formError(noteFaults(w.Note, r.KnownWords()...)); err != nil {
		return err
	}
	switch p.Status(r, c.Terms) {
	case ProposalOpen:
	case ProposalVoid:
		return notNow("the record has changed since the proposal was made, so it is void")
	case ProposalLapsed:
		return notNow("too little of the lifetime is left, so the proposal has lapsed")
	case ProposalDeclined:
		return notNow("the proposal was declined")
	default:
		return notNow("the proposal was approved already")
	}
	if w.Version != r.Version {
		return notNow("the record has changed since the page was made")
	}
	return nil
}

// CloseIncident says that a person has dealt with an incident. The errors are ErrForbidden, *FormError, ErrNotFound and ErrStale.
func (r Record) CloseIncident(id IncidentID, w SecondWord, t Terms) (Change, error) {
	if !w.By.MayDecide() {
		return Change{}, fmt.Errorf("close an incident with the role %s: %w", w.By.Role, ErrForbidden)
	}
	if err := formError(noteFaults(w.Note, r.KnownWords()...)); err != nil {
		return Change{}, err
	}
	for _, i := range r.Incidents {
		switch {
		case i.ID != id:
		case !i.ClosedAt.IsZero():
			return Change{}, notNow("the incident is closed already")
		case w.Version != r.Version:
			return Change{}, notNow("the record has changed since the page was made")
		default:
			d := r.draft(t.Now, w.By.Actor())
			d.add(Effect{Event: Event{Action: ActionIncidentClosed, Attempt: i.Attempt, Cause: id.String(), Version: d.moving()}})
			return d.change(), nil
		}
	}
	return Change{}, fmt.Errorf("incident %s: %w", id, ErrNotFound)
}
