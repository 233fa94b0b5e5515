package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentonce/dispatch"
)

const (
	// BulkCap is the most that one bulk decision can hold.
	BulkCap = 500
	// bulkPatience is how long a set that was shown can be decided: after that nobody remembers what was in it.
	bulkPatience = 30 * time.Minute
	// bulkSlice is how many items one step carries out; each is its own transaction.
	bulkSlice = 20
)

// Bulk is one decision for many notifications. The set is fixed when it is shown.
type Bulk struct {
	ID         dispatch.BulkID
	By         dispatch.Person // the role is the one that the account has now
	Name       string
	What       string // the selection in words
	Query      string
	FrozenAt   time.Time
	Count      int               // to decide
	Decision   dispatch.Decision // the same for all; attempt and version are the items'
	StartedAt  time.Time         // zero: only shown so far
	FinishedAt time.Time
	Items      []BulkItem
}

// BulkItem is one notification of a bulk decision.
type BulkItem struct {
	N            int
	Notification dispatch.NotificationID
	Attempt      dispatch.AttemptID
	Version      int
	LeftOut      string // why it is not decided; "" when it is
	Result       string // settled, proposed or refused; "" until it was carried out
	Why          string
	At           time.Time
	Provider     string
	Since        time.Time // its doubt began
}

// BulkSelection is what a person wants to decide together: the ids, or what a list holds.
type BulkSelection struct {
	IDs   []dispatch.NotificationID
	List  *WorkQuery
	What  string
	Query string
	By    dispatch.Person
}

// FreezeBulk fixes a set, with what is left out and why. It changes no notification. The errors are dispatch.ErrForbidden and
// dispatch.ErrNotFound when nothing was selected.
func (db *DB) FreezeBulk(ctx context.Context, s BulkSelection) (id dispatch.BulkID, err error) {
	if !s.By.MayDecide() {
		return id, fmt.Errorf("decide with the role %s: %w", s.By.Role, dispatch.ErrForbidden)
	}
	ids := s.IDs
	if s.List != nil {
		w := *s.List
		w.After, w.Limit = WorkKey{}, BulkCap+1
		items, err := db.Worklist(ctx, w)
		if err != nil {
			return id, err
		}
		for _, item := range items {
			ids = append(ids, item.ID)
		}
	}
	if len(ids) == 0 {
		return id, fmt.Errorf("nothing is selected: %w", dispatch.ErrNotFound)
	}
	if len(ids) > BulkCap {
		ids = ids[:BulkCap]
		s.What += fmt.Sprintf(" (the first %d)", BulkCap)
	}
	err = db.write(ctx, "freeze a set", func(tx *Tx) error {
		id, err = db.freeze(tx, s, ids)
		return err
	})
	return id, err
}

func (db *DB) freeze(tx *Tx, s BulkSelection, ids []dispatch.NotificationID) (id dispatch.BulkID, err error) {
	if id, err = newID[dispatch.BulkID](tx); err != nil {
		return id, err
	}
	var items []BulkItem
	count := 0
	seen := map[dispatch.NotificationID]bool{}
	for _, n := range ids {
		if seen[n] {
			continue
		}
		seen[n] = true
		item, err := db.candidate(tx, n, s.By.ID)
		if err != nil {
			return id, err
		}
		if item.LeftOut == "" {
			count++
		}
		items = append(items, item)
	}
	if _, err := tx.exec(`INSERT INTO bulks (id, staff, what, query, frozen_at, count) VALUES (?, ?, ?, ?, ?, ?)`, blob(id), blob(s.By.ID), s.What,
		s.Query, ms(tx.Now), count); err != nil {
		return id, fmt.Errorf("bulk: %w", err)
	}
	for i, item := range items {
		_, err := tx.exec(`INSERT INTO bulk_items (bulk, n, notification, attempt, version, left_out) VALUES (?, ?, ?, ?, ?, ?)`, blob(id), i+1,
			item.Notification[:], item.Attempt[:], item.Version, text(item.LeftOut))
		if err != nil {
			return id, fmt.Errorf("bulk: %w", err)
		}
	}
	return id, nil
}

// candidate says whether one notification can be part of a bulk decision of a person.
func (db *DB) candidate(tx *Tx, id dispatch.NotificationID, by dispatch.StaffID) (item BulkItem, err error) {
	item.Notification = id
	r, err := loadRecord(tx, "id = ?", blob(id))
	if errors.Is(err, dispatch.ErrNotFound) {
		item.LeftOut = "there is no such notification"
		return item, nil
	}
	if err != nil {
		return item, err
	}
	held, err := claimOf(tx, id, tx.Now)
	if err != nil {
		return item, err
	}
	p, err := openProposal(tx, id)
	if err != nil {
		return item, err
	}
	a, ok := undecidedAttempt(r)
	item.Attempt, item.Version = a.ID, r.Version
	switch {
	case !ok:
		item.LeftOut = "it is settled"
	case !held.Staff.IsZero() && held.Staff != by:
		item.LeftOut = held.Name + " has claimed it"
	case p != nil && p.Status(r, db.terms(tx)) == dispatch.ProposalOpen:
		item.LeftOut = "a proposal to send it again waits"
	}
	return item, nil
}

// Bulk reads a bulk decision with its items. The error is dispatch.ErrNotFound.
func (db *DB) Bulk(ctx context.Context, id dispatch.BulkID) (b Bulk, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		if b, err = loadBulk(q, id); err != nil {
			return err
		}
		return q.rows(`SELECT i.n, i.notification, i.attempt, i.version, i.left_out, i.result, i.why, i.at, a.provider,
			coalesce(a.unknown_since, a.started_at) FROM bulk_items i
			LEFT JOIN attempts a ON a.notification = i.notification AND a.id = i.attempt WHERE i.bulk = ? ORDER BY i.n`, []any{blob(id)},
			func(scan func(...any) error) error {
				var i BulkItem
				err := scan(&i.N, into(i.Notification[:]), into(i.Attempt[:]), &i.Version, opt(&i.LeftOut), opt(&i.Result), opt(&i.Why), at(&i.At),
					opt(&i.Provider), at(&i.Since))
				b.Items = append(b.Items, i)
				return err
			})
	})
	return b, err
}

func loadBulk(q querier, id dispatch.BulkID) (b Bulk, err error) {
	b.ID = id
	err = q.row(`SELECT b.staff, s.email, s.role, s.name, b.what, b.query, b.frozen_at, b.count, b.ruling, b.next, b.reason_code, b.evidence_kind,
		b.evidence_ref, b.note, b.started_at, b.finished_at FROM bulks b JOIN staff s ON s.id = b.staff WHERE b.id = ?`, []any{blob(id)},
		into(b.By.ID[:]), &b.By.Email, &b.By.Role, &b.Name, &b.What, &b.Query, at(&b.FrozenAt), &b.Count, opt(&b.Decision.Ruling),
		opt(&b.Decision.Next), opt(&b.Decision.Reason), opt(&b.Decision.EvidenceKind), opt(&b.Decision.EvidenceRef), opt(&b.Decision.Note),
		at(&b.StartedAt), at(&b.FinishedAt))
	if err != nil {
		return b, fmt.Errorf("bulk decision %s: %w", id, err)
	}
	return b, nil
}

// BulkStart is the decision for a set that was shown.
type BulkStart struct {
	ID        dispatch.BulkID
	By        dispatch.Person
	Decision  dispatch.Decision // attempt and version are not used
	Typed     int               // the count that the person typed
	RequestID string
}

// Faults lists what is wrong with the form.
func (s BulkStart) Faults(count int) []dispatch.Fault {
	d := s.Decision.Trimmed()
	d.Attempt, d.Version = dispatch.AttemptID{1}, 1
	faults := d.Faults()
	if s.Typed != count {
		faults = append(faults, dispatch.Fault{Field: "count", Text: fmt.Sprintf("Type %d, the number of items.", count)})
	}
	return faults
}

// StartBulk begins to carry a bulk decision out; BulkStep does the work. The errors are dispatch.ErrForbidden (another person's set),
// *dispatch.FormError, dispatch.ErrNotFound, and *dispatch.NotNowError when it was started already or shown too long ago.
func (db *DB) StartBulk(ctx context.Context, s BulkStart) error {
	return db.write(ctx, "start a bulk decision", func(tx *Tx) error {
		b, err := loadBulk(tx, s.ID)
		switch {
		case err != nil:
			return err
		case !s.By.MayDecide() || b.By.ID != s.By.ID:
			return fmt.Errorf("decide another person's set: %w", dispatch.ErrForbidden)
		case !b.StartedAt.IsZero():
			return &dispatch.NotNowError{Why: "this set was decided already"}
		case b.Count == 0:
			return &dispatch.NotNowError{Why: "the set holds nothing that can be decided"}
		case tx.Now.Sub(b.FrozenAt) > bulkPatience:
			return &dispatch.NotNowError{Why: "the set was shown too long ago; make a new preview"}
		}
		if faults := s.Faults(b.Count); len(faults) > 0 {
			return &dispatch.FormError{Faults: faults}
		}
		d := s.Decision.Trimmed()
		if _, err := tx.exec(`UPDATE bulks SET ruling = ?, next = ?, reason_code = ?, evidence_kind = ?, evidence_ref = ?, note = ?, started_at = ?
			WHERE id = ?`, string(d.Ruling), string(d.Next), d.Reason, d.EvidenceKind, d.EvidenceRef, d.Note, ms(tx.Now), blob(s.ID)); err != nil {
			return fmt.Errorf("bulk: %w", err)
		}
		_, err = tx.event(dispatch.Event{By: s.By.Actor(), Action: dispatch.ActionBulkStarted, Cause: s.ID.String(), Count: int64(b.Count),
			RequestID: s.RequestID})
		return err
	})
}
