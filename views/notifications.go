package views

import (
	"time"

	"sentonce/dispatch"
)

// Notifications is the list: /notifications.
type Notifications struct {
	Live      Live // of the bar that offers newer rows
	Newer     int  // rows that came since the page was made
	NewerPath string
	Views     []SavedView
	Unsaved   bool     // the filter differs from the chosen view
	Query     string   // the canonical query of this list, for saving it
	MayShare  bool     // this person may save views for everybody
	Notices   []string // parameters that were not understood, each named
	Filter    NotificationFilter
	Chips     []Chip
	Histogram *Chart
	Export    string // the evidence page with this filter; "" when the role may not
	Rows      []NotificationRow
	Pager     Pager
	Empty     *Empty
}

// SavedView is a named filter.
type SavedView struct {
	ID, Name, Path string
	Shared         bool // everybody sees it
	Own            bool // this person may delete it
	Current        bool
}

// NotificationFilter is the form of filters as it was sent. Its fields are parameters of the address.
type NotificationFilter struct {
	States                            []Choice // state, repeated
	Reason, Provider, Client, Purpose []Choice
	ReasonValue, ProviderValue        string
	ClientValue, PurposeValue         string
	Recipient                         string // a pseudonym
	From, To                          string // "2006-01-02T15:04", in the page's zone
	Attempts                          string // at least so many
	Open                              bool   // the form is unfolded
	Errors                            FieldErrors
}

// NotificationRow is one line of the list.
type NotificationRow struct {
	ID         string
	AcceptedAt time.Time
	State      dispatch.State
	Note       string // a few words under the state: why it stopped, or what it waits for
	Purpose    string
	Recipient  Masked
	Attempts   int
	Provider   string
	ExpiresAt  time.Time
	Client     string
	Incident   bool
}
