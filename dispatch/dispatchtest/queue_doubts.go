package dispatchtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"sentonce/dispatch"
)

// DueLookups implements dispatch.Doubts.
func (s *MemoryStore) DueLookups(ctx context.Context, now time.Time, limit int) ([]dispatch.LookupJob, error) {
	if err := s.begin(ctx, OpDue); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var jobs []dispatch.LookupJob
	for _, id := range s.order {
		r := s.records[id]
		for _, a := range r.Attempts {
			if !a.LookupAt.IsZero() && !a.LookupAt.After(now) {
				jobs = append(jobs, dispatch.LookupJob{Reference: a.Ref(id), Provider: a.Provider, UnknownSince: a.UnknownSince,
					ExpiresAt: r.ExpiresAt, Question: dispatch.Question{Reference: a.Ref(id), StartedAt: a.StartedAt, MessageID: a.MessageID}})
			}
		}
	}
	slices.SortStableFunc(jobs, func(a, b dispatch.LookupJob) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	return jobs[:min(len(jobs), limit)], nil
}

// NextLookup implements dispatch.Doubts.
func (s *MemoryStore) NextLookup(_ context.Context, now time.Time) (time.Time, bool, error) {
	return s.earliest(now, func(r *dispatch.Record) time.Time {
		var first time.Time
		for _, a := range r.Attempts {
			if a.LookupAt.After(now) && (first.IsZero() || a.LookupAt.Before(first)) {
				first = a.LookupAt
			}
		}
		return first
	})
}

// RecordLookup implements dispatch.Doubts.
func (s *MemoryStore) RecordLookup(ctx context.Context, l dispatch.LookupReport) (dispatch.LookupResult, error) {
	if err := s.begin(ctx, OpLookup); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	r := s.records[l.Job.Reference.Notification]
	t := s.terms()
	t.Schedule, t.Delay = l.Schedule, l.Delay
	concl := dispatch.Conclude(l.Finding, dispatch.Surroundings{Age: t.Now.Sub(l.Job.UnknownSince), Can: l.Can})
	row := dispatch.Lookup{Attempt: l.Job.Reference.Number, Provider: l.Job.Provider, AskedAt: l.AskedAt, By: l.By}
	c, err := r.RecordLookup(row, concl, l.AutoResolve, t)
	if err != nil {
		return "", err
	}
	*r = r.Apply(c)
	s.lookups = append(s.lookups, l)
	return concl.Result, nil
}

// EndLives implements dispatch.Lives.
func (s *MemoryStore) EndLives(ctx context.Context, unavailable bool, limit int) (int, error) {
	if err := s.begin(ctx, OpEnd); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	t := s.terms()
	t.Unavailable = unavailable
	n := 0
	for _, id := range s.order {
		r := s.records[id]
		c, err := r.Expire(t)
		if errors.Is(err, dispatch.ErrStale) {
			c, err = r.Finalise(t.Now)
		}
		if err != nil || n == limit {
			continue
		}
		*r = r.Apply(c)
		n++
	}
	return n, nil
}

// NextEnd implements dispatch.Lives.
func (s *MemoryStore) NextEnd(_ context.Context, now time.Time) (time.Time, bool, error) {
	return s.earliest(now, func(r *dispatch.Record) time.Time {
		switch {
		case r.State == dispatch.StateAccepted:
			return r.ExpiresAt.Add(time.Nanosecond - s.MinRemaining)
		case r.State == dispatch.StateUnknown:
			return r.ExpiresAt
		case r.State == dispatch.StateSent && !r.Final:
			return r.StoppedAt.Add(dispatch.ReceiptPatience)
		}
		return time.Time{}
	})
}
