package sample

import (
	"fmt"
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

func workStates(o Options) []State {
	var all []State
	add := func(name, title string, m views.Worklist) {
		all = append(all, State{name, "Unknown worklist", title, views.WorklistPage(shell(o, views.PathUnknown), m)})
	}
	add("unknown", "Open doubts, one burst", worklist())
	changed := worklist()
	changed.Changed, changed.MayAct = "The list has changed: 2 new, 1 settled", false
	for i := range changed.Groups {
		for j := range changed.Groups[i].Rows {
			changed.Groups[i].Rows[j].Claim.MayClaim = false
		}
	}
	add("unknown-auditor", "Seen by an auditor, the list has changed", changed)
	late := worklist()
	late.Tabs = workTabs("Expired, not yet known")
	late.Groups = []views.WorkGroup{{Rows: late.Groups[1].Rows[1:2]}}
	row := &late.Groups[0].Rows[0]
	row.State, row.ExpiresAt, row.Note = dispatch.StateExpired, ago(26*time.Minute), "in doubt; nothing is sent"
	add("unknown-expired", "The lifetime is over, the truth is not yet known", late)
	none := worklist()
	none.Groups, none.Open, none.Summary, none.Pager = nil, 0, "Nothing is open.", views.Pager{}
	none.Empty = &views.Empty{Kind: views.NothingYet, Title: "Nothing is in doubt",
		Text: "When a call to a provider ends without a definite answer, it stands here until it is known what became of it."}
	add("unknown-none", "Nothing is open", none)
	return all
}

func workTabs(current string) []views.Tab {
	tabs := []views.Tab{{Label: "Mine", Count: "2"}, {Label: "Unclaimed", Count: "7"}, {Label: "Waiting for approval", Count: "3"},
		{Label: "Asked automatically", Count: "9"}, {Label: "All open", Count: "12"}, {Label: "Expired, not yet known", Count: "4"}, {Label: "Settled"}}
	for i := range tabs {
		tabs[i].Path, tabs[i].Current = fmt.Sprintf("/unknown?tab=%d", i), tabs[i].Label == current
	}
	return tabs
}

func worklist() views.Worklist {
	m := views.Worklist{Open: 12, Summary: "12 open, the oldest for 8 min; 3 wait for approval. The least time left comes first.", Tabs: workTabs("All open"),
		Live: views.Live{Path: "/unknown?rev=212", Rev: 212}, Query: "tab=4", Matches: 12, MayAct: true, Pager: views.Pager{Older: "/unknown?after=a", Shown: "10 of 12"},
		Groups: []views.WorkGroup{{Burst: "7 through main, 15:02 to 15:09, all “request written, no answer”", Review: "/unknown?burst=main-1502"}, {}}}
	for i := range 10 {
		g := 0
		if i >= 7 {
			g = 1
		}
		m.Groups[g].Rows = append(m.Groups[g].Rows, workRow(i))
	}
	return m
}

func workRow(i int) views.WorkRow {
	r := views.WorkRow{ID: id(i), State: dispatch.StateUnknown, ExpiresAt: in(time.Duration(52+i*i*9+i*31) * time.Second), Urgency: views.ToneNeutral,
		Since: ago(time.Duration(8*60-i*37) * time.Second), LastAnswer: "nothing found", NextLookup: in(time.Duration(12+i*9) * time.Second), Provider: "main",
		Phase: dispatch.PhaseWritten, Recipient: masked("DE", fmt.Sprintf("%02d", (i*37+11)%100)), Claim: views.Claim{MayClaim: true}}
	switch {
	case r.ExpiresAt.Before(in(time.Minute)):
		r.Urgency = views.ToneBad
	case r.ExpiresAt.Before(in(3 * time.Minute)):
		r.Urgency = views.ToneWarn
	}
	switch i {
	case 1:
		r.Claim = views.Claim{By: "A. Roe", Mine: true, Until: in(2 * time.Minute)}
	case 3:
		r.Proposal = "B. Poe"
	case 7:
		r.Provider, r.Phase, r.LastAnswer, r.NextLookup = "backup", dispatch.PhaseResponding, "", time.Time{}
	case 8:
		r.Claim, r.Incident, r.Phase = views.Claim{By: "B. Poe", Until: in(9 * time.Minute)}, true, ""
	}
	return r
}

func bulkStates(o Options) []State {
	s := shell(o, views.PathUnknown)
	preview := views.BulkPreview{Set: "set_01kb7", What: "The burst through main, 15:02 to 15:09", Count: 14, Cap: 500, Back: views.PathUnknown,
		ByGroup: []views.Measure{{Label: "main, open for 5 to 10 min", Value: 11, Path: "/unknown?burst=1"}, {Label: "main, open for less than 5 min", Value: 3, Path: "/unknown?burst=2"}},
		Excluded: []views.Exclusion{{ID: id(40), Why: "claimed by B. Poe"}, {ID: id(41), Why: "new evidence came while you looked: a delivery report"},
			{ID: id(42), Why: "its lifetime has ended"}},
		Sample: worklist().Groups[0].Rows[:4], Form: *form()}
	fault := preview
	fault.Typed, fault.Form.Verdict, fault.Form.Reason, fault.Form.EvidenceKind, fault.Form.EvidenceRef = "12", "sent", "provider_log", "provider_log", "export 1 to 212"
	fault.Form.Note = "All of them are in the export of the console."
	fault.Form.Errors = views.FieldErrors{{Field: "count", Text: "You typed 12, and the set has 14 items. Look at the list again, then type 14."}}
	run := views.BulkRun{ID: "blk_01kb7v6", What: "14 items of the burst through main, 15:02 to 15:09: sent", By: "A. Roe", StartedAt: ago(4 * time.Second), Done: 9, All: 14,
		Live: views.Live{Path: "/unknown/bulk/blk_01kb7v6?rev=9", Rev: 9}, Outcomes: []views.Measure{{Label: "Decided", Value: 8, Path: "/notifications?bulk=blk_01kb7v6"},
			{Label: "Left out", Value: 1}}, List: "/notifications?bulk=blk_01kb7v6"}
	done := run
	done.Live, done.FinishedAt, done.Done, done.CSV = views.Live{}, ago(time.Second), 14, "/unknown/bulk/blk_01kb7v6.csv"
	done.Outcomes = []views.Measure{{Label: "Decided", Value: 13, Path: "/notifications?bulk=blk_01kb7v6"}, {Label: "Left out", Value: 1}}
	done.Rows = []views.BulkRow{{ID: id(1), Result: "Decided: sent", Done: true}, {ID: id(2), Result: "Decided: sent", Done: true},
		{ID: id(3), Result: "Left out", Why: "a delivery report settled it first"}}
	state := func(name, title string, c views.BulkPreview) State {
		return State{name, "Bulk decision", title, views.BulkPreviewPage(s, c)}
	}
	return []State{state("bulk-preview", "Preview with exclusions", preview), state("bulk-preview-fault", "The typed count does not fit", fault),
		{"bulk-running", "Bulk decision", "Running", views.BulkRunPage(s, run)}, {"bulk-done", "Bulk decision", "Finished", views.BulkRunPage(s, done)}}
}
