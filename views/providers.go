package views

import (
	"time"

	"sentonce/dispatch"
)

// Providers is the page of providers and the health of this service: /providers.
type Providers struct {
	Ranges   []Tab
	Live     Live
	Rows     []Provider
	MayPause bool
	System   []Fact
}

// Provider is one of them as it is now.
type Provider struct {
	Name, Kind string
	State      ProviderState
	Sentence   string // what its state means, and until when
	HeldBy     string // the person who paused it; "" when nobody did
	Breaker    string // "closed", "half-open", "open"
	InFlight   int
	AtOnce     int
	LastTaken  time.Time
	LastFailed time.Time
	Timeout    time.Duration
	Median     time.Duration // of the answers
	P95, P99   time.Duration
	Calls      int
	Sent       int
	Refused    int
	NotSent    int
	Unknown    int
	List       string // the calls with an unknown outcome
	Latency    *Chart
	Can        dispatch.Capabilities
}

// ProviderState is how a provider is shown.
type ProviderState string

// The states of a provider.
const (
	ProviderRunning  ProviderState = "running"
	ProviderPaused   ProviderState = "paused"   // by itself, for a while
	ProviderHeld     ProviderState = "held"     // by a person
	ProviderRefusing ProviderState = "refusing" // it refuses our account
	ProviderOpen     ProviderState = "open"     // its breaker is open
)

func (p ProviderState) status() Status {
	switch p {
	case ProviderRunning:
		return Status{GlyphDone, "Running", ToneGood, ""}
	case ProviderPaused:
		return Status{GlyphPause, "Short pause", ToneInfo, ""}
	case ProviderHeld:
		return Status{GlyphPause, "Paused by a person", ToneWarn, ""}
	case ProviderRefusing:
		return Status{GlyphRefused, "Refuses our account", ToneBad, ""}
	case ProviderOpen:
		return Status{GlyphAlert, "Stopped: too many doubts", ToneBad, ""}
	}
	return Status{GlyphAccepted, string(p), ToneNeutral, ""}
}

func (p Provider) facts() []Fact {
	return []Fact{
		{Name: "Calls under way", Text: Count(p.InFlight) + " of at most " + Count(p.AtOnce)},
		{Name: "Breaker", Text: breakerWords(p.Breaker)},
		{Name: "Last definite answer", Time: p.LastTaken},
		{Name: "Last failure or silence", Time: p.LastFailed},
		{Name: "Answers take", Text: "half of them " + Duration(p.Median) + ", 95 % " + Duration(p.P95) + ", 99 % " + Duration(p.P99)},
		{Name: "Given up after", Text: Duration(p.Timeout)},
	}
}

func (p Provider) rates() []Measure {
	return []Measure{{Label: "Sent", Value: p.Sent}, {Label: "Not sent, tried again", Value: p.NotSent}, {Label: "Refused", Value: p.Refused}, {Label: "Unknown", Value: p.Unknown, Path: p.List}}
}

func breakerWords(state string) string {
	switch state {
	case "closed":
		return "closed: calls are made"
	case "half-open":
		return "half open: single calls try it out"
	case "open":
		return "open: no new calls"
	}
	return state
}
