package sample

import (
	"time"

	"sentonce/views"
)

func overviewStates(o Options) []State {
	s := shell(o, views.PathOverview)
	busy := overview()
	calm := overview()
	calm.Headline, calm.Tone = "Nothing needs you right now.", views.ToneGood
	for i := range calm.Tiles {
		if calm.Tiles[i].Tone != views.ToneNeutral {
			calm.Tiles[i].Tone = views.ToneGood
		}
	}
	calm.Tiles[0] = views.Tile{Label: "Oldest unknown", Value: "none", Note: "the limit is 5 min", Tone: views.ToneGood, Path: views.PathUnknown}
	calm.Tiles[1] = views.Tile{Label: "Unknown outcomes", Value: "0", Note: "none is open", Tone: views.ToneGood, Path: views.PathUnknown}
	calm.Tiles[2] = views.Tile{Label: "Waiting for approval", Value: "0", Note: "no proposal waits", Tone: views.ToneGood, Path: views.PathUnknown}
	empty := views.Overview{Headline: "Nothing has happened yet. As soon as a storefront hands over an event, it is counted here.", Tone: views.ToneInfo,
		Ranges: calm.Ranges, Tiles: calm.Tiles[1:4]}
	for _, c := range []struct {
		to    *views.Chart
		title string
	}{{&empty.Flow, "What became of what was accepted"}, {&empty.Doubts, "Doubts opened and settled"}, {&empty.Age, "Age of the oldest doubt"},
		{&empty.Latency, "How fast main answers"}, {&empty.Wait, "From acceptance to the first call"}} {
		c.to.ID, c.to.Title, c.to.Finding = "empty-"+c.title[:3], c.title, "No numbers yet."
	}
	empty.Finding = "No numbers yet."
	return []State{{"overview", "Overview", "Something needs a person", views.OverviewPage(s, busy)}, {"overview-calm", "Overview", "All is well", views.OverviewPage(s, calm)},
		{"overview-empty", "Overview", "The first minute", views.OverviewPage(s, empty)}}
}

func overview() views.Overview {
	ranges := []views.Tab{{Label: "1 hour", Path: "/?range=1h"}, {Label: "24 hours", Path: "/?range=24h", Current: true}, {Label: "7 days", Path: "/?range=7d"}, {Label: "30 days", Path: "/?range=30d"}}
	return views.Overview{
		Headline: "12 outcomes are unknown, and the oldest has been open for 8 min; the limit is 5 min.", Tone: views.ToneWarn, Ranges: ranges,
		Live: views.Live{Path: "/?range=24h&rev=97", Rev: 97},
		Tiles: []views.Tile{
			{Label: "Oldest unknown", Value: "8 min", Note: "the limit is 5 min", Tone: views.ToneBad, Path: views.PathUnknown},
			{Label: "Unknown outcomes", Value: "12", Note: "7 are not claimed", Tone: views.ToneWarn, Path: views.PathUnknown},
			{Label: "Waiting for approval", Value: "3", Note: "the first lapses in 3 min", Tone: views.ToneWarn, Path: "/unknown?tab=approval"},
			{Label: "Sending", Value: "Running", Note: "14 calls under way", Tone: views.ToneGood, Path: views.PathProviders},
			{Label: "Providers", Value: "1 of 2", Note: "backup is stopped: too many doubts", Tone: views.ToneBad, Path: views.PathProviders},
			{Label: "Accepted in 24 hours", Value: "8,412", Note: "99.6 % reached a provider", Tone: views.ToneNeutral, Path: views.PathNotifications},
			{Label: "Backup", Value: "3 h ago", Note: "it was checked by a restore", Tone: views.ToneGood},
			{Label: "Clock", Value: "In step", Note: "at most 3 ms off", Tone: views.ToneGood},
		},
		Flow:    chart("flow", "What became of what was accepted", "8,412 accepted; 0.4 % became unknown, three times the median of the last 7 days.", []string{"Sent or delivered", "Under way", "Refused or not delivered", "Outcome unknown", "Expired or withdrawn"}, ""),
		Doubts:  chart("doubts", "Doubts opened and settled", "41 opened, 29 settled; 12 are open.", []string{"Opened", "Settled", "Open"}, ""),
		Age:     line("age", "Age of the oldest doubt", "Above the limit since 14:07.", []string{"Oldest"}, "min", 5, "limit 5 min"),
		Latency: line("latency", "How fast main answers", "Half of the answers within 180 ms; the slowest hundredth comes close to the timeout.", []string{"Half of them", "95 %", "99 %"}, "ms", 10000, "timeout"),
		Wait:    line("wait", "From acceptance to the first call", "Half of them within 3 ms.", []string{"Half of them", "99 %"}, "ms", 0, ""),
		Settled: []views.Measure{{Label: "Found at the provider", Value: 18, Path: "/notifications?settled=lookup"}, {Label: "Delivery report", Value: 7, Path: "/notifications?settled=receipt"}, {Label: "Decided by a person: sent", Value: 2, Path: "/notifications?settled=sent"},
			{Label: "Decided by a person: not sent", Value: 1, Path: "/notifications?settled=not_sent"}, {Label: "Ended by the expiry", Value: 1, Path: "/notifications?settled=expiry"}},
		Finding: "25 of 29 by evidence, without a person.",
	}
}

func chart(id, title, finding string, series []string, unit string) views.Chart {
	c := views.Chart{ID: id, Title: title, Finding: finding, Series: series, Unit: unit}
	for i := range 24 {
		at := ago(time.Duration(24-i) * time.Hour)
		values := []int{240 + (i*53)%160, i % 3, (i * 5) % 9, 0, (i * 3) % 11}
		if i > 20 {
			values[3] = 14 - (23-i)*3
		}
		if len(series) == 3 {
			values = []int{(i*7)%4 + i/8, (i * 5) % 3, i / 2}
		}
		label := clock().In(at).Format("15:04")
		c.Bars = append(c.Bars, views.Bar{Label: label, Span: clock().In(at).Format("2 Jan 15:04") + " to " + clock().In(at.Add(time.Hour)).Format("15:04"), Values: values[:len(series)], Path: "/notifications?from=" + at.Format("2006-01-02T15:04")})
	}
	return c
}

func line(id, title, finding string, series []string, unit string, limit int, limitIs string) views.Chart {
	c := chart(id, title, finding, series[:1], unit)
	c.Series, c.Limit, c.LimitIs = series, limit, limitIs
	for i := range c.Bars {
		switch id {
		case "age":
			c.Bars[i].Values = []int{max(0, (i*3)%4-1+i/20*3)}
		case "latency":
			c.Bars[i].Values = []int{170 + (i*13)%40, 900 + (i*61)%500, 2600 + (i*997)%5200}
		default:
			c.Bars[i].Values = []int{2 + i%3, 11 + (i*7)%14}
		}
	}
	return c
}

func auditStates(o Options) []State {
	s := shell(o, views.PathAudit)
	s.User.Role = "Compliance"
	m := views.Audit{Actions: []views.Choice{{Value: "verdict_recorded", Label: "A verdict was recorded"}, {Value: "number_revealed", Label: "A number was revealed"}},
		Actors: []views.Choice{{Value: "staff", Label: "A person"}, {Value: "client", Label: "A storefront"}, {Value: "worker", Label: "This service"}},
		Rows: []views.AuditRow{
			{Seq: 48377, At: ago(65 * time.Second), Who: "A. Roe", How: "person", Action: "Claimed", Object: itemID, Path: views.NotificationPath(itemID), RequestID: "req_7f3a1c"},
			{Seq: 48376, At: ago(70 * time.Second), Who: "A. Roe", How: "person", Action: "Looked for a number", Object: "rcp_7k2m9q4x1v8b3n6c5z0d2f4h6j", Path: views.FilterByRecipient("rcp_7k2m9q4x1v8b3n6c5z0d2f4h6j"), RequestID: "req_7f3a0e"},
			{Seq: 48301, At: ago(5 * time.Minute), Who: "Shop North", How: "storefront, key “backend live”", Action: "Asked for again", Object: itemID, Path: views.NotificationPath(itemID), Detail: "2 repeats"},
			{Seq: 48263, At: ago(6 * time.Minute), Who: "main", How: "provider", Action: "Verdict recorded", Object: id(12), Path: views.NotificationPath(id(12)), Detail: "Outcome unknown → Sent to provider; a delivery report"},
			{Seq: 48119, At: ago(31 * time.Minute), Who: "D. Fox", How: "person", Action: "Setting changed", Object: "unknown_limit", Path: views.SettingPath("unknown_limit"), Detail: "10 min → 5 min, version 14", RequestID: "req_7f2b90"},
			{Seq: 48002, At: ago(2 * time.Hour), Who: "root on sms-1", How: "command line", Action: "Server started", Detail: "version 0.4.0"},
		},
		Pager:       views.Pager{Older: "/audit?before=48002", Shown: "6 of 48,377"},
		LastChecked: &views.Alert{Tone: views.ToneGood, Title: "Checked 4 min ago: 48,371 events, no gap."}}
	filtered := m
	filtered.Open, filtered.Action, filtered.Rows, filtered.Pager = true, "number_revealed", nil, views.Pager{}
	filtered.Chips = []views.Chip{{Label: "A number was revealed", Remove: views.PathAudit}}
	filtered.Empty = &views.Empty{Kind: views.NothingMatches, Title: "No such event", Text: "No number was revealed in the time that is kept.", Links: []views.Link{{Text: "Clear all filters", Path: views.PathAudit}}}
	es := shell(o, views.PathEvidence)
	return []State{{"audit", "Audit log", "Events", views.AuditPage(s, m)}, {"audit-empty", "Audit log", "Nothing matches", views.AuditPage(s, filtered)},
		{"evidence", "Evidence", "Not part of this version", views.EvidencePage(es)}}
}
