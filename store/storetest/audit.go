package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"sentonce/dispatch"
)

// Book is what a database file says, read by statements that share nothing with package store.
type Book struct {
	// Findings are contradictions of the invariants of DESIGN §3; a sound database has none.
	Findings []string
	// Entries are the notifications, by client and event id.
	Entries map[EventKey]Entry
}

// EventKey names the event of a client.
type EventKey struct{ Client, Event string }

// Entry is one notification.
type Entry struct {
	ID       string // as the API writes it
	State    dispatch.State
	Reason   dispatch.Reason
	Replays  int
	Attempts []dispatch.Outcome
	Granted  []bool // per attempt: its verdict says that nothing was sent
}

// Audit reads a database file beside whoever has it open, or the copy of one that a killed process left.
func Audit(ctx context.Context, path string) (b Book, err error) {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(10000)&_pragma=query_only(1)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return b, fmt.Errorf("audit: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return b, fmt.Errorf("audit: %w", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	a := &auditor{ctx: ctx, tx: tx, book: Book{Entries: map[EventKey]Entry{}}}
	if err := errors.Join(a.ask(soundness()), a.entries(), a.attempts(), a.folds()); err != nil {
		return b, fmt.Errorf("audit: %w", err)
	}
	return a.book, nil
}

type auditor struct {
	ctx  context.Context
	tx   *sql.Tx
	book Book
	keys map[string]EventKey // by the notification's id in hex
}

// question is a statement whose rows contradict an invariant.
type question struct{ says, query string }

func soundness() []question {
	const live = `('accepted', 'dispatching', 'dispatch_unknown')`
	return []question{
		{"integrity_check", `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`},
		{"foreign_key_check", `SELECT "table" || ' row ' || coalesce(rowid, '?') FROM pragma_foreign_key_check`},
		{"I7: the sequence of events has gaps", `SELECT count(*) || ' events up to ' || max(seq) FROM events HAVING count(*) <> coalesce(max(seq), 0)`},
		{"I2: an attempt without a permit of its own", `SELECT hex(a.notification) || ' ' || a.number FROM attempts a LEFT JOIN permits p
			ON p.notification = a.notification AND p.n = a.number WHERE p.spent_at IS NOT a.started_at`},
		{"I2: a spent permit without an attempt", `SELECT hex(p.notification) || ' ' || p.n FROM permits p LEFT JOIN attempts a
			ON p.notification = a.notification AND p.n = a.number WHERE p.spent_at IS NOT NULL AND a.number IS NULL`},
		{"I2: a second permit without a verdict not_sent on the attempt before", `SELECT hex(p.notification) || ' ' || p.n FROM permits p
			WHERE p.n > 1 AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.notification = p.notification AND v.attempt = p.n - 1
			AND v.ruling = 'not_sent' AND v.at <= p.granted_at)`},
		{"I3: more than one open attempt", `SELECT hex(notification) FROM attempts WHERE outcome IN ('pending', 'unknown')
			GROUP BY notification HAVING count(*) > 1`},
		{"I5: an attempt after the expiry", `SELECT hex(n.id) FROM attempts a JOIN notifications n ON n.id = a.notification
			WHERE a.started_at >= n.expires_at OR a.started_at + a.validity_ms > n.expires_at`},
		{"a state that its attempt contradicts", `SELECT hex(n.id) || ' ' || n.state FROM notifications n WHERE n.stopped_at IS NULL AND
			((n.state = 'dispatching') <> EXISTS (SELECT 1 FROM attempts a WHERE a.notification = n.id AND a.outcome = 'pending')
			OR (n.state = 'dispatch_unknown') <> EXISTS (SELECT 1 FROM attempts a WHERE a.notification = n.id AND a.outcome = 'unknown'))`},
		{"an open permit that does not fit the state", `SELECT hex(n.id) || ' ' || n.state FROM notifications n WHERE (n.state = 'accepted') <>
			EXISTS (SELECT 1 FROM permits p WHERE p.notification = n.id AND p.spent_at IS NULL AND p.void_at IS NULL)`},
		{"I8: a text after the stop, or none before it", `SELECT hex(n.id) || ' ' || n.state FROM notifications n WHERE (n.state IN ` + live + `) <>
			EXISTS (SELECT 1 FROM sealed_messages m WHERE m.notification = n.id)`},
		{"I7: evidence without its event", `WITH told (kind, id) AS MATERIALIZED (SELECT evidence, evidence_id FROM events
				WHERE evidence IS NOT NULL AND evidence_id IS NOT NULL AND evidence_sha IS NOT NULL)
			SELECT 'lookups' FROM lookups WHERE id NOT IN (SELECT id FROM told WHERE kind = 'lookup')
			UNION ALL SELECT 'receipts' FROM receipts WHERE id NOT IN (SELECT id FROM told WHERE kind = 'receipt')
			UNION ALL SELECT 'verdicts' FROM verdicts WHERE id NOT IN (SELECT id FROM told WHERE kind = 'verdict')
			UNION ALL SELECT 'attempts' FROM attempts WHERE (finished_at IS NOT NULL) <> (id IN (SELECT id FROM told WHERE kind = 'attempt'))`},
	}
}

// ask reports the first rows of each question.
func (a *auditor) ask(all []question) error {
	for _, q := range all {
		err := a.each(q.query, func(scan func(...any) error) error {
			var what string
			if err := scan(&what); err != nil {
				return err
			}
			a.find("%s: %s", q.says, what)
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", q.says, err)
		}
	}
	return nil
}

func (a *auditor) find(format string, args ...any) {
	const most = 20 // a broken database has as many findings as rows
	if len(a.book.Findings) < most {
		a.book.Findings = append(a.book.Findings, fmt.Sprintf(format, args...))
	}
}

func (a *auditor) each(query string, row func(scan func(...any) error) error) (err error) {
	rows, err := a.tx.QueryContext(a.ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) entries() error {
	a.keys = map[string]EventKey{}
	return a.each(`SELECT n.id, c.name, n.event_id, n.state, coalesce(n.reason, ''), n.replays FROM notifications n JOIN clients c ON c.id = n.client`,
		func(scan func(...any) error) error {
			var raw []byte
			var key EventKey
			var e Entry
			if err := scan(&raw, &key.Client, &key.Event, &e.State, &e.Reason, &e.Replays); err != nil {
				return err
			}
			e.ID = dispatch.NotificationID(raw).String()
			if _, twice := a.book.Entries[key]; twice {
				a.find("I1: event %s of %s stands twice", key.Event, key.Client)
			}
			a.book.Entries[key] = e
			a.keys[string(raw)] = key
			return nil
		})
}

func (a *auditor) attempts() error {
	return a.each(`SELECT a.notification, a.outcome, EXISTS (SELECT 1 FROM verdicts v WHERE v.notification = a.notification
		AND v.attempt = a.number AND v.ruling = 'not_sent') FROM attempts a ORDER BY a.notification, a.number`,
		func(scan func(...any) error) error {
			var raw []byte
			var outcome dispatch.Outcome
			var granted bool
			if err := scan(&raw, &outcome, &granted); err != nil {
				return err
			}
			e := a.book.Entries[a.keys[string(raw)]]
			e.Attempts, e.Granted = append(e.Attempts, outcome), append(e.Granted, granted)
			a.book.Entries[a.keys[string(raw)]] = e
			return nil
		})
}

// fold is the part of a notification that is nothing but its events.
type fold struct {
	state, reason, by  string
	version, last      int64
	final              bool
	stopped, withdrawn int64
}

// folds compares each notification with the fold of its events.
func (a *auditor) folds() error {
	folded := map[string]fold{}
	err := a.each(`SELECT notification, seq, version, coalesce(to_state, ''), coalesce(reason, ''), final, action, at, by_kind || by_id FROM events
		WHERE version IS NOT NULL ORDER BY seq`, func(scan func(...any) error) error {
		var raw []byte
		var ev fold
		var action string
		var at int64
		if err := scan(&raw, &ev.last, &ev.version, &ev.state, &ev.reason, &ev.final, &action, &at, &ev.by); err != nil {
			return err
		}
		f := folded[string(raw)]
		if ev.version != f.version+1 {
			a.find("event %d jumps from version %d to %d", ev.last, f.version, ev.version)
		}
		folded[string(raw)] = f.then(ev, action, at)
		return nil
	})
	if err != nil {
		return err
	}
	return a.each(`SELECT id, state, coalesce(reason, ''), version, last_seq, final, coalesce(stopped_at, 0), coalesce(withdrawn_at, 0),
		coalesce(stopped_kind, '') || coalesce(stopped_id, '') FROM notifications`, func(scan func(...any) error) error {
		var raw []byte
		var n fold
		if err := scan(&raw, &n.state, &n.reason, &n.version, &n.last, &n.final, &n.stopped, &n.withdrawn, &n.by); err != nil {
			return err
		}
		if f := folded[string(raw)]; f != n {
			a.find("I7: stored is %+v, the events say %+v", n, f)
		}
		return nil
	})
}

func (f fold) then(ev fold, action string, at int64) fold {
	live := []string{"", "accepted", "dispatching", "dispatch_unknown"}
	f.version, f.last, f.final = ev.version, ev.last, f.final || ev.final
	if action == string(dispatch.ActionWithdrawn) && f.withdrawn == 0 {
		f.withdrawn = at
	}
	if f.stopped == 0 && !slices.Contains(live, ev.state) {
		f.stopped, f.reason, f.by = at, ev.reason, ev.by
	}
	if ev.state != "" {
		f.state = ev.state
	}
	return f
}
