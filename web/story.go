package web

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// buildStory makes the page of one notification from its records, without what the person who looks at it may do.
func buildStory(st store.Story, now time.Time) views.Notification {
	r := st.Record
	m := views.Notification{ID: r.ID.String(), Version: r.Version, Head: headOf(r, now), Facts: storyFacts(st), Entries: entriesOf(st),
		Never: neverShown(r), Recipient: views.Masked{Country: r.Country, Hint: r.Hint, Ref: r.Recipient.String()},
		Back: views.Link{Text: "All notifications", Path: views.PathNotifications}}
	if len(r.Attempts) > 0 || !r.Recipient.IsZero() {
		m.Related = []views.Link{{Text: "Everything for this recipient", Path: views.FilterByRecipient(r.Recipient.String())}}
	}
	return m
}

// storyFacts is the overview strip.
func storyFacts(st store.Story) []views.Fact {
	r := st.Record
	facts := []views.Fact{{Name: "Accepted", Time: r.AcceptedAt}, {Name: "Expires", Time: r.ExpiresAt},
		{Name: "Client", Text: orID(st.Names.Clients[r.Client], r.Client.String())}, {Name: "Purpose", Text: r.Purpose},
		{Name: "Attempts", Text: strconv.Itoa(len(r.Attempts))}}
	if n := len(r.Attempts); n > 0 {
		facts = append(facts, views.Fact{Name: "First call", Time: r.Attempts[0].StartedAt}, views.Fact{Name: "Provider", Text: r.Attempts[n-1].Provider})
		if n > 1 {
			facts = append(facts, views.Fact{Name: "Last call", Time: r.Attempts[n-1].StartedAt})
		}
	}
	if !r.StoppedAt.IsZero() {
		facts = append(facts, views.Fact{Name: "Stopped", Time: r.StoppedAt}, views.Fact{Name: "Stopped because", Text: views.ReasonWords(r.Reason)},
			views.Fact{Name: "Stopped by", Text: actorLine(r.StoppedBy, r.Client, st.Names)[len("by "):]})
	}
	if !r.WithdrawnAt.IsZero() {
		facts = append(facts, views.Fact{Name: "Withdrawn", Time: r.WithdrawnAt})
	}
	if r.Replays > 0 {
		facts = append(facts, views.Fact{Name: "Repeated by the storefront", Text: views.Plural(r.Replays, "time", "times")})
	}
	return append(facts, views.Fact{Name: "Text", Text: fmt.Sprintf("%s, %s", views.Plural(r.Segments, "message", "messages"), r.Encoding)},
		views.Fact{Name: "Event id", ID: r.EventID}, views.Fact{Name: "Idempotency key", ID: r.IdempotencyKey})
}

// neverShown says what of the message can be seen, and what cannot.
func neverShown(r dispatch.Record) []views.Shown {
	text := "The text is kept encrypted until it stops and is never shown, not here and not to anybody."
	if r.State.Stopped() {
		text = "The text and the code in it were destroyed when it stopped. They were never shown."
	}
	return []views.Shown{{Yes: true, Text: "What happened, when, and who did it."},
		{Yes: true, Text: "The country and the last two digits of the number, and a pseudonym that is the same for every message to it."},
		{Text: text}, {Text: "The full number is kept encrypted. Some roles can reveal it for a reason, and that is on record."}}
}

// entriesOf is the timeline, oldest first.
func entriesOf(st store.Story) (all []views.Entry) {
	var before time.Time
	if st.Cut {
		all = append(all, views.Entry{At: st.Events[0].At, Glyph: views.GlyphInfo, Tone: views.ToneMuted, Word: "Earlier events are left out",
			Text: "There are more than fit on this page. The audit log has every one."})
	}
	for _, ev := range st.Events {
		e := entryOf(st, ev)
		if !before.IsZero() {
			e.Since = views.Elapsed(before, ev.At)
		}
		before = ev.At
		all = append(all, e)
	}
	return all
}

func entryOf(st store.Story, ev dispatch.Event) views.Entry {
	e := views.Entry{Seq: ev.Seq, At: ev.At, Word: actionWords(ev.Action), By: actorLine(ev.By, ev.Client, st.Names), Glyph: views.GlyphInfo,
		Tone: views.ToneNeutral}
	if ev.To != "" {
		status := views.StatusOf(ev.To)
		e.Glyph, e.Tone = status.Glyph, status.Tone
		if ev.From != "" {
			e.Facts = append(e.Facts, views.Fact{Name: "From", State: ev.From}, views.Fact{Name: "To", State: ev.To})
		}
	}
	a, err := st.Attempt(ev.Attempt)
	called := err == nil
	switch ev.Action {
	case dispatch.ActionDispatchStarted:
		e.Glyph, e.Tone, e.Text = views.GlyphSending, views.ToneInfo, fmt.Sprintf("Attempt %d through %s; its permit is spent.", ev.Attempt, ev.Provider)
		if called && a.FinishedAt.IsZero() {
			e.Call = callOfAttempt(st, a)
		}
	case dispatch.ActionAttemptFinished, dispatch.ActionAttemptInterrupt:
		if called {
			e.Call = callOfAttempt(st, a)
		}
		if ev.To == "" {
			e.Glyph, e.Tone = views.OutcomeOf(ev.Outcome).Glyph, views.OutcomeOf(ev.Outcome).Tone
		}
	case dispatch.ActionReplayed:
		e.Glyph, e.Text = views.GlyphRepeat, views.Plural(int(ev.Count), "repeat", "repeats")+" got the same answer; nothing was accepted twice."
	case dispatch.ActionIncidentOpened:
		e.Glyph, e.Tone, e.Text = views.GlyphAlert, views.ToneBad, views.IncidentWords(dispatch.IncidentKind(ev.Cause))
	case dispatch.ActionLookupRecorded:
		lookupEntry(&e, st, ev)
	case dispatch.ActionReceiptRecorded, dispatch.ActionReceiptRepeated:
		receiptEntry(&e, st, ev)
	case dispatch.ActionVerdictRecorded:
		verdictEntry(&e, st, ev)
	default:
		if ev.Reason != "" {
			e.Text = "Because " + views.ReasonWords(ev.Reason) + "."
		}
	}
	return e
}

func lookupEntry(e *views.Entry, st store.Story, ev dispatch.Event) {
	e.Glyph, e.Text = views.GlyphQuestion, ev.Provider+" "+views.LookupWords(dispatch.LookupResult(ev.Cause))+"."
	i := slices.IndexFunc(st.Lookups, func(l dispatch.Lookup) bool { return l.ID == ev.EvidenceID })
	if i < 0 {
		return
	}
	l := st.Lookups[i]
	e.Facts = append(e.Facts, views.Fact{Name: "Lookup id", ID: l.ID.String()}, views.Fact{Name: "Asked", Time: l.AskedAt},
		views.Fact{Name: "Candidates", Text: strconv.Itoa(l.Candidates)}, views.Fact{Name: "Pages read", Text: pagesRead(l)})
	if l.MessageID != "" {
		e.Facts = append(e.Facts, views.Fact{Name: "Message id at the provider", ID: l.MessageID})
	}
}

func pagesRead(l dispatch.Lookup) string {
	text := strconv.Itoa(l.Pages)
	if l.Complete {
		text += ", to the end"
	}
	if l.LaterSeen {
		text += "; a later message of ours was there"
	}
	return text
}

func receiptEntry(e *views.Entry, st store.Story, ev dispatch.Event) {
	e.Text = ev.Provider + " says: " + views.ReceiptWords(dispatch.ReceiptStatus(ev.Cause)) + "."
	if ev.To == "" {
		e.Glyph = views.GlyphReceipt
	}
	i := slices.IndexFunc(st.Receipts, func(rc dispatch.Receipt) bool { return rc.ID == ev.EvidenceID })
	if i < 0 {
		return
	}
	rc := st.Receipts[i]
	e.Facts = append(e.Facts, views.Fact{Name: "Receipt id", ID: rc.ID.String()}, views.Fact{Name: "Its own word", Text: rc.Raw},
		views.Fact{Name: "Message id at the provider", ID: rc.MessageID})
	if rc.Code != "" {
		e.Facts = append(e.Facts, views.Fact{Name: "Code", Text: rc.Code})
	}
}

func verdictEntry(e *views.Entry, st store.Story, ev dispatch.Event) {
	if ev.To == "" {
		e.Glyph, e.Tone = views.GlyphFlag, views.OutcomeOf(ev.Outcome).Tone
	}
	i := slices.IndexFunc(st.Verdicts, func(v dispatch.Verdict) bool { return v.ID == ev.EvidenceID })
	if i < 0 {
		return
	}
	v := st.Verdicts[i]
	e.Text = fmt.Sprintf("Attempt %d: %s, %s.", v.Attempt, views.RulingWords(v.Ruling), views.GradeWords(v.Grade))
	if v.Ruling == dispatch.RulingNotSent && v.Next == dispatch.NextSendAgain {
		e.Text += " One more call is allowed."
	}
	e.Facts = append(e.Facts, views.Fact{Name: "Verdict id", ID: v.ID.String()})
	if v.Grade != dispatch.GradeHuman {
		return
	}
	e.Glyph = views.GlyphPerson
	e.Facts = append(e.Facts, views.Fact{Name: "Decided", Text: actorLine(v.By, ev.Client, st.Names)},
		views.Fact{Name: "Reason", Text: labelOf(views.ReasonCodes(), v.ReasonCode)},
		views.Fact{Name: "Evidence", Text: labelOf(views.EvidenceKinds(), v.EvidenceKind)}, views.Fact{Name: "Reference", Text: v.EvidenceRef},
		views.Fact{Name: "Note", Text: v.Note})
	if v.ApprovedBy != (dispatch.Actor{}) {
		e.Facts = append(e.Facts, views.Fact{Name: "Approved", Text: actorLine(v.ApprovedBy, ev.Client, st.Names)})
	}
}

// callOfAttempt is the card of one call.
func callOfAttempt(st store.Story, a dispatch.Attempt) *views.Attempt {
	return &views.Attempt{ID: a.ID.String(), Number: a.Number, Trigger: triggerWords(st, a), Provider: a.Provider, Outcome: a.Outcome,
		Rule: a.Rule, Phase: a.Phase, StartedAt: a.StartedAt, FinishedAt: a.FinishedAt, Timeout: a.DeadlineAt.Sub(a.StartedAt),
		Validity: a.Validity, Answer: answerOf(a), MessageID: a.MessageID, RequestID: a.RequestID, Verdict: verdictOf(st, a),
		NextLookup: a.LookupAt, Lookups: a.Lookups}
}

func triggerWords(st store.Story, a dispatch.Attempt) string {
	if a.Number == 1 {
		return "first call"
	}
	for _, v := range st.Verdicts {
		if v.Attempt == a.Number-1 && v.Ruling == dispatch.RulingNotSent {
			return "the call before did not send it: " + views.GradeWords(v.Grade)
		}
	}
	return "the call before did not send it"
}

// verdictOf is the last word on an attempt.
func verdictOf(st store.Story, a dispatch.Attempt) (text string) {
	for _, v := range st.Verdicts {
		if v.Attempt == a.Number {
			text = views.RulingWords(v.Ruling) + " – " + views.GradeWords(v.Grade)
		}
	}
	return text
}

// answerOf is a provider's answer in three levels: the status, what it means, and the code with who said it.
func answerOf(a dispatch.Attempt) views.Answer {
	if a.FinishedAt.IsZero() {
		return views.Answer{}
	}
	answer := views.Answer{Code: a.Code}
	switch {
	case a.HTTPStatus == 0:
		answer.Status = "none"
	case a.Rule.Answered():
		answer.Status = fmt.Sprintf("HTTP %d, in %s's own form", a.HTTPStatus, a.Provider)
	default:
		answer.Status = fmt.Sprintf("HTTP %d, not in %s's own form", a.HTTPStatus, a.Provider)
	}
	answer.Reason = views.OutcomeOf(a.Outcome).Sentence
	if a.Code != "" {
		answer.Who = "said by " + a.Provider
	}
	return answer
}
