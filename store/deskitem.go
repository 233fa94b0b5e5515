package store

import (
	"context"
	"errors"
	"fmt"

	"sentonce/dispatch"
)

// DecisionView is all that a page needs to let people decide about one notification.
type DecisionView struct {
	Record        dispatch.Record
	Circumstances dispatch.Circumstances
	ProposedBy    string // the name behind Circumstances.Open
	Claim         WorkClaim
	Lookups       []dispatch.Lookup           // about the attempt in question, oldest first
	Receipts      int                         // delivery reports about it
	Names         map[dispatch.StaffID]string // of the people in it
}

// Undecided is the attempt about which a person can still say something: the one in doubt, else the last that was never known.
func (v DecisionView) Undecided() (dispatch.Attempt, bool) { return undecidedAttempt(v.Record) }

func undecidedAttempt(r dispatch.Record) (found dispatch.Attempt, ok bool) {
	for _, a := range r.Attempts {
		switch a.Outcome {
		case dispatch.OutcomeUnknown:
			return a, true
		case dispatch.OutcomeUndetermined:
			found, ok = a, true
		}
	}
	return found, ok
}

// DecisionView reads one notification as those who decide see it. The error is dispatch.ErrNotFound.
func (db *DB) DecisionView(ctx context.Context, id dispatch.NotificationID) (v DecisionView, err error) {
	now := db.cfg.Clock.Now()
	err = db.snapshot(ctx, func(q querier) error {
		if v.Record, err = loadRecord(q, "id = ?", blob(id)); err != nil {
			return err
		}
		if v.Circumstances, err = db.circumstances(q, now, v.Record); err != nil {
			return err
		}
		if v.Claim, err = claimOf(q, id, now); err != nil {
			return err
		}
		if v.Names, err = namesIn(q, v.Record); err != nil {
			return err
		}
		if p := v.Circumstances.Open; p != nil {
			if v.ProposedBy, err = staffName(q, p.By.ID); err != nil {
				return err
			}
		}
		if a, ok := v.Undecided(); ok {
			return v.around(q, a)
		}
		return nil
	})
	return v, err
}

// around reads what is known about an attempt.
func (v *DecisionView) around(q querier, a dispatch.Attempt) error {
	err := q.rows(`SELECT asked_at, result, candidates, by_kind, by_id FROM lookups WHERE notification = ? AND attempt = ? ORDER BY asked_at, id`,
		[]any{blob(v.Record.ID), a.Number}, func(scan func(...any) error) error {
			l := dispatch.Lookup{Attempt: a.Number, Provider: a.Provider}
			err := scan(at(&l.AskedAt), &l.Result, &l.Candidates, &l.By.Kind, &l.By.ID)
			v.Lookups = append(v.Lookups, l)
			return err
		})
	if err != nil {
		return fmt.Errorf("lookups: %w", err)
	}
	if err := q.row(`SELECT count(*) FROM receipts WHERE notification = ? AND attempt = ?`, []any{blob(v.Record.ID), a.Number}, &v.Receipts); err != nil {
		return fmt.Errorf("receipts: %w", err)
	}
	return nil
}

func staffName(q querier, id dispatch.StaffID) (name string, err error) {
	err = q.row(`SELECT name FROM staff WHERE id = ?`, []any{blob(id)}, &name)
	if errors.Is(err, dispatch.ErrNotFound) {
		return id.String(), nil
	}
	if err != nil {
		return "", fmt.Errorf("staff: %w", err)
	}
	return name, nil
}

// namesIn finds the names of the people who closed incidents.
func namesIn(q querier, r dispatch.Record) (map[dispatch.StaffID]string, error) {
	names := map[dispatch.StaffID]string{}
	for _, i := range r.Incidents {
		if i.ClosedBy.Kind != dispatch.ActorStaff {
			continue
		}
		id, err := dispatch.ParseStaffID(i.ClosedBy.ID)
		if err != nil {
			return nil, fmt.Errorf("incident %s: %w", i.ID, dispatch.ErrUnreadable)
		}
		if names[id], err = staffName(q, id); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// QuestionAbout makes the question to the provider about the attempt of a notification that is not known yet. The errors are
// dispatch.ErrNotFound, dispatch.ErrStale when everything is known, and dispatch.ErrUnreadable when the number is gone.
func (db *DB) QuestionAbout(ctx context.Context, id dispatch.NotificationID) (job dispatch.LookupJob, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		r, err := loadRecord(q, "id = ?", blob(id))
		if err != nil {
			return err
		}
		a, ok := undecidedAttempt(r)
		if !ok {
			return &dispatch.NotNowError{Why: "it is settled, or its call is under way"}
		}
		job, err = db.lookupJob(q, a.Ref(r.ID))
		return err
	})
	return job, err
}
