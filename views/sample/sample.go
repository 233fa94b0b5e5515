// Package sample renders every page in every state from made-up data, for the gallery and for tests. No number, code or person in it is real.
package sample

import (
	"time"

	"github.com/a-h/templ"

	"sentonce/views"
)

// State is one page in one state.
type State struct {
	Name      string // unique; also a file name
	Group     string // the page
	Title     string // the state
	Component templ.Component
}

// Now is the instant at which all samples were made.
func Now() time.Time { return time.Date(2026, 11, 29, 14, 10, 0, 0, time.UTC) }

// ago is an instant before Now.
func ago(d time.Duration) time.Time { return Now().Add(-d) }

// in is an instant after Now.
func in(d time.Duration) time.Time { return Now().Add(d) }

// Options says how the pages are dressed.
type Options struct {
	Assets  views.Assets
	Theme   string
	Density string
}

// States lists every page in every state.
func States(o Options) []State {
	var all []State
	for _, part := range []func(Options) []State{overviewStates, listStates, itemStates, itemEndStates, decisionStates, workStates, bulkStates,
		clientStates, staffStates, providerStates, settingStates, auditStates, profileStates, entryStates, errorStates, shellStates} {
		all = append(all, part(o)...)
	}
	return all
}

// shell is the frame of a page for a member of staff.
func shell(o Options, path string) views.Shell {
	nav := views.Navigation()
	for i := range nav {
		nav[i].Current = nav[i].Path == path
		if nav[i].Path == views.PathUnknown {
			nav[i].Count = 12
		}
	}
	return views.Shell{
		Assets: o.Assets, Clock: clock(), Environment: views.Environment{Name: "TEST"},
		User: &views.User{Name: "A. Roe", Email: "a.roe@shop.example", Role: "Support"}, Nav: nav, Path: path, Theme: o.Theme,
		Density: o.Density, Live: true, Version: "0.4.0 (ace6997)",
	}
}

func clock() views.Clock {
	return views.Clock{Now: Now(), Zone: time.FixedZone("CET", 3600), Name: "Europe/Berlin"}
}

// bare is the frame of a page before sign-in.
func bare(o Options) views.Shell {
	s := shell(o, "")
	s.User, s.Nav = nil, nil
	return s
}
