package sample

import (
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

// itemEndStates are notifications that have come to an end, or wait to begin.
func itemEndStates(o Options) []State {
	var all []State
	add := func(name, title string, m views.Notification) {
		all = append(all, State{name, "One notification", title, views.NotificationPage(shell(o, views.PathNotifications), m)})
	}
	add("item-accepted", "Accepted, waiting", accepted())
	add("item-delivered", "Delivered after a doubt, settled by evidence", delivered())
	add("item-refused", "Refused, with the provider's answer in three levels", refused())
	add("item-expired", "Expired in doubt; what became of it can still be recorded", expired())
	add("item-incident", "An incident: two codes are possible", incident())
	add("item-revealed", "The number is revealed for a minute", revealed())
	return all
}

func ended(state dispatch.State, sentence string) views.Notification {
	m := unknownItem()
	m.Verdict, m.Claim, m.Ask, m.Live, m.Evidence = nil, nil, nil, views.Live{}, nil
	m.Head = views.Head{State: state, Sentence: sentence}
	m.Facts[3] = views.Fact{Name: "Stopped", Time: ago(3 * time.Minute)}
	return m
}

func accepted() views.Notification {
	m := ended(dispatch.StateAccepted, "The customer has no code yet. It is stored and waits for the provider main, which asked for a pause; nothing has been sent.")
	m.Head.Next = []views.Upcoming{{What: "the next call is tried", At: in(4 * time.Second)}, {What: "the lifetime ends", At: in(9 * time.Minute)}}
	m.Facts[1], m.Facts[3] = views.Fact{Name: "First attempt"}, views.Fact{Name: "Stopped"}
	m.Entries, m.MayWithdraw = m.Entries[:1], true
	return m
}

func delivered() views.Notification {
	m := ended(dispatch.StateDelivered, "The customer got one code. The call ended in doubt, the delivery report of main settled it 42 s later, and nothing was sent a second time.")
	settled := *m.Entries[1].Call
	settled.Outcome, settled.MessageID, settled.NextLookup = dispatch.OutcomeAccepted, sid, time.Time{}
	settled.Verdict = "Sent – " + views.GradeWords(dispatch.GradeReceipt)
	m.Entries[1].Call = &settled
	at := m.Entries[2].At.Add(42 * time.Second)
	m.Entries = append(m.Entries[:4],
		views.Entry{Seq: 48262, At: at, Since: "+37 s", Glyph: views.GlyphReceipt, Tone: views.ToneGood, Word: "Delivery report", By: "from main", Text: "It says that the phone has it.",
			Facts: []views.Fact{{Name: "Word of the provider", Text: "delivered"}, {Name: "Message id", ID: sid}}},
		views.Entry{Seq: 48263, At: at, Since: "+0 ms", Glyph: views.GlyphFlag, Tone: views.ToneGood, Word: "Verdict: sent", By: "by main", Text: "It rests on a delivery report. The doubt is settled, and no further call can be made."},
		views.Entry{Seq: 48264, At: at, Since: "+0 ms", Glyph: views.GlyphLock, Tone: views.ToneMuted, Word: "Text destroyed", By: "by the dispatcher"})
	return m
}

func refused() views.Notification {
	m := ended(dispatch.StateFailed, "The customer got no code. The provider main definitely refused the message, because the number does not exist.")
	no := *m.Entries[1].Call
	no.Outcome, no.Rule, no.Phase, no.NextLookup, no.Lookups = dispatch.OutcomeRefused, dispatch.R4, dispatch.PhaseAnswered, time.Time{}, 0
	no.FinishedAt = no.StartedAt.Add(184 * time.Millisecond)
	no.Answer = views.Answer{Status: "HTTP 400, in the provider's own form", Reason: "The number is not a valid one for messages.", Code: "21211", Who: "said by main"}
	m.Entries[1].Call = &no
	m.Entries = append(m.Entries[:2], views.Entry{Seq: 48213, At: no.FinishedAt, Since: "+184 ms", Glyph: views.GlyphRefused, Tone: views.ToneBad, Word: "Refused by main", By: "by the dispatcher", Text: "It stops here; the storefront is told to ask the customer for another number."})
	return m
}

func expired() views.Notification {
	m := unknownItem()
	m.Head = views.Head{State: dispatch.StateExpired, Sentence: "It was never found out whether the customer got this code. Its lifetime ended at 15:01:33, so the code is worth nothing any more, and nothing will be sent.",
		Next: []views.Upcoming{{What: "main is asked again", At: in(7 * time.Minute)}}}
	m.Facts[2], m.Facts[3] = views.Fact{Name: "Expired", Time: ago(9 * time.Minute)}, views.Fact{Name: "Stopped", Time: ago(9 * time.Minute)}
	m.Verdict.Late = true
	m.Claim = &views.Claim{MayClaim: true}
	return m
}

func incident() views.Notification {
	m := ended(dispatch.StateDelivered, "The customer may have two codes. A person decided that the first call had not sent, a second call was made, and then a delivery report for the first one came.")
	m.Incidents = []views.Incident{{ID: "inc_01kb7", Kind: dispatch.IncidentSecondSend, OpenedAt: ago(2 * time.Minute), MayClose: true},
		{ID: "inc_01kb6", Kind: dispatch.IncidentTwoIDs, OpenedAt: ago(3 * time.Hour), ClosedAt: ago(2 * time.Hour), ClosedBy: "C. Doe", Why: "The provider moved the message to another route; one text was delivered."}}
	m.Entries = append(m.Entries[:3], views.Entry{Seq: 48290, At: ago(4 * time.Minute), Since: "+1 min 20 s", Glyph: views.GlyphFlag, Tone: views.ToneNeutral, Word: "Verdict: not sent", By: "by B. Poe, approved by C. Doe",
		Text: "Send it again. Permit 2 is granted.", Facts: []views.Fact{{Name: "Reason", Text: "The provider has no record of it"}, {Name: "Evidence", Text: "Provider log or console: console row A-47"}, {Name: "Note", Text: "All of our messages of these minutes are there; this one is not."}}},
		views.Entry{Seq: 48296, At: ago(2 * time.Minute), Since: "+2 min", Glyph: views.GlyphAlert, Tone: views.ToneBad, Word: "Incident opened", By: "by the dispatcher", Text: "A delivery report shows that the first call had sent."})
	return m
}

func revealed() views.Notification {
	m := delivered()
	m.Revealed, m.HideAfter = "+49 151 5550178", time.Minute
	return m
}

func decisionStates(o Options) []State {
	s := shell(o, views.PathNotifications)
	m := views.Reveal{ID: itemID, Recipient: masked("DE", "78"), HideAfter: time.Minute}
	fault := m
	fault.Errors = views.FieldErrors{{Field: "reason", Text: "Choose why you need the number."}}
	return []State{{"reveal", "Reveal a number", "The reason is asked", views.RevealPage(s, m)}, {"reveal-fault", "Reveal a number", "No reason was given (422)", views.RevealPage(s, fault)}}
}
