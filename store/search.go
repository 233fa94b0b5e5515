package store

import (
	"context"
	"fmt"

	"sentonce/dispatch"
)

// mostFound bounds what a search returns; more than that is no longer something that a person looks through.
const mostFound = 50

// shortestPrefix is how much of a notification's id has to be there: ten characters are the time, to the millisecond.
const shortestPrefix = 8

// Search finds notifications by an exact text that is not a number: the id (or the beginning of it) of a notification, the id of an attempt or
// of a piece of evidence, an event id, an idempotency key, or the provider's id of a message. Kind is the closed word for what was found that
// way, or "text" when nothing was. The newest come first, at most 50.
func (db *DB) Search(ctx context.Context, text string) (ids []dispatch.NotificationID, kind string, err error) {
	err = db.snapshot(ctx, func(q querier) error {
		for _, way := range searches(text) {
			found, err := readIDs(q, way.query, way.args...)
			if err != nil {
				return fmt.Errorf("search by %s: %w", way.kind, err)
			}
			if len(found) > 0 {
				ids, kind = found, way.kind
				return nil
			}
		}
		kind = "text"
		return nil
	})
	return ids, kind, err
}

type search struct {
	kind, query string
	args        []any
}

func searches(text string) (all []search) {
	add := func(kind, query string, args ...any) {
		all = append(all, search{kind, query + ` LIMIT ?`, append(args, mostFound)})
	}
	if first, last, err := dispatch.PrefixRange(text, shortestPrefix); err == nil {
		add("notification", `SELECT id FROM notifications WHERE id BETWEEN ? AND ? ORDER BY id DESC`, blob(first), blob(last))
		return all
	}
	if id, err := dispatch.ParseAttemptID(text); err == nil {
		add("attempt", `SELECT notification FROM attempts WHERE id = ?`, blob(id))
		return all
	}
	if kind, raw, err := dispatch.ParseEvidenceID(text); err == nil {
		table := map[string]string{"lookup": "lookups", "receipt": "receipts", "verdict": "verdicts", "incident": "incidents"}[kind]
		add(kind, `SELECT notification FROM `+table+` WHERE id = ? AND notification IS NOT NULL`, blob(raw))
		return all
	}
	add("event", `SELECT n.id FROM clients c CROSS JOIN notifications n ON n.client = c.id AND n.event_id = ? ORDER BY n.id DESC`, text)
	add("idempotency_key", `SELECT n.id FROM clients c CROSS JOIN notifications n ON n.client = c.id AND n.idempotency_key = ? ORDER BY n.id DESC`, text)
	add("provider_message", `SELECT DISTINCT notification FROM attempts WHERE message_id = ? ORDER BY notification DESC`, text)
	return all
}

func readIDs(q querier, query string, args ...any) (ids []dispatch.NotificationID, err error) {
	err = q.rows(query, args, func(scan func(...any) error) error {
		var id dispatch.NotificationID
		err := scan(into(id[:]))
		ids = append(ids, id)
		return err
	})
	return ids, err
}
