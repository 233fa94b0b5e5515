package store

import (
	"context"
	"maps"
	"sync"
	"time"

	"sentonce/dispatch"
)

// tally counts, since this process began, what the metrics show as ever-growing figures. The writer adds to it after each commit.
type tally struct {
	mu       sync.Mutex
	expired  map[dispatch.Reason]int64
	resolved map[dispatch.Grade]int64
}

// settled is what one committed effect adds to the tally.
type settled struct {
	expired dispatch.Reason // why a life ended
	grade   dispatch.Grade  // on what a doubt was settled
}

// settledBy reads an effect on a record as it was before it.
func settledBy(before dispatch.Record, ev dispatch.Event) (s settled) {
	if ev.To == dispatch.StateExpired {
		s.expired = ev.Reason
	}
	if ev.Action == dispatch.ActionVerdictRecorded && before.Attempts[ev.Attempt-1].Outcome == dispatch.OutcomeUnknown {
		s.grade = ev.Grade
	}
	return s
}

func (t *tally) add(all []settled) {
	if len(all) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expired == nil {
		t.expired, t.resolved = map[dispatch.Reason]int64{}, map[dispatch.Grade]int64{}
	}
	for _, s := range all {
		if s.expired != "" {
			t.expired[s.expired]++
		}
		if s.grade != "" {
			t.resolved[s.grade]++
		}
	}
}

// copy returns the counts of the moment.
func (t *tally) copy() (expired map[dispatch.Reason]int64, resolved map[dispatch.Grade]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.expired), maps.Clone(t.resolved)
}

// Gauges are the figures of the metrics, each read from an index.
type Gauges struct {
	Waiting          int64         // accepted notifications
	OldestDue        time.Duration // how long the longest waiting one has been due
	UnknownOpen      int64
	UnknownOldestAge time.Duration
	IncidentsOpen    int64
	WALBytes         int64

	Expired  map[dispatch.Reason]int64 // lives ended since the process began, by reason
	Resolved map[dispatch.Grade]int64  // doubts settled since the process began, by grade
}

// Gauges reads the figures of the moment.
func (db *DB) Gauges(ctx context.Context) (g Gauges, err error) {
	var due, since time.Time
	err = db.queryRow(ctx, `SELECT
		(SELECT count(*) FROM notifications WHERE state = 'accepted'),
		(SELECT min(due_at) FROM notifications WHERE state = 'accepted'),
		(SELECT count(*) FROM notifications WHERE state = 'dispatch_unknown'),
		(SELECT min(unknown_since) FROM attempts WHERE outcome IN ('pending', 'unknown')),
		(SELECT count(*) FROM incidents WHERE closed_at IS NULL)`, nil,
		&g.Waiting, at(&due), &g.UnknownOpen, at(&since), &g.IncidentsOpen)
	now := db.cfg.Clock.Now()
	if !due.IsZero() {
		g.OldestDue = max(0, now.Sub(due))
	}
	if !since.IsZero() {
		g.UnknownOldestAge = max(0, now.Sub(since))
	}
	g.WALBytes = db.WALBytes()
	g.Expired, g.Resolved = db.tally.copy()
	return g, err
}
