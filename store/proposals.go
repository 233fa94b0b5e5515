package store

import (
	"context"
	"errors"
	"fmt"

	"sentonce/dispatch"
)

const proposalColumns = `p.id, p.notification, p.attempt, p.version, p.digest, p.reason_code, p.evidence_kind, p.evidence_ref, p.note,
	p.by_staff, (SELECT email FROM staff WHERE id = p.by_staff), p.at, p.lapses_at, p.bulk, p.state, p.ended_at, p.ended_staff, p.ended_note`

func scanProposal(scan func(...any) error) (p dispatch.Proposal, err error) {
	err = scan(into(p.ID[:]), into(p.Notification[:]), &p.Attempt, &p.Version, into(p.Digest[:]), &p.Reason, &p.EvidenceKind, &p.EvidenceRef,
		&p.Note, into(p.By.ID[:]), &p.By.Email, at(&p.At), at(&p.LapsesAt), into(p.Bulk[:]), &p.State, at(&p.EndedAt),
		into(p.EndedBy[:]), opt(&p.EndedNote))
	return p, err
}

// proposals reads the proposals that a condition selects, oldest first.
func proposals(q querier, where string, args ...any) (all []dispatch.Proposal, err error) {
	err = q.rows(`SELECT `+proposalColumns+` FROM proposals p WHERE `+where+` ORDER BY p.at, p.id`, args, func(scan func(...any) error) error {
		p, err := scanProposal(scan)
		all = append(all, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("proposals: %w", err)
	}
	return all, nil
}

// openProposal is the one that waits for a notification, nil when there is none: only one attempt of it can be in doubt.
func openProposal(q querier, id dispatch.NotificationID) (*dispatch.Proposal, error) {
	all, err := proposals(q, `p.notification = ? AND p.state = 'open'`, blob(id))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func (tx *Tx) insertProposal(r dispatch.Record, p dispatch.Proposal, requestID string) (id dispatch.ProposalID, err error) {
	if id, err = newID[dispatch.ProposalID](tx); err != nil {
		return id, err
	}
	_, err = tx.exec(`INSERT INTO proposals (id, notification, attempt, version, digest, reason_code, evidence_kind, evidence_ref, note, by_staff,
		by_id, at, lapses_at, bulk, state, ended_at) VALUES (`+placeholders(16)+`)`,
		blob(id), blob(r.ID), p.Attempt, p.Version, p.Digest[:], p.Reason, p.EvidenceKind, p.EvidenceRef, p.Note, blob(p.By.ID), p.By.ID.String(),
		ms(p.At), ms(p.LapsesAt), blob(p.Bulk), string(p.State), ms(p.EndedAt))
	if err != nil {
		return id, fmt.Errorf("proposal: %w", err)
	}
	_, err = tx.event(dispatch.Event{By: p.By.Actor(), Action: dispatch.ActionProposalMade, Client: r.Client, Notification: r.ID,
		Attempt: p.Attempt, Cause: id.String(), RequestID: requestID})
	return id, err
}

// endProposal writes how an open proposal ended. The zero word means that nobody answered it.
func (tx *Tx) endProposal(r dispatch.Record, p dispatch.Proposal, to dispatch.ProposalState, w dispatch.SecondWord, ev dispatch.Event) error {
	n, err := tx.exec(`UPDATE proposals SET state = ?, ended_at = ?, ended_staff = ?, ended_by = ?, ended_note = ? WHERE id = ? AND state = 'open'`,
		string(to), ms(tx.Now), blob(w.By.ID), text(w.By.ID.String()), text(w.Note), blob(p.ID))
	if err != nil {
		return fmt.Errorf("proposal: %w", err)
	}
	if n != 1 {
		return fmt.Errorf("proposal %s is not open: %w", p.ID, dispatch.ErrStale)
	}
	ev.Client, ev.Notification, ev.Attempt, ev.Cause = r.Client, r.ID, p.Attempt, p.ID.String()
	_, err = tx.event(ev)
	return err
}

// endProposals ends what waits for a record that has just moved: it rested on what was known before.
func (tx *Tx) endProposals(r dispatch.Record, by dispatch.Actor) error {
	p, err := openProposal(tx, r.ID)
	if err != nil || p == nil {
		return err
	}
	to, action := dispatch.ProposalVoid, dispatch.ActionProposalVoided
	if !tx.Now.Before(p.LapsesAt) {
		to, action = dispatch.ProposalLapsed, dispatch.ActionProposalLapsed
	}
	return tx.endProposal(r, *p, to, dispatch.SecondWord{}, dispatch.Event{By: by, Action: action})
}

// ProposalAnswer is a second person's answer to a proposal.
type ProposalAnswer struct {
	Notification dispatch.NotificationID
	Proposal     dispatch.ProposalID
	Word         dispatch.SecondWord
	Approve      bool
	RequestID    string
}

// AnswerProposal approves or declines a proposal. The errors are those of dispatch.Record.Approve; nothing is kept with any of them.
func (db *DB) AnswerProposal(ctx context.Context, a ProposalAnswer) error {
	return db.write(ctx, "answer a proposal", func(tx *Tx) error { return db.answerProposal(tx, a) })
}

func (db *DB) answerProposal(tx *Tx, a ProposalAnswer) error {
	r, err := loadRecord(tx, "id = ?", blob(a.Notification))
	if err != nil {
		return err
	}
	found, err := proposals(tx, `p.id = ? AND p.notification = ?`, blob(a.Proposal), blob(a.Notification))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("proposal %s: %w", a.Proposal, dispatch.ErrNotFound)
	}
	p := found[0]
	c, err := db.circumstances(tx, tx.Now, r)
	if err != nil {
		return err
	}
	ev := dispatch.Event{By: a.Word.By.Actor(), RequestID: a.RequestID}
	if !a.Approve {
		if err := r.Decline(p, a.Word, c); err != nil {
			return err
		}
		ev.Action = dispatch.ActionProposalDeclined
		return tx.endProposal(r, p, dispatch.ProposalDeclined, a.Word, ev)
	}
	change, err := r.Approve(p, a.Word, c)
	if err != nil {
		return err
	}
	ev.Action = dispatch.ActionProposalApproved
	if err := tx.endProposal(r, p, dispatch.ProposalApproved, a.Word, ev); err != nil {
		return err
	}
	return classify("approve", tx.apply(r, requested(change, a.RequestID)))
}

// requested puts the request's id into the events of a change.
func requested(c dispatch.Change, requestID string) dispatch.Change {
	for i := range c.Effects {
		c.Effects[i].Event.RequestID = requestID
	}
	return c
}

// textKept reports whether the sealed text of a notification is still there.
func textKept(q querier, id dispatch.NotificationID) (bool, error) {
	var one int
	err := q.row(`SELECT 1 FROM sealed_messages WHERE notification = ?`, []any{blob(id)}, &one)
	if errors.Is(err, dispatch.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("text: %w", err)
	}
	return true, nil
}
