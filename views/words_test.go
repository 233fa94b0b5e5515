package views_test

import (
	"strings"
	"testing"
	"time"

	"sentonce/dispatch"
	"sentonce/views"
)

// told checks that every value of a closed list has words of its own.
func told[T ~string](t *testing.T, list string, values []T, words func(T) string) {
	t.Helper()
	seen := map[string]T{}
	for _, v := range values {
		w := words(v)
		if w == "" || w == string(v) || strings.Contains(w, "_") {
			t.Errorf("%s %q has no words: %q", list, v, w)
		}
		if other, twice := seen[w]; twice {
			t.Errorf("%s %q and %q have the same words: %q", list, v, other, w)
		}
		seen[w] = v
	}
}

func TestEveryValueHasPlainWords(t *testing.T) {
	t.Parallel()
	told(t, "state", dispatch.States(), func(s dispatch.State) string { return views.StatusOf(s).Word })
	told(t, "state's sentence", dispatch.States(), func(s dispatch.State) string { return views.StatusOf(s).Sentence })
	told(t, "outcome", dispatch.Outcomes(), func(o dispatch.Outcome) string { return views.OutcomeOf(o).Word })
	told(t, "rule", dispatch.Rules(), views.RuleWords)
	told(t, "reason", dispatch.Reasons(), views.ReasonWords)
	told(t, "grade", dispatch.Grades(), views.GradeWords)
	told(t, "ruling", dispatch.Rulings(), views.RulingWords)
	told(t, "phase", append(dispatch.Phases(), ""), views.PhaseWords)
	told(t, "lookup", dispatch.LookupResults(), views.LookupWords)
	told(t, "receipt", dispatch.ReceiptStatuses(), views.ReceiptWords)
	told(t, "incident", dispatch.IncidentKinds(), views.IncidentWords)
}

// TestAStatusIsShapeAndWord: each state and outcome has a drawing that no other one of its list has, and a word beside it.
func TestAStatusIsShapeAndWord(t *testing.T) {
	t.Parallel()
	shapes := map[views.Glyph]dispatch.State{}
	for _, s := range dispatch.States() {
		st := views.StatusOf(s)
		html := render(t, views.StatusBadge(s))
		if !strings.Contains(html, `data-glyph="`+string(st.Glyph)+`"`) || !strings.Contains(html, "<path d=\"M") && !strings.Contains(html, "<path d=\"m") {
			t.Errorf("%s has no drawing: %s", s, html)
		}
		if !strings.Contains(html, ">"+st.Word+"<") {
			t.Errorf("%s has no word: %s", s, html)
		}
		if other, twice := shapes[st.Glyph]; twice {
			t.Errorf("%s and %s have one shape", s, other)
		}
		shapes[st.Glyph] = s
	}
}

func TestEveryGlyphIsDrawn(t *testing.T) {
	t.Parallel()
	for _, g := range views.Glyphs() {
		if html := render(t, views.Icon(g)); strings.Contains(html, `d=""`) || !strings.Contains(html, `aria-hidden="true"`) {
			t.Errorf("%s: %s", g, html)
		}
	}
}

// TestAnUnknownIsNeverCalledFailed: doubt is neither a failure nor a reason to try again.
func TestAnUnknownIsNeverCalledFailed(t *testing.T) {
	t.Parallel()
	texts := []string{views.StatusOf(dispatch.StateUnknown).Sentence, views.OutcomeOf(dispatch.OutcomeUnknown).Sentence,
		views.RuleWords(dispatch.R6), views.RuleWords(dispatch.R7), views.RuleWords(dispatch.R8)}
	for _, text := range texts {
		if low := strings.ToLower(text); strings.Contains(low, "fail") || strings.Contains(low, "try again") || !strings.Contains(low, "may or may not") {
			t.Errorf("the words of a doubt: %q", text)
		}
	}
}

func TestPhaseMarksStopWhereTheCallStopped(t *testing.T) {
	t.Parallel()
	for phase, want := range map[dispatch.Phase]int{"": 0, dispatch.PhaseNone: 0, dispatch.PhaseConnecting: 1, dispatch.PhaseWritten: 4, dispatch.PhaseAnswered: 6} {
		done, last := 0, 0
		for i, m := range views.PhaseMarks(phase) {
			if m.Done {
				done++
			}
			if m.Last {
				last = i + 1
			}
		}
		if done != want || last != want {
			t.Errorf("%q: %d marks, the last at %d, want %d", phase, done, last, want)
		}
	}
}

func TestCapabilitiesAreToldAsTheyAre(t *testing.T) {
	t.Parallel()
	none := views.CapabilityWords(dispatch.Capabilities{Lookup: dispatch.LookupNone})
	for _, a := range none {
		if a.Yes {
			t.Errorf("a provider that can do nothing can: %s", a.Text)
		}
	}
	all := views.CapabilityWords(dispatch.Capabilities{Lookup: dispatch.LookupByReference, AbsenceProves: true, AbsenceLag: 90 * time.Second, Receipts: true, ReceiptsEcho: true,
		ValidityUnit: time.Minute, ValidityMax: time.Hour, DuplicatesRefused: true, Cancel: true})
	for _, a := range all {
		if !a.Yes {
			t.Errorf("a provider that can do everything cannot: %s", a.Text)
		}
	}
	if len(all) != len(none) || !strings.Contains(all[1].Text, "1 min 30 s") {
		t.Errorf("%v", all)
	}
}
