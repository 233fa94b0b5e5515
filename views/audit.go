package views

import "time"

// Audit is the audit log: /audit. It is always in UTC.
type Audit struct {
	Notices     []string
	Actions     []Choice
	Actors      []Choice // kinds
	Action      string
	Actor       string
	From, To    string // "2006-01-02T15:04", UTC
	Object      string
	Open        bool
	Errors      FieldErrors
	Chips       []Chip
	Rows        []AuditRow
	Pager       Pager
	Empty       *Empty
	LastChecked *Alert // what the last verification found
}

// AuditRow is one event.
type AuditRow struct {
	Seq       int64
	At        time.Time
	Who, How  string // the actor's name at that time, and its kind
	Action    string // in words
	Object    string
	Path      string // of the object; "" when it has no page
	Detail    string // the change of state, the reason
	RequestID string
}
