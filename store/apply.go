package store

import (
	"fmt"

	"sentonce/dispatch"
)

// apply stores a change: for each effect first the evidence and the attempt, then the event, whose trigger moves the notification, then what
// the event allows (the attempt of a claim, the next permit) and the incident.
func (tx *Tx) apply(r dispatch.Record, c dispatch.Change) error {
	before := r
	for _, e := range c.Effects {
		if err := tx.applyEffect(&r, e); err != nil {
			return fmt.Errorf("%s of %s: %w", e.Event.Action, r.ID, err)
		}
		if s := settledBy(r, e.Event); s != (settled{}) {
			tx.settled = append(tx.settled, s)
		}
		r = r.Apply(dispatch.Change{Effects: []dispatch.Effect{e}})
		tx.announce(r, e)
	}
	if before.State == dispatch.StateUnknown && r.Version != before.Version {
		return tx.endProposals(r, c.Effects[len(c.Effects)-1].Event.By)
	}
	return nil
}

// announce notes what the commit will make possible.
func (tx *Tx) announce(r dispatch.Record, e dispatch.Effect) {
	if e.Event.Version != 0 {
		tx.changed = append(tx.changed, r.ID)
	}
	switch r.State {
	case dispatch.StateAccepted:
		tx.signal.add(Signal{Work: true, EndsAt: r.ExpiresAt})
	case dispatch.StateUnknown:
		tx.signal.add(Signal{Doubt: true, EndsAt: r.ExpiresAt})
	}
}

func (tx *Tx) applyEffect(r *dispatch.Record, e dispatch.Effect) error {
	ev := e.Event
	if err := tx.storeEvidence(*r, e, &ev); err != nil {
		return err
	}
	if e.Attempt != nil {
		if err := tx.patchAttempt(*r, *e.Attempt, &ev); err != nil {
			return err
		}
	}
	if _, err := tx.event(ev); err != nil {
		return err
	}
	if !e.DueAt.IsZero() {
		if _, err := tx.exec(`UPDATE notifications SET due_at = ? WHERE id = ?`, ms(e.DueAt), blob(r.ID)); err != nil {
			return fmt.Errorf("due: %w", err)
		}
	}
	if e.Start != nil {
		if err := tx.startAttempt(r.ID, *e.Start); err != nil {
			return err
		}
	}
	if e.Grant != nil {
		if err := tx.grant(r.ID, *e.Grant); err != nil {
			return err
		}
	}
	if e.Incident != nil {
		return tx.openIncident(r.ID, *e.Incident)
	}
	return nil
}

// storeEvidence inserts the rows that the effect's event announces, and puts their id and digest into the event.
func (tx *Tx) storeEvidence(r dispatch.Record, e dispatch.Effect, ev *dispatch.Event) (err error) {
	switch {
	case e.Verdict != nil:
		v := *e.Verdict
		if v.ID, err = newID[dispatch.VerdictID](tx); err != nil {
			return err
		}
		ev.EvidenceID, ev.EvidenceSHA = v.ID, dispatch.SumVerdict(r.ID, v)
		return tx.insertVerdict(r.ID, v)
	case e.Lookup != nil:
		l := *e.Lookup
		if l.ID, err = newID[dispatch.LookupID](tx); err != nil {
			return err
		}
		ev.EvidenceID, ev.EvidenceSHA = l.ID, dispatch.SumLookup(r.ID, l)
		return tx.insertLookup(r.ID, l)
	case e.Receipt != nil:
		rc := *e.Receipt
		if rc.ID, err = newID[dispatch.ReceiptID](tx); err != nil {
			return err
		}
		ev.EvidenceID, ev.EvidenceSHA = rc.ID, dispatch.SumReceipt(r.ID, rc)
		return tx.insertReceipt(r.ID, rc, dispatch.NotificationID{})
	}
	return nil
}

func (tx *Tx) insertVerdict(n dispatch.NotificationID, v dispatch.Verdict) error {
	_, err := tx.exec(`INSERT INTO verdicts (id, notification, attempt, ruling, grade, next, reason_code, evidence_kind, evidence_ref, note,
		by_kind, by_id, approved_kind, approved_id, at, message_id) VALUES (`+placeholders(16)+`)`,
		blob(v.ID), blob(n), v.Attempt, string(v.Ruling), string(v.Grade), string(v.Next), v.ReasonCode, v.EvidenceKind, v.EvidenceRef, v.Note,
		string(v.By.Kind), v.By.ID, text(v.ApprovedBy.Kind), text(v.ApprovedBy.ID), ms(v.At), text(v.MessageID))
	if err != nil {
		return fmt.Errorf("verdict: %w", err)
	}
	return nil
}

func (tx *Tx) insertLookup(n dispatch.NotificationID, l dispatch.Lookup) error {
	_, err := tx.exec(`INSERT INTO lookups (id, notification, attempt, provider, asked_at, by_kind, by_id, result, candidates, pages, complete,
		later_seen, http_status, sha256, message_id) VALUES (`+placeholders(15)+`)`,
		blob(l.ID), blob(n), l.Attempt, l.Provider, ms(l.AskedAt), string(l.By.Kind), l.By.ID, string(l.Result), l.Candidates, l.Pages,
		l.Complete, l.LaterSeen, number(l.HTTPStatus), sum(l.SHA256), text(l.MessageID))
	if err != nil {
		return fmt.Errorf("lookup: %w", err)
	}
	return nil
}

// insertReceipt stores a report; forgotten is the notification that its reference names when that is not here.
func (tx *Tx) insertReceipt(n dispatch.NotificationID, rc dispatch.Receipt, forgotten dispatch.NotificationID) error {
	_, err := tx.exec(`INSERT INTO receipts (id, notification, attempt, provider, received_at, message_id, status, raw, code, forgotten,
		repeated, sha256) VALUES (`+placeholders(12)+`)`,
		blob(rc.ID), blob(n), number(rc.Attempt), rc.Provider, ms(rc.ReceivedAt), rc.MessageID, string(rc.Status), rc.Raw, rc.Code,
		blob(forgotten), rc.Repeat, rc.SHA256[:])
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	return nil
}

// patchAttempt writes what an effect changes in an attempt. The write names the outcome that it expects.
func (tx *Tx) patchAttempt(r dispatch.Record, p dispatch.AttemptPatch, ev *dispatch.Event) error {
	old := r.Attempts[p.Number-1]
	a := r.Apply(dispatch.Change{Effects: []dispatch.Effect{{Attempt: &p}}}).Attempts[p.Number-1]
	if p.Result != nil {
		ev.EvidenceID, ev.EvidenceSHA = a.ID, dispatch.SumResult(r.ID, a)
	}
	n, err := tx.exec(`UPDATE attempts SET outcome = ?, finished_at = ?, phase = ?, rule = ?, http_status = ?, code = ?, answer_id = ?,
		request_id = ?, answer_sha = ?, message_id = ?, unknown_since = ?, lookup_at = ?, lookups = ?, receipt = ?, receipt_code = ?
		WHERE notification = ? AND number = ? AND outcome = ?`,
		string(a.Outcome), ms(a.FinishedAt), text(a.Phase), text(a.Rule), number(a.HTTPStatus), text(a.Code), text(a.AnswerID),
		text(a.RequestID), sum(a.AnswerSHA), text(a.MessageID), ms(a.UnknownSince), ms(a.LookupAt), a.Lookups, text(a.Receipt),
		text(a.ReceiptCode), blob(r.ID), a.Number, string(old.Outcome))
	if err != nil {
		return fmt.Errorf("attempt: %w", err)
	}
	if n != 1 {
		return fmt.Errorf("attempt %d is not %s: %w", a.Number, old.Outcome, dispatch.ErrStale)
	}
	return nil
}

func (tx *Tx) startAttempt(n dispatch.NotificationID, a dispatch.Attempt) error {
	_, err := tx.exec(`INSERT INTO attempts (id, notification, number, provider, outcome, started_at, deadline_at, validity_ms)
		VALUES (`+placeholders(8)+`)`, blob(a.ID), blob(n), a.Number, a.Provider, string(a.Outcome), ms(a.StartedAt), ms(a.DeadlineAt),
		a.Validity.Milliseconds())
	if err != nil {
		return fmt.Errorf("attempt: %w", err)
	}
	return nil
}

func (tx *Tx) grant(n dispatch.NotificationID, p dispatch.Permit) error {
	_, err := tx.exec(`INSERT INTO permits (notification, n, granted_at) VALUES (?, ?, ?)`, blob(n), p.Number, ms(p.GrantedAt))
	if err != nil {
		return fmt.Errorf("permit: %w", err)
	}
	return nil
}

func (tx *Tx) openIncident(n dispatch.NotificationID, i dispatch.Incident) (err error) {
	if i.ID, err = newID[dispatch.IncidentID](tx); err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO incidents (id, notification, kind, attempt, opened_at) VALUES (?, ?, ?, ?, ?)`, blob(i.ID), blob(n),
		string(i.Kind), i.Attempt, ms(i.OpenedAt))
	if err != nil {
		return fmt.Errorf("incident: %w", err)
	}
	return nil
}
