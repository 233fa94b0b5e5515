package sample

import (
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

const (
	itemID    = "ntf_01kb7v2q00x9f3m0zc8hwd5t6r"
	attemptID = "att_01kb7v2r4tq8e5n1s7p3y0w9ab"
	sid       = "SM3f9c1e7a52b84d06a1c9e0b7d4f2a865"
)

func itemStates(o Options) []State {
	var all []State
	add := func(name, title string, m views.Notification, role string) {
		s := shell(o, views.PathNotifications)
		s.User.Role = role
		all = append(all, State{name, "One notification", title, views.NotificationPage(s, m)})
	}
	add("item-unknown", "Outcome unknown, the form is offered", unknownItem(), "Support")
	faulty := unknownItem()
	faulty.Verdict.Verdict, faulty.Verdict.Next, faulty.Verdict.Reason, faulty.Verdict.EvidenceKind = "not_sent", "send_again", "provider_log", "none"
	faulty.Verdict.Note = "The console shows nothing between 14:03 and 14:06."
	faulty.Verdict.Errors = views.FieldErrors{{Field: "evidence_kind", Text: "“Not sent” needs evidence. Choose what you looked at."}, {Field: "evidence_ref", Text: "Name the evidence, so that it can be found again."}}
	add("item-form-incomplete", "A verdict that is incomplete (422)", faulty, "Support")
	limited := unknownItem()
	limited.Verdict.SendAgainOff = "Three sends were already in doubt; that is the most that is allowed."
	limited.Claim = &views.Claim{By: "B. Poe", Until: in(8 * time.Minute), MayClaim: true}
	limited.Ask = &views.AskNow{Provider: "main", Why: "main was asked 4 s ago. You can ask again in 6 s."}
	add("item-unknown-claimed", "Claimed by another person; sending again is not possible", limited, "Support")
	own := proposed()
	own.Proposal.MayDecide, own.Proposal.WhyNot = false, "You made this proposal. Another person has to decide it."
	own.Verdict = nil
	add("item-proposal-own", "A proposal, seen by its author", own, "Support")
	add("item-proposal", "A proposal, seen by the second person", proposed(), "Compliance")
	reader := unknownItem()
	reader.Verdict, reader.Claim, reader.Ask, reader.MayReveal = nil, nil, nil, false
	add("item-unknown-auditor", "Seen by an auditor: nothing to press", reader, "Auditor")
	return all
}

// unknownItem is a message whose call timed out.
func unknownItem() views.Notification {
	return views.Notification{
		ID: itemID, Version: 3, Recipient: masked("DE", "78"), MayReveal: true, Order: views.NotificationPath(itemID) + "?order=newest",
		Head: views.Head{State: dispatch.StateUnknown,
			Sentence: "It is not known whether the customer got a code. The request reached the provider at 15:03:12, and no answer came within 10 s. Nothing is sent again until that is known.",
			Next:     []views.Upcoming{{What: "main is asked again", At: in(55 * time.Second)}, {What: "the lifetime ends", At: in(3*time.Minute + 11*time.Second)}}},
		Facts: facts(), Entries: story(), Live: views.Live{Path: views.NotificationPath(itemID) + "?rev=3", Rev: 3},
		Only:  []views.Tab{{Label: "Everything", Path: views.NotificationPath(itemID), Current: true}, {Label: "Calls and decisions", Path: views.NotificationPath(itemID) + "?only=calls"}},
		Never: shown(), Claim: &views.Claim{By: "A. Roe", Mine: true, Until: in(3*time.Minute + 11*time.Second)}, Ask: &views.AskNow{Provider: "main"},
		Evidence: []views.EvidenceLine{
			{Glyph: views.GlyphUnknown, Text: "The whole request was written; no byte of an answer came within 10 s (rule R6)."},
			{Glyph: views.GlyphQuestion, Text: "main was asked 4 times and found nothing. Its list can lag, so that proves nothing.", At: ago(65 * time.Second)},
			{Glyph: views.GlyphReceipt, Text: "No delivery report has come."},
			{Glyph: views.GlyphList, Text: "Six others of this burst (main, 15:02 to 15:09): 4 turned out sent, 2 are open."},
			{Glyph: views.GlyphClock, Text: "The clock of this server did not step in that time."}},
		Verdict: form(),
		Newer:   views.NotificationPath(id(3)), Older: views.NotificationPath(id(4)),
		Back:    views.Link{Text: "Back to the worklist", Path: views.PathUnknown},
		Related: []views.Link{{Text: "2 others for this recipient in the last 24 hours", Path: "/notifications?recipient=rcp_7k2m9q4x1v8b3n6c5z0d2f4h6j"}},
	}
}

func form() *views.VerdictForm {
	return &views.VerdictForm{Notification: itemID, Attempt: attemptID, Number: 1, Version: 3, SendAgainUntil: in(3*time.Minute + 11*time.Second),
		SecondPerson: true, Person: "A. Roe"}
}

func facts() []views.Fact {
	return []views.Fact{
		{Name: "Accepted", Time: ago(6*time.Minute + 49*time.Second)}, {Name: "First attempt", Time: ago(6*time.Minute + 48*time.Second)},
		{Name: "Expires", Time: in(3*time.Minute + 11*time.Second)}, {Name: "Stopped", Text: ""},
		{Name: "Client", Text: "Shop North"}, {Name: "Purpose", Text: "password_reset"}, {Name: "Event", ID: "evt-2026-11-29-88213"},
		{Name: "Idempotency key", ID: "reset-88213-a"}, {Name: "Text", Text: "1 segment, GSM-7"}, {Name: "Asked for again", Text: "2 times by the storefront"},
	}
}

func shown() []views.Shown {
	return []views.Shown{
		{Yes: true, Text: "Times, states, answers of the provider, decisions and who made them: kept for good."},
		{Text: "The text and its code: encrypted until the sending stops, then destroyed. Nobody can see them here."},
		{Text: "The full number: encrypted. Showing it needs a reason, and your name goes into the audit log."},
	}
}

// story is the timeline of a call that timed out.
func story() []views.Entry {
	start := ago(6*time.Minute + 49*time.Second)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	since := func(a, b time.Duration) string { return views.Elapsed(at(a), at(b)) }
	const called, over = 116 * time.Millisecond, 10*time.Second + 131*time.Millisecond
	return []views.Entry{
		{Seq: 48210, At: start, Glyph: views.GlyphAccepted, Tone: views.ToneNeutral, Word: "Accepted", By: "by Shop North, key “backend live”",
			Text: "Stored with its expiry before anything was sent. Permit 1 allows one call."},
		{Seq: 48211, At: at(called), Since: since(0, called), Glyph: views.GlyphSending, Tone: views.ToneInfo, Word: "Call to main started", By: "by the dispatcher",
			Text: "Permit 1 is spent.", Call: call()},
		{Seq: 48219, At: at(over), Since: since(called, over), Glyph: views.GlyphUnknown, Tone: views.ToneWarn, Word: "Outcome unknown", By: "by the dispatcher",
			Text: "No answer within 10 s. No further call is possible until somebody or something shows what became of this one."},
		{Seq: 48230, At: at(over + 5*time.Second), Since: since(over, over+5*time.Second), Glyph: views.GlyphQuestion, Tone: views.ToneNeutral, Word: "main was asked", By: "by the reconciler",
			Text: "It found nothing; that proves nothing here."},
		{Seq: 48244, At: at(25 * time.Second), Since: since(over+5*time.Second, 25*time.Second), Glyph: views.GlyphQuestion, Tone: views.ToneNeutral, Word: "main was asked", By: "by the reconciler",
			Text: "It could not be answered (HTTP 503); that says nothing.", Facts: []views.Fact{{Name: "Pages read", Text: "0 of 1"}}},
		{Seq: 48301, At: at(2 * time.Minute), Since: since(25*time.Second, 2*time.Minute), Glyph: views.GlyphRepeat, Tone: views.ToneNeutral, Word: "Asked for again", By: "by Shop North, key “backend live”",
			Text: "2 repeats of the same request were answered with this notification. Nothing was sent for them."},
		{Seq: 48377, At: at(5*time.Minute + 44*time.Second), Since: since(2*time.Minute, 5*time.Minute+44*time.Second), Glyph: views.GlyphHand, Tone: views.ToneNeutral, Word: "Claimed", By: "by A. Roe"},
	}
}

func call() *views.Attempt {
	start := ago(6*time.Minute + 48*time.Second + 884*time.Millisecond)
	return &views.Attempt{ID: attemptID, Number: 1, Trigger: "First send, permit 1", Provider: "main", Outcome: dispatch.OutcomeUnknown, Rule: dispatch.R6,
		Phase: dispatch.PhaseWritten, StartedAt: start, FinishedAt: start.Add(10*time.Second + 15*time.Millisecond), Timeout: 10 * time.Second, Validity: 4*time.Minute + 59*time.Second,
		Answer: views.Answer{Status: "None", Reason: "The connection stayed silent until the time limit of 10 s."}, Lookups: 4, NextLookup: in(55 * time.Second)}
}

func proposed() views.Notification {
	m := unknownItem()
	m.Verdict = nil
	m.Head.Next = []views.Upcoming{{What: "the proposal lapses with the lifetime", At: in(3*time.Minute + 11*time.Second)}}
	m.Proposal = &views.Proposal{ID: "prp_01kb7v5m2d8q4w6e0r1t3y5u7i", Notification: itemID, Version: 3, By: "B. Poe", At: ago(40 * time.Second), LapsesAt: in(3*time.Minute + 11*time.Second),
		Reason: "provider_has_no_record", Evidence: "provider_log", EvidenceRef: "console export 2026-11-29, row 1 to 212", Note: "All of our messages between 14:03 and 14:06 are in the export; this one is not.", MayDecide: true}
	return m
}
