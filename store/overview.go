package store

import (
	"context"
	"fmt"
	"time"

	"sentonce/dispatch"
)

// HourCount is one counter of one hour: What is a state (of the notifications accepted in the hour, as they stand now), "opened" (doubts that
// began in it) or "settled:<grade>" (doubts that ended in it).
type HourCount struct {
	Hour time.Time
	What string
	N    int
}

// The counters that are not states.
const (
	CountOpened  = "opened"
	CountSettled = "settled:" // and the grade
)

// Hourly reads the counters of the hours in [from, to). Both are cut to whole hours of UTC.
func (db *DB) Hourly(ctx context.Context, from, to time.Time) (all []HourCount, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT hour, what, n FROM hourly WHERE hour >= ? AND hour < ? AND n <> 0 ORDER BY hour, what`,
			[]any{hourOf(from), hourOf(to)}, func(scan func(...any) error) error {
				var hour int64
				var c HourCount
				err := scan(&hour, &c.What, &c.N)
				c.Hour = time.UnixMilli(hour * time.Hour.Milliseconds()).UTC()
				all = append(all, c)
				return err
			})
	})
	return all, err
}

func hourOf(t time.Time) int64 { return t.UnixMilli() / time.Hour.Milliseconds() }

// CallCount is how many calls to a provider have an outcome.
type CallCount struct {
	Provider string
	Outcome  dispatch.Outcome
	N        int
}

// Calls sums the calls that began in the hours of [from, to), by provider and by what is known of them now.
func (db *DB) Calls(ctx context.Context, from, to time.Time) (all []CallCount, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT provider, outcome, sum(n) FROM hourly_calls WHERE hour >= ? AND hour < ? GROUP BY 1, 2 HAVING sum(n) > 0`,
			[]any{hourOf(from), hourOf(to)}, func(scan func(...any) error) error {
				var c CallCount
				err := scan(&c.Provider, &c.Outcome, &c.N)
				all = append(all, c)
				return err
			})
	})
	return all, err
}

// ClientNames lists the clients by name.
func (db *DB) ClientNames(ctx context.Context) (names map[dispatch.ClientID]string, err error) {
	names = map[dispatch.ClientID]string{}
	err = db.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT id, name FROM clients`, nil, func(scan func(...any) error) error {
			var id dispatch.ClientID
			var name string
			err := scan(into(id[:]), &name)
			names[id] = name
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	return names, nil
}

// Purposes lists the purposes that there are, each found by one probe; at most 100.
func (db *DB) Purposes(ctx context.Context) (all []string, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		return q.rows(`SELECT purpose FROM purposes ORDER BY purpose LIMIT 100`, nil, func(scan func(...any) error) error {
			var p string
			err := scan(&p)
			all = append(all, p)
			return err
		})
	})
	return all, err
}
