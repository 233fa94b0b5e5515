package store

import (
	"context"
	"fmt"

	"sentonce/dispatch"
)

// mostEvents bounds the timeline of one notification. Only a storefront that repeats itself for hours, or a provider that reports without end,
// comes near; the audit log has them all.
const mostEvents = 1000

// Story is all that is known of one notification, oldest first.
type Story struct {
	dispatch.Record
	Events   []dispatch.Event
	Cut      bool // there are older events than the newest 1000
	Lookups  []dispatch.Lookup
	Receipts []dispatch.Receipt
	Verdicts []dispatch.Verdict
	Names    Names
}

// Names are the names behind the ids in a page's records, as they are now.
type Names struct {
	Staff   map[string]string // by stf_…
	Keys    map[string]string // by key_…
	Clients map[dispatch.ClientID]string
}

// Story reads a notification, whoever's it is, with its whole history in one state of the database. The error is dispatch.ErrNotFound.
func (db *DB) Story(ctx context.Context, id dispatch.NotificationID) (s Story, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		if s.Record, err = loadRecord(q, "id = ?", blob(id)); err != nil {
			return err
		}
		if err := s.evidence(q); err != nil {
			return err
		}
		s.Names, err = namesOf(q, s.Events)
		return err
	})
	return s, err
}

// Record reads a notification, whoever's it is. The error is dispatch.ErrNotFound.
func (db *DB) Record(ctx context.Context, id dispatch.NotificationID) (r dispatch.Record, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		r, err = loadRecord(q, "id = ?", blob(id))
		return err
	})
	return r, err
}

func (s *Story) evidence(q querier) (err error) {
	id := blob(s.ID)
	s.Events, err = readEvents(q, `FROM events WHERE notification = ? ORDER BY seq DESC LIMIT ?`, id, mostEvents+1)
	if err != nil {
		return err
	}
	if s.Cut = len(s.Events) > mostEvents; s.Cut {
		s.Events = s.Events[:mostEvents]
	}
	for i, j := 0, len(s.Events)-1; i < j; i, j = i+1, j-1 {
		s.Events[i], s.Events[j] = s.Events[j], s.Events[i]
	}
	if s.Lookups, err = readAll(q, scanLookup, `SELECT `+lookupColumns+` FROM lookups WHERE notification = ? ORDER BY id DESC LIMIT ?`, id, mostEvents); err != nil {
		return fmt.Errorf("lookups: %w", err)
	}
	if s.Receipts, err = readAll(q, scanReceipt, `SELECT `+receiptColumns+` FROM receipts WHERE notification = ? ORDER BY id DESC LIMIT ?`, id, mostEvents); err != nil {
		return fmt.Errorf("receipts: %w", err)
	}
	if s.Verdicts, err = readAll(q, scanVerdict, `SELECT `+verdictColumns+` FROM verdicts WHERE notification = ? ORDER BY id LIMIT ?`, id, mostEvents); err != nil {
		return fmt.Errorf("verdicts: %w", err)
	}
	return nil
}

// readAll scans every row of a query.
func readAll[T any](q querier, scan func(func(...any) error) (T, error), query string, args ...any) (all []T, err error) {
	err = q.rows(query, args, func(row func(...any) error) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	})
	return all, err
}

const eventColumns = `seq, at, by_kind, by_id, action, client, notification, attempt, from_state, to_state, version, final, reason, outcome,
	grade, provider, cause, count, evidence, evidence_id, evidence_sha, request_id`

func scanEvent(scan func(...any) error) (ev dispatch.Event, err error) {
	err = scan(&ev.Seq, at(&ev.At), &ev.By.Kind, &ev.By.ID, &ev.Action, into(ev.Client[:]), into(ev.Notification[:]), opt(&ev.Attempt),
		opt(&ev.From), opt(&ev.To), opt(&ev.Version), &ev.Final, opt(&ev.Reason), opt(&ev.Outcome), opt(&ev.Grade), opt(&ev.Provider),
		opt(&ev.Cause), opt(&ev.Count), opt(&ev.Evidence), into(ev.EvidenceID[:]), into(ev.EvidenceSHA[:]), opt(&ev.RequestID))
	return ev, err
}

// readEvents reads events; rest follows the columns, from FROM on.
func readEvents(q querier, rest string, args ...any) ([]dispatch.Event, error) {
	all, err := readAll(q, scanEvent, `SELECT `+eventColumns+` `+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return all, nil
}

const lookupColumns = `id, attempt, provider, asked_at, by_kind, by_id, result, candidates, pages, complete, later_seen, http_status, sha256,
	message_id`

func scanLookup(scan func(...any) error) (l dispatch.Lookup, err error) {
	err = scan(into(l.ID[:]), &l.Attempt, &l.Provider, at(&l.AskedAt), &l.By.Kind, &l.By.ID, &l.Result, &l.Candidates, &l.Pages, &l.Complete,
		&l.LaterSeen, opt(&l.HTTPStatus), into(l.SHA256[:]), opt(&l.MessageID))
	return l, err
}

const receiptColumns = `id, attempt, provider, received_at, message_id, status, raw, code, repeated, sha256`

func scanReceipt(scan func(...any) error) (rc dispatch.Receipt, err error) {
	err = scan(into(rc.ID[:]), opt(&rc.Attempt), &rc.Provider, at(&rc.ReceivedAt), &rc.MessageID, &rc.Status, &rc.Raw, &rc.Code, &rc.Repeat,
		into(rc.SHA256[:]))
	return rc, err
}

const verdictColumns = `id, attempt, ruling, grade, next, reason_code, evidence_kind, evidence_ref, note, by_kind, by_id, approved_kind,
	approved_id, at, message_id`

func scanVerdict(scan func(...any) error) (v dispatch.Verdict, err error) {
	err = scan(into(v.ID[:]), &v.Attempt, &v.Ruling, &v.Grade, &v.Next, &v.ReasonCode, &v.EvidenceKind, &v.EvidenceRef, &v.Note, &v.By.Kind,
		&v.By.ID, opt(&v.ApprovedBy.Kind), opt(&v.ApprovedBy.ID), at(&v.At), opt(&v.MessageID))
	return v, err
}

// namesOf reads the names of who and what stands in events.
func namesOf(q querier, events []dispatch.Event, more ...dispatch.Actor) (Names, error) {
	n := Names{Staff: map[string]string{}, Keys: map[string]string{}, Clients: map[dispatch.ClientID]string{}}
	for _, ev := range events {
		more = append(more, ev.By)
		if !ev.Client.IsZero() {
			n.Clients[ev.Client] = ""
		}
	}
	for _, by := range more {
		if err := n.learn(q, by); err != nil {
			return n, err
		}
	}
	for id := range n.Clients {
		name, err := oneName(q, `SELECT name FROM clients WHERE id = ?`, blob(id))
		if err != nil {
			return n, err
		}
		n.Clients[id] = name
	}
	return n, nil
}

// learn reads the name of one actor, once.
func (n Names) learn(q querier, by dispatch.Actor) error {
	where, into := ``, map[string]string(nil)
	var raw any
	switch by.Kind {
	case dispatch.ActorStaff:
		id, err := dispatch.ParseStaffID(by.ID)
		if err != nil {
			return nil // not one of ours: it has no name
		}
		where, into, raw = `SELECT name FROM staff WHERE id = ?`, n.Staff, blob(id)
	case dispatch.ActorClient:
		id, err := dispatch.ParseAPIKeyID(by.ID)
		if err != nil {
			return nil
		}
		where, into, raw = `SELECT name FROM api_keys WHERE id = ?`, n.Keys, blob(id)
	default:
		return nil
	}
	if _, known := into[by.ID]; known {
		return nil
	}
	name, err := oneName(q, where, raw)
	into[by.ID] = name
	return err
}

// oneName reads a name, "" where there is none.
func oneName(q querier, query string, id any) (name string, err error) {
	err = q.rows(query, []any{id}, func(scan func(...any) error) error { return scan(&name) })
	return name, err
}

// NewestEvent is the number of the newest event of a notification, 0 when there is none.
func (db *DB) NewestEvent(ctx context.Context, id dispatch.NotificationID) (seq int64, err error) {
	err = db.queryRow(ctx, `SELECT coalesce(max(seq), 0) FROM events WHERE notification = ?`, []any{blob(id)}, &seq)
	return seq, err
}
