package store

import (
	"slices"
	"strings"
	"time"

	"sentonce/dispatch"
)

// A source is where a list's ids come from: one or more indexes, each in the order of the ids, with what the index does not know as further
// terms. Several branches are merged.
type source struct {
	branches []branch
	terms    []term
	from, to time.Time // accepted in [from, to)
}

// branch is one index: a FROM clause, its own terms, and the column that is the id there.
type branch struct {
	from, key string
	terms     []term
}

type term struct {
	sql  string
	args []any
}

// idSlack is by how much the time in an id may lie before the time of acceptance: an admission makes its id, then waits for its commit, at
// most for as long as a request may take. Ranges of time are cut by the id within the slack, and by the exact time among those.
const idSlack = 2 * time.Minute

// probed is how many entries of an index are looked at to learn whether it is narrow.
const probed = 2000

// source picks the narrowest index for a filter.
func (f Filter) source(q querier) (source, error) {
	candidates := f.candidates()
	best, least := candidates[0], probed+1
	for _, c := range candidates {
		if len(candidates) == 1 {
			break
		}
		s := source{branches: c.branches} // without its terms: the index alone
		query, args := s.ids(dispatch.NotificationID{}, dispatch.NotificationID{}, probed)
		var n int
		if err := q.row(`SELECT count(*) FROM (`+query+`)`, args, &n); err != nil {
			return source{}, err
		}
		if n < least {
			best, least = c, n
		}
	}
	return best, nil
}

// candidates are the indexes that could serve a filter, the likely narrowest first. Each leaves to its terms what it does not know itself.
func (f Filter) candidates() (all []source) {
	add := func(without Filter, branches ...branch) {
		all = append(all, source{branches, without.residue(), f.From, f.To})
	}
	const notifications = `notifications n INDEXED BY `
	if len(f.IDs) > 0 {
		rest := f
		rest.IDs = nil
		add(rest, branch{from: `notifications n`, key: `n.id`, terms: []term{inIDs(f.IDs)}})
		return all
	}
	if !f.Recipient.IsZero() {
		rest := f
		rest.Recipient = dispatch.RecipientRef{}
		add(rest, branch{notifications + `notifications_recipient`, `n.id`, []term{{`n.recipient = ?`, []any{blob(f.Recipient)}}}})
	}
	if f.Attempts > 1 {
		rest := f
		rest.Attempts = 0
		add(rest, branch{`attempts a INDEXED BY attempts_again CROSS JOIN notifications n ON n.id = a.notification`, `a.notification`,
			[]term{{`a.number > 1 AND a.number = ?`, []any{f.Attempts}}}})
	}
	if f.Reason != "" && f.Reason != dispatch.ReasonProviderAccepted {
		rest := f
		rest.Reason = ""
		add(rest, branch{notifications + `notifications_reason`, `n.id`,
			[]term{{`n.reason <> 'provider_accepted' AND n.reason = ?`, []any{string(f.Reason)}}}})
	}
	if len(f.States) > 0 {
		rest := f
		rest.States = nil
		add(rest, stateBranches(f.States)...)
	}
	if f.Provider != "" {
		rest := f
		rest.Provider = ""
		add(rest, branch{`attempts a INDEXED BY attempts_provider CROSS JOIN notifications n ON n.id = a.notification`, `a.notification`,
			[]term{{`a.number > 0 AND a.provider = ? AND NOT EXISTS (SELECT 1 FROM attempts b WHERE b.notification = a.notification
				AND b.number < a.number AND b.provider = a.provider)`, []any{f.Provider}}}})
	}
	if !f.Client.IsZero() {
		rest := f
		rest.Client = dispatch.ClientID{}
		add(rest, branch{notifications + `notifications_client`, `n.id`, []term{{`n.version > 0 AND n.client = ?`, []any{blob(f.Client)}}}})
	}
	if len(all) == 0 {
		add(f, branch{from: `notifications n`, key: `n.id`})
	}
	return all
}

func inIDs(ids []dispatch.NotificationID) term {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = blob(id)
	}
	return term{`n.id IN (` + placeholders(len(ids)) + `)`, args}
}

func stateBranches(states []dispatch.State) (all []branch) {
	for _, s := range states {
		all = append(all, branch{`notifications n INDEXED BY notifications_state`, `n.id`,
			[]term{{`n.version > 0 AND n.state = ?`, []any{string(s)}}}})
	}
	return all
}

// residue is the filter as terms on the notification n.
func (f Filter) residue() (all []term) {
	add := func(sql string, args ...any) { all = append(all, term{sql, args}) }
	if len(f.States) > 0 {
		args := make([]any, len(f.States))
		for i, s := range f.States {
			args[i] = string(s)
		}
		add(`n.state IN (`+placeholders(len(args))+`)`, args...)
	}
	if f.Reason != "" {
		add(`n.reason = ?`, string(f.Reason))
	}
	if f.Provider != "" {
		add(`EXISTS (SELECT 1 FROM attempts r WHERE r.notification = n.id AND r.provider = ?)`, f.Provider)
	}
	if !f.Client.IsZero() {
		add(`n.client = ?`, blob(f.Client))
	}
	if f.Purpose != "" {
		add(`n.purpose = ?`, f.Purpose)
	}
	if !f.Recipient.IsZero() {
		add(`n.recipient = ?`, blob(f.Recipient))
	}
	if f.Attempts > 0 {
		add(`EXISTS (SELECT 1 FROM attempts m WHERE m.notification = n.id AND m.number = ?)`, f.Attempts)
	}
	return all
}

// span is the range of time as terms, the coarse one on the branch's own key.
func (s source) span(key string) (all []term) {
	if !s.from.IsZero() {
		all = append(all, term{`n.accepted_at >= ? AND ` + key + ` >= ?`, []any{s.from.UnixMilli(), idFloor(s.from.Add(-idSlack))}})
	}
	if !s.to.IsZero() {
		all = append(all, term{`n.accepted_at < ? AND ` + key + ` < ?`, []any{s.to.UnixMilli(), idFloor(s.to)}})
	}
	return all
}

// idFloor is the least id of an instant.
func idFloor(t time.Time) []byte {
	b := make([]byte, 16)
	ms := uint64(max(t.UnixMilli(), 0))
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	return b
}

// ids is the statement that gives the ids of a list as the column id: newest first, or with after the nearest newer ones first.
func (s source) ids(before, after dispatch.NotificationID, limit int) (query string, args []any) {
	order, step := `DESC`, term{}
	switch {
	case !after.IsZero():
		order, step = `ASC`, term{` > ?`, []any{blob(after)}}
	case !before.IsZero():
		step = term{` < ?`, []any{blob(before)}}
	}
	var parts []string
	for _, b := range s.branches {
		part, own := b.statement(slices.Concat(b.terms, step.on(b.key), s.terms, s.span(b.key)), order)
		parts, args = append(parts, part), append(append(args, own...), limit)
	}
	if len(parts) == 1 {
		return parts[0], args
	}
	return `SELECT id FROM (SELECT id FROM (` + strings.Join(parts, `) UNION ALL SELECT id FROM (`) + `)) ORDER BY id ` + order + ` LIMIT ?`,
		append(args, limit)
}

// on is a comparison applied to a column; the zero term is none.
func (t term) on(key string) []term {
	if t.sql == "" {
		return nil
	}
	return []term{{key + t.sql, t.args}}
}

func (b branch) statement(terms []term, order string) (query string, args []any) {
	var where []string
	for _, t := range terms {
		where, args = append(where, t.sql), append(args, t.args...)
	}
	query = `SELECT ` + b.key + ` AS id FROM ` + b.from
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, ` AND `)
	}
	return query + ` ORDER BY ` + b.key + ` ` + order + ` LIMIT ?`, args
}
