package views

import (
	"time"

	"sentonce/dispatch"
)

// Worklist is the page of open doubts: /unknown.
type Worklist struct {
	Summary string // "12 open, the oldest for 41 min; 3 wait for approval."
	Open    int    // for the title
	Tabs    []Tab
	Live    Live // of the line that says that the list has changed
	Changed string
	Groups  []WorkGroup
	Query   string // the canonical query, for a bulk decision on all that match
	Matches int    // how many match the tab
	MayAct  bool   // claim, ask, decide
	Pager   Pager
	Empty   *Empty
}

// WorkGroup is one burst of doubts, or all that belong to none.
type WorkGroup struct {
	Burst  string // "7 through main, 10:02 to 10:09: request written, no answer"; "" for none
	Review string // the address of the preview for the whole burst
	Rows   []WorkRow
}

// WorkRow is one open doubt.
type WorkRow struct {
	ID         string
	State      dispatch.State
	Note       string
	ExpiresAt  time.Time
	Urgency    Tone // of the time left: bad, warn or neutral
	Since      time.Time
	LastAnswer string // of the provider, "" when it was not asked yet
	NextLookup time.Time
	Provider   string
	Phase      dispatch.Phase
	Recipient  Masked
	Claim      Claim
	Proposal   string // who proposed, "" when nothing waits
	Incident   bool
}

// BulkPreview shows what a bulk decision would do before it is made: POST /unknown/preview.
type BulkPreview struct {
	Set      string // the frozen set
	What     string // the selection in words
	Count    int    // that would be decided
	Cap      int
	ByGroup  []Measure // by provider and age
	Excluded []Exclusion
	Sample   []WorkRow
	Form     VerdictForm // its attempt and version are not used: the set has them
	Typed    string
	Back     string
}

// Exclusion is one item that is left out, and why.
type Exclusion struct{ ID, Why string }

// BulkRun is the page of one bulk decision: /unknown/bulk/{id}.
type BulkRun struct {
	ID         string
	What       string
	By         string
	StartedAt  time.Time
	FinishedAt time.Time
	Done, All  int
	Live       Live
	Outcomes   []Measure // result and count
	Rows       []BulkRow
	CSV        string // the address of the result of each row
	List       string // the list of these notifications
}

// BulkRow is what became of one item.
type BulkRow struct {
	ID     string
	Result string
	Done   bool
	Why    string
}

func columns(mayAct bool) int {
	if mayAct {
		return 8
	}
	return 7
}

func (r WorkRow) note() string {
	if r.Proposal != "" {
		return "Proposal by " + r.Proposal + " waits"
	}
	return r.Note
}

func (r WorkRow) asked() string {
	if r.LastAnswer == "" {
		return "not yet"
	}
	return r.LastAnswer
}
