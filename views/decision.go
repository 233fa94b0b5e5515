package views

import (
	"strconv"
	"time"
)

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

func lockOrEye(shown bool) Glyph {
	if shown {
		return GlyphDone
	}
	return GlyphLock
}

// tone is that of the head: an open incident outweighs the state.
func (m Notification) tone() Tone {
	for _, i := range m.Incidents {
		if i.ClosedAt.IsZero() {
			return ToneBad
		}
	}
	return StatusOf(m.Head.State).Tone
}

// facts are the details of a call that few people need.
func (a Attempt) facts() []Fact {
	took := "still under way"
	if !a.FinishedAt.IsZero() {
		took = Duration(a.FinishedAt.Sub(a.StartedAt))
	}
	all := []Fact{
		{Name: "Attempt id", ID: a.ID},
		{Name: "Why it was made", Text: a.Trigger},
		{Name: "Started", Time: a.StartedAt},
		{Name: "Ended", Time: a.FinishedAt},
		{Name: "Took", Text: took + " of at most " + Duration(a.Timeout)},
		{Name: "Message id at the provider", ID: a.MessageID},
		{Name: "Request id at the provider", ID: a.RequestID},
		{Name: "Questions to the provider", Text: strconv.Itoa(a.Lookups)},
		{Name: "Next question", Time: a.NextLookup},
	}
	if a.Validity > 0 {
		all = append(all, Fact{Name: "Told to keep trying for", Text: Duration(a.Validity)})
	}
	return all
}

func (p Proposal) facts() []Fact {
	return []Fact{
		{Name: "Proposed by", Text: p.By},
		{Name: "Proposed", Time: p.At},
		{Name: "Reason", Text: wordOf(ReasonCodes(), p.Reason)},
		{Name: "Evidence", Text: wordOf(EvidenceKinds(), p.Evidence) + ": " + orDash(p.EvidenceRef)},
		{Name: "Note", Text: p.Note},
	}
}
