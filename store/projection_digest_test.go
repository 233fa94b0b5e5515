package store_test

import (
	"database/sql"
	"time"

	"sentonce/dispatch"
)

// digests recomputes, from the stored rows, what each event says of the evidence that it announces.
func (c checker) digests(id dispatch.NotificationID) {
	rows, err := c.db.Query(`SELECT evidence, attempt, evidence_id, evidence_sha FROM events WHERE notification = ? AND evidence IS NOT NULL`, id[:])
	if err != nil {
		c.Fatalf("events: %v", err)
	}
	defer rows.Close()
	announced := map[string]int{}
	for rows.Next() {
		var kind string
		var attempt int
		var evidence, sum []byte
		if err := rows.Scan(&kind, &attempt, &evidence, &sum); err != nil {
			c.Fatalf("event: %v", err)
		}
		announced[kind]++
		want := map[string]func(dispatch.NotificationID, []byte) [32]byte{
			"attempt": c.sumAttempt, "lookup": c.sumLookup, "receipt": c.sumReceipt, "verdict": c.sumVerdict}[kind](id, evidence)
		if string(sum) != string(want[:]) {
			c.Fatalf("the event about the %s of attempt %d carries another digest than its row has", kind, attempt)
		}
	}
	if err := rows.Err(); err != nil {
		c.Fatalf("events: %v", err)
	}
	for kind, query := range map[string]string{
		"attempt": `SELECT count(*) FROM attempts WHERE notification = ? AND finished_at IS NOT NULL`, "lookup": `SELECT count(*) FROM lookups WHERE notification = ?`,
		"receipt": `SELECT count(*) FROM receipts WHERE notification = ?`, "verdict": `SELECT count(*) FROM verdicts WHERE notification = ?`,
	} {
		var n int
		if err := c.db.QueryRow(query, id[:]).Scan(&n); err != nil || n != announced[kind] {
			c.Fatalf("%d rows of kind %s, %d events about them (%v)", n, kind, announced[kind], err)
		}
	}
}

// instantOf reads milliseconds; NULL is the zero time.
func instantOf(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMilli(n.Int64)
}

func (c checker) one(query string, evidence []byte, dest ...any) {
	if err := c.db.QueryRow(query, evidence).Scan(dest...); err != nil {
		c.Fatalf("the row that an event announces: %v", err)
	}
}

func (c checker) sumAttempt(n dispatch.NotificationID, id []byte) [32]byte {
	a := dispatch.Attempt{ID: dispatch.AttemptID(id)}
	var validity int64
	var started, deadline, finished sql.NullInt64
	var sum []byte
	c.one(`SELECT number, provider, started_at, deadline_at, validity_ms, finished_at, coalesce(phase, ''), rule, coalesce(http_status, 0),
		coalesce(code, ''), coalesce(answer_id, ''), coalesce(request_id, ''), answer_sha FROM attempts WHERE id = ?`, id,
		&a.Number, &a.Provider, &started, &deadline, &validity, &finished, &a.Phase, &a.Rule, &a.HTTPStatus, &a.Code, &a.AnswerID, &a.RequestID, &sum)
	a.StartedAt, a.DeadlineAt, a.FinishedAt = instantOf(started), instantOf(deadline), instantOf(finished)
	a.Validity = time.Duration(validity) * time.Millisecond
	copy(a.AnswerSHA[:], sum)
	return dispatch.SumResult(n, a)
}

func (c checker) sumLookup(n dispatch.NotificationID, id []byte) [32]byte {
	l := dispatch.Lookup{ID: dispatch.LookupID(id)}
	var asked sql.NullInt64
	var sum []byte
	c.one(`SELECT attempt, provider, asked_at, by_kind, by_id, result, candidates, pages, complete, later_seen, coalesce(http_status, 0), sha256,
		coalesce(message_id, '') FROM lookups WHERE id = ?`, id, &l.Attempt, &l.Provider, &asked, &l.By.Kind, &l.By.ID, &l.Result, &l.Candidates,
		&l.Pages, &l.Complete, &l.LaterSeen, &l.HTTPStatus, &sum, &l.MessageID)
	l.AskedAt = instantOf(asked)
	copy(l.SHA256[:], sum)
	return dispatch.SumLookup(n, l)
}

func (c checker) sumReceipt(n dispatch.NotificationID, id []byte) [32]byte {
	r := dispatch.Receipt{ID: dispatch.ReceiptID(id)}
	var received sql.NullInt64
	var sum []byte
	c.one(`SELECT attempt, provider, received_at, message_id, status, raw, code, repeated, sha256 FROM receipts WHERE id = ?`, id, &r.Attempt,
		&r.Provider, &received, &r.MessageID, &r.Status, &r.Raw, &r.Code, &r.Repeat, &sum)
	r.ReceivedAt = instantOf(received)
	copy(r.SHA256[:], sum)
	return dispatch.SumReceipt(n, r)
}

func (c checker) sumVerdict(n dispatch.NotificationID, id []byte) [32]byte {
	v := dispatch.Verdict{ID: dispatch.VerdictID(id)}
	var at sql.NullInt64
	c.one(`SELECT attempt, ruling, grade, next, reason_code, evidence_kind, evidence_ref, note, by_kind, by_id, coalesce(approved_kind, ''),
		coalesce(approved_id, ''), at, coalesce(message_id, '') FROM verdicts WHERE id = ?`, id, &v.Attempt, &v.Ruling, &v.Grade, &v.Next, &v.ReasonCode,
		&v.EvidenceKind, &v.EvidenceRef, &v.Note, &v.By.Kind, &v.By.ID, &v.ApprovedBy.Kind, &v.ApprovedBy.ID, &at, &v.MessageID)
	v.At = instantOf(at)
	return dispatch.SumVerdict(n, v)
}
