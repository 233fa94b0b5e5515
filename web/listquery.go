package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// listQuery is the address of a list, read: its filter, its cut, and what was not understood.
type listQuery struct {
	filter  store.Filter
	cut     store.Cut
	notices []string
	errors  views.FieldErrors
	badCut  bool // the cursor is damaged
}

// The sizes of a page.
const (
	usualRows = 50
	fewRows   = 25
	manyRows  = 100
)

// mostIDs is how many notifications one address may name.
const mostIDs = 50

// readList reads the query of /notifications. Times without a zone are in the person's. Nothing is dropped in silence: what is not known or
// not understood is named in a notice, by its parameter alone.
func readList(values url.Values, zone *time.Location) (q listQuery) {
	q.cut.Limit = usualRows
	for _, name := range sortedKeys(values) {
		for _, v := range values[name] {
			if v != "" && !q.take(name, strings.TrimSpace(v), zone) {
				q.notices = append(q.notices, notUnderstood(name))
			}
		}
	}
	if !q.filter.From.IsZero() && !q.filter.To.IsZero() && !q.filter.From.Before(q.filter.To) {
		q.errors = append(q.errors, views.FieldError{Field: "to", Text: "The end must be later than the beginning."})
	}
	if !q.cut.Before.IsZero() && !q.cut.After.IsZero() {
		q.badCut = true
	}
	slices.SortFunc(q.filter.States, func(a, b dispatch.State) int {
		return slices.Index(dispatch.States(), a) - slices.Index(dispatch.States(), b)
	})
	q.filter.States = slices.Compact(q.filter.States)
	return q
}

func sortedKeys(values url.Values) []string {
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func notUnderstood(name string) string {
	if len(name) > 40 {
		name = name[:40] + "…"
	}
	if !slices.Contains(listParameters(), name) {
		return "This list has no filter “" + name + "”; it was left out."
	}
	return "The value of “" + name + "” is not understood; the filter was left out."
}

// listParameters are the parameters of the list, in their canonical order.
func listParameters() []string {
	return []string{"state", "reason", "provider", "client", "purpose", "recipient", "id", "from", "to", "day", "attempts", "rows", "before", "after"}
}

// take reads one parameter and reports whether it was understood.
func (q *listQuery) take(name, v string, zone *time.Location) (ok bool) {
	f := &q.filter
	var err error
	switch name {
	case "state":
		s := dispatch.State(v)
		f.States, ok = append(f.States, s), slices.Contains(dispatch.States(), s)
		if !ok {
			f.States = f.States[:len(f.States)-1]
		}
		return ok
	case "reason":
		if ok = slices.Contains(dispatch.Reasons(), dispatch.Reason(v)); ok {
			f.Reason = dispatch.Reason(v)
		}
		return ok
	case "provider":
		f.Provider = v
		return len(v) <= 100
	case "purpose":
		f.Purpose = v
		return len(v) <= 64
	case "client":
		f.Client, err = dispatch.ParseClientID(v)
	case "recipient":
		f.Recipient, err = dispatch.ParseRecipientRef(v)
	case "id":
		id, err := dispatch.ParseNotificationID(v)
		if err == nil && len(f.IDs) < mostIDs {
			f.IDs = append(f.IDs, id)
		}
		return err == nil
	case "from":
		f.From, err = readTime(v, zone)
	case "to":
		f.To, err = readTime(v, zone)
	case "day":
		var day time.Time
		if day, err = time.ParseInLocation(time.DateOnly, v, zone); err == nil {
			f.From, f.To = day, day.AddDate(0, 0, 1)
		}
	case "attempts":
		f.Attempts, err = strconv.Atoi(v)
		if err == nil && (f.Attempts < 0 || f.Attempts > 1000) {
			f.Attempts = 0
			return false
		}
	case "rows":
		n, err := strconv.Atoi(v)
		if ok = err == nil && (n == fewRows || n == usualRows || n == manyRows); ok {
			q.cut.Limit = n
		}
		return ok
	case "before":
		q.cut.Before, err = dispatch.ParseNotificationID(v)
		q.badCut = q.badCut || err != nil
		return true
	case "after":
		q.cut.After, err = dispatch.ParseNotificationID(v)
		q.badCut = q.badCut || err != nil
		return true
	default:
		return false
	}
	return err == nil
}

// readTime reads an instant: RFC 3339 with a zone, or without one in the given zone; a date alone is its midnight.
func readTime(v string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t.UTC().Truncate(time.Millisecond), nil
	}
	var err error
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly} {
		var t time.Time
		if t, err = time.ParseInLocation(layout, v, zone); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, err
}

// pair is one parameter of a canonical query.
type pair struct{ name, value string }

// pairs are the parameters of a filter in their canonical order. Times are in UTC, so that the address means the same to everybody.
func pairs(f store.Filter) (all []pair) {
	add := func(name, value string) {
		if value != "" {
			all = append(all, pair{name, value})
		}
	}
	for _, s := range f.States {
		add("state", string(s))
	}
	add("reason", string(f.Reason))
	add("provider", f.Provider)
	add("client", f.Client.String())
	add("purpose", f.Purpose)
	add("recipient", f.Recipient.String())
	for _, id := range f.IDs {
		add("id", id.String())
	}
	add("from", writeTime(f.From))
	add("to", writeTime(f.To))
	if f.Attempts > 0 {
		add("attempts", strconv.Itoa(f.Attempts))
	}
	return all
}

func writeTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.999Z")
}

func encodePairs(all []pair) string {
	parts := make([]string, len(all))
	for i, p := range all {
		parts[i] = p.name + "=" + url.QueryEscape(p.value)
	}
	return strings.Join(parts, "&")
}

// query is the canonical query of a list, without its cut.
func (q listQuery) query() string {
	all := pairs(q.filter)
	if q.cut.Limit != usualRows {
		all = append(all, pair{"rows", strconv.Itoa(q.cut.Limit)})
	}
	return encodePairs(all)
}

// whole is the canonical query with its cut.
func (q listQuery) whole() string {
	return joinQuery(q.query(), encodePairs(slices.Concat(cursor("before", q.cut.Before), cursor("after", q.cut.After))))
}

func cursor(name string, id dispatch.NotificationID) []pair {
	if id.IsZero() {
		return nil
	}
	return []pair{{name, id.String()}}
}

func joinQuery(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "&" + b
}

// withQuery is the address of a path with a query.
func withQuery(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}
