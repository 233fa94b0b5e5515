package sample

import (
	"fmt"
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

func id(n int) string { return fmt.Sprintf("ntf_01kb7v2q%02dx9f3m0zc8hwd5t6r", n%100) }

func masked(country, hint string) views.Masked {
	return views.Masked{Country: country, Hint: hint, Ref: "rcp_7k2m9q4x1v8b3n6c5z0d2f4h6j"}
}

func listStates(o Options) []State {
	empty := func(e views.Empty, change func(*views.Notifications)) views.Notifications {
		m := list()
		m.Rows, m.Histogram, m.Empty, m.Pager = nil, nil, &e, views.Pager{}
		change(&m)
		return m
	}
	page := func(m views.Notifications) State {
		return State{Component: views.NotificationsPage(shell(o, views.PathNotifications), m)}
	}
	named := func(name, title string, m views.Notifications) State {
		s := page(m)
		s.Name, s.Group, s.Title = name, "Notifications", title
		return s
	}
	filtered := list()
	filtered.Filter.Open = true
	filtered.Filter.Recipient = "rcp_7k2m9q4x1v8b3n6c5z0d2f4h6j"
	filtered.Unsaved, filtered.Newer, filtered.Export = true, 12, views.PathEvidence
	filtered.NewerPath = views.PathNotifications
	filtered.Notices = []string{"The address has a filter that does not exist here, “colour”. It was left out."}
	filtered.Chips = []views.Chip{{Label: "Recipient DE ••78", Remove: "/notifications?state=dispatch_unknown"}, {Label: "Status: Outcome unknown", Remove: "/notifications"}}
	faulty := list()
	faulty.Filter.Open = true
	faulty.Filter.From, faulty.Filter.To = "2026-11-29T16:00", "2026-11-29T15:00"
	faulty.Filter.Errors = views.FieldErrors{{Field: "to", Text: "The end of the time range is before its start."}}
	return []State{
		named("notifications", "Rows of every state", list()),
		named("notifications-filtered", "Filtered, newer rows waiting, an unknown parameter", filtered),
		named("notifications-filter-fault", "A filter that cannot be", faulty),
		named("notifications-nothing-yet", "Nothing yet", empty(views.Empty{Kind: views.NothingYet, Title: "No notifications yet",
			Text: "As soon as a storefront hands over an event, it stands here with everything that happens to it.",
			Code: "curl -X POST https://sms.example.org/v1/notifications \\\n  -H 'Authorization: Bearer sk_test_…' \\\n  -H 'Idempotency-Key: try-1' \\\n  -H 'Content-Type: application/json' -d @event.json"},
			func(*views.Notifications) {})),
		named("notifications-nothing-matches", "Nothing matches", empty(views.Empty{Kind: views.NothingMatches, Title: "Nothing matches these filters",
			Text: "No notification of the last 24 hours is both refused and sent through “backup”. Take a filter away, or clear all.", Links: []views.Link{{Text: "Clear all filters", Path: views.PathNotifications}}},
			func(m *views.Notifications) {
				m.Chips = []views.Chip{{Label: "Status: Refused", Remove: "/notifications?provider=backup"}, {Label: "Provider: backup", Remove: "/notifications?state=failed"}}
			})),
		named("notifications-purged", "Not available any more", empty(views.Empty{Kind: views.NotAvailable, Title: "This time is no longer kept",
			Text:  "Notifications are kept for 90 days. Those accepted before 31 Aug 2026 were purged on 29 Nov 2026 under policy version 3; the purge is in the audit log.",
			Links: []views.Link{{Text: "Clear all filters", Path: views.PathNotifications}}}, func(*views.Notifications) {})),
	}
}

// list is a page of notifications in which each state occurs.
func list() views.Notifications {
	notes := map[dispatch.State]string{dispatch.StateAccepted: "waits for provider main", dispatch.StateUnknown: "no answer after 10 s",
		dispatch.StateFailed: "number does not exist", dispatch.StateExpired: "before it could be sent", dispatch.StateCancelled: "a newer request replaced it",
		dispatch.StateUndelivered: "phone switched off"}
	m := views.Notifications{
		Live: views.Live{Path: "/notifications?rev=81", Rev: 81}, Query: "state=dispatch_unknown", MayShare: true,
		Views: []views.SavedView{{ID: "1", Name: "All", Path: "/notifications", Current: true}, {ID: "2", Name: "In flight", Path: "/notifications?state=accepted"},
			{ID: "3", Name: "Unknown", Path: "/notifications?state=dispatch_unknown"}, {ID: "4", Name: "Expired today", Path: "/notifications?state=expired"},
			{ID: "5", Name: "Shop North, refused", Path: "/notifications?client=north&state=failed", Own: true}},
		Filter: filter(), Histogram: histogram(), Pager: views.Pager{Newer: "/notifications?before=b", Older: "/notifications?after=a", Shown: "25 of 10,000+"},
	}
	for i, st := range append(dispatch.States(), dispatch.StateDelivered, dispatch.StateSent, dispatch.StateDelivered) {
		at := ago(time.Duration(i*i*47+9) * time.Second)
		r := views.NotificationRow{ID: id(i), AcceptedAt: at, State: st, Note: notes[st], Purpose: "password_reset", Recipient: masked("DE", fmt.Sprintf("%02d", (i*37+11)%100)),
			Attempts: 1, Provider: "main", ExpiresAt: at.Add(10 * time.Minute), Client: "Shop North"}
		if st == dispatch.StateAccepted || st == dispatch.StateCancelled {
			r.Attempts, r.Provider = 0, ""
		}
		if i == 9 {
			r.Incident, r.Attempts, r.Client = true, 2, "Shop South"
			r.Recipient = masked("GB", "21")
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}

func filter() views.NotificationFilter {
	f := views.NotificationFilter{Provider: []views.Choice{{Value: "main", Label: "main"}, {Value: "backup", Label: "backup"}},
		Client:  []views.Choice{{Value: "north", Label: "Shop North"}, {Value: "south", Label: "Shop South"}},
		Purpose: []views.Choice{{Value: "password_reset", Label: "password_reset"}}}
	for _, st := range dispatch.States() {
		f.States = append(f.States, views.Choice{Value: string(st), Label: views.StatusOf(st).Word, Chosen: st == dispatch.StateUnknown})
	}
	for _, r := range dispatch.Reasons() {
		f.Reason = append(f.Reason, views.Choice{Value: string(r), Label: views.ReasonWords(r)})
	}
	return f
}

func histogram() *views.Chart {
	c := views.Chart{Wide: true, ID: "by-status", Title: "Accepted in the last two hours, by status", Finding: "412 accepted, 12 of them with an unknown outcome, most between 14:02 and 14:09.",
		Series: []string{"Sent or delivered", "Under way", "Refused or not delivered", "Outcome unknown", "Expired or withdrawn"}}
	for i := range 24 {
		at := ago(time.Duration(24-i) * 5 * time.Minute)
		values := []int{14 + (i*7)%9, 0, (i * 5) % 3, 0, (i * 3) % 2}
		if i > 20 {
			values = []int{9, 2, 1, 3 + i%3, 0}
		}
		c.Bars = append(c.Bars, views.Bar{Label: clock().In(at).Format("15:04"), Span: clock().In(at).Format("2 Jan 15:04") + " to " + clock().In(at.Add(5*time.Minute)).Format("15:04"),
			Values: values, Path: "/notifications?from=" + at.Format("2006-01-02T15:04")})
	}
	return &c
}
