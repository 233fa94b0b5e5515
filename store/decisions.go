package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentonce/dispatch"
)

// The settings of decisions; the values are "on" and "off".
const (
	SettingFourEyes        = "four_eyes"        // to send again takes a second person
	SettingSupportApproves = "support_approves" // support may be that second person
)

// decisionPolicy reads the settings of decisions. A value that cannot be understood counts as the default, which is the stricter one.
func decisionPolicy(q querier) (dispatch.DecisionPolicy, error) {
	p := dispatch.DefaultDecisionPolicy()
	for name, dst := range map[string]*bool{SettingFourEyes: &p.FourEyes, SettingSupportApproves: &p.SupportApproves} {
		var value string
		err := q.row(`SELECT value FROM settings WHERE name = ? ORDER BY version DESC LIMIT 1`, []any{name}, &value)
		if err != nil && !errors.Is(err, dispatch.ErrNotFound) {
			return p, fmt.Errorf("setting %s: %w", name, err)
		}
		switch strings.ToLower(value) {
		case "on", "true", "yes":
			*dst = true
		case "off", "false", "no":
			*dst = false
		}
	}
	return p, nil
}

// circumstances are what a decision about a record needs to know.
func (db *DB) circumstances(q querier, now time.Time, r dispatch.Record) (c dispatch.Circumstances, err error) {
	p := db.cfg.Terms()
	c.Terms = dispatch.Terms{Now: now, MinRemaining: p.MinRemaining, MaxAttempts: p.MaxAttempts}
	if c.Policy, err = decisionPolicy(q); err != nil {
		return c, err
	}
	if c.TextKept, err = textKept(q, r.ID); err != nil {
		return c, err
	}
	c.Open, err = openProposal(q, r.ID)
	return c, err
}

// PersonDecides is a person's decision about one notification.
type PersonDecides struct {
	Notification dispatch.NotificationID
	Decision     dispatch.Decision
	By           dispatch.Person
	RequestID    string
}

// Decided is what became of a decision.
type Decided struct {
	Settled  bool                // a verdict is on record
	Proposal dispatch.ProposalID // it waits for a second person; zero: it does not
}

// Decide records a person's verdict, or makes the proposal that it comes to. The errors are those of dispatch.Record.Decide; nothing is kept
// with any of them.
func (db *DB) Decide(ctx context.Context, p PersonDecides) (out Decided, err error) {
	err = db.write(ctx, "decide", func(tx *Tx) error {
		out, err = db.decide(tx, p, dispatch.BulkID{})
		return err
	})
	return out, err
}

func (db *DB) decide(tx *Tx, p PersonDecides, bulk dispatch.BulkID) (out Decided, err error) {
	r, err := loadRecord(tx, "id = ?", blob(p.Notification))
	if err != nil {
		return out, err
	}
	c, err := db.circumstances(tx, tx.Now, r)
	if err != nil {
		return out, err
	}
	ruled, err := r.Decide(p.Decision.Trimmed(), p.By, c)
	if err != nil {
		return out, err
	}
	if ruled.Proposal != nil {
		if c.Open != nil { // it is over by now, and nobody has written that down
			if err := tx.endProposals(r, dispatch.Worker()); err != nil {
				return out, err
			}
		}
		ruled.Proposal.Bulk = bulk
		id, err := tx.insertProposal(r, *ruled.Proposal, p.RequestID)
		if err != nil {
			return out, err
		}
		if ruled.Proposal.State == dispatch.ProposalOpen {
			out.Proposal = id
		}
	}
	out.Settled = len(ruled.Change.Effects) > 0
	if err := tx.renewClaim(r, p.By.ID); err != nil {
		return out, err
	}
	return out, classify("decide", tx.apply(r, requested(ruled.Change, p.RequestID)))
}

// WithdrawByStaff stops a notification, or forbids any further permit while its outcome is open. The errors are dispatch.ErrForbidden,
// dispatch.ErrNotFound and dispatch.ErrStale when the record is not at the version, has stopped or is withdrawn.
func (db *DB) WithdrawByStaff(ctx context.Context, id dispatch.NotificationID, w dispatch.SecondWord, requestID string) error {
	return db.write(ctx, "withdraw by staff", func(tx *Tx) error {
		if !w.By.MayDecide() {
			return fmt.Errorf("withdraw with the role %s: %w", w.By.Role, dispatch.ErrForbidden)
		}
		r, err := loadRecord(tx, "id = ?", blob(id))
		if err != nil {
			return err
		}
		if r.State.Stopped() || !r.WithdrawnAt.IsZero() {
			return &dispatch.NotNowError{Why: "it has stopped, or is withdrawn already"}
		}
		if w.Version != r.Version {
			return &dispatch.NotNowError{Why: "the record has changed since the page was made"}
		}
		return tx.withdraw(id, dispatch.ReasonWithdrawnByStaff, "", w.By.Actor(), requestID)
	})
}

// CloseIncident writes that a person has dealt with an incident. The errors are those of dispatch.Record.CloseIncident.
func (db *DB) CloseIncident(ctx context.Context, id dispatch.NotificationID, incident dispatch.IncidentID, w dispatch.SecondWord,
	requestID string) error {
	return db.write(ctx, "close an incident", func(tx *Tx) error {
		r, err := loadRecord(tx, "id = ?", blob(id))
		if err != nil {
			return err
		}
		c, err := r.CloseIncident(incident, w, db.terms(tx))
		if err != nil {
			return err
		}
		by := w.By.Actor()
		n, err := tx.exec(`UPDATE incidents SET closed_at = ?, closed_kind = ?, closed_id = ?, why = ? WHERE id = ? AND closed_at IS NULL`,
			ms(tx.Now), string(by.Kind), by.ID, w.Note, blob(incident))
		if err != nil {
			return fmt.Errorf("incident: %w", err)
		}
		if n != 1 {
			return fmt.Errorf("incident %s is closed: %w", incident, dispatch.ErrStale)
		}
		return classify("close an incident", tx.apply(r, requested(c, requestID)))
	})
}
