package dispatch

import (
	"slices"
	"testing"
)

// outcomeSteps is what may become of an attempt, written out a second time. A receipt or a person's verdict may settle a pending attempt; a
// verdict needs a doubt otherwise; and late positive evidence wins over a proof or a refusal (not_sent, refused → accepted), because
// nothing may hide that a text went out.
func outcomeSteps() map[Outcome][]Outcome {
	return map[Outcome][]Outcome{
		OutcomePending:      {OutcomeAccepted, OutcomeRefused, OutcomeNotSent, OutcomeUnknown},
		OutcomeUnknown:      {OutcomeAccepted, OutcomeNotSent, OutcomeUndetermined},
		OutcomeUndetermined: {OutcomeAccepted, OutcomeNotSent},
		OutcomeNotSent:      {OutcomeAccepted},
		OutcomeRefused:      {OutcomeAccepted},
	}
}

func TestEveryPairOfOutcomesIsAStepOrNot(t *testing.T) {
	t.Parallel()
	if len(Outcomes()) != 6 {
		t.Fatalf("%d outcomes, want 6", len(Outcomes()))
	}
	count := 0
	for _, from := range Outcomes() {
		for _, to := range Outcomes() {
			want := slices.Contains(outcomeSteps()[from], to)
			if got := from.CanBecome(to); got != want {
				t.Errorf("%s→%s allowed: %t, want %t", from, to, got, want)
			}
			if want {
				count++
			}
		}
	}
	if len(OutcomeSteps()) != count {
		t.Errorf("%d steps are listed, want %d without doubles", len(OutcomeSteps()), count)
	}
}

func TestOnlyPendingAndUnknownAreOpen(t *testing.T) {
	t.Parallel()
	for _, o := range Outcomes() {
		if want := o == OutcomePending || o == OutcomeUnknown; o.Open() != want {
			t.Errorf("%s open: %t", o, o.Open())
		}
	}
}

func TestRulingsGiveOutcomes(t *testing.T) {
	t.Parallel()
	want := map[Ruling]Outcome{RulingSent: OutcomeAccepted, RulingNotSent: OutcomeNotSent, RulingUndetermined: OutcomeUndetermined}
	for _, r := range Rulings() {
		if r.Outcome() != want[r] {
			t.Errorf("ruling %s gives %s", r, r.Outcome())
		}
	}
	if o := Ruling("").Outcome(); o == OutcomeNotSent || o == OutcomeAccepted {
		t.Errorf("an empty ruling gives %s", o)
	}
}

func TestReceiptsRankAndLeadToStates(t *testing.T) {
	t.Parallel()
	ranked := []ReceiptStatus{"", ReceiptTaken, ReceiptDelivered, ReceiptUndelivered}
	for i, a := range ranked {
		for j, b := range ranked {
			if a.Outranks(b) != (i > j) {
				t.Errorf("%q outranks %q: %t", a, b, a.Outranks(b))
			}
		}
	}
	states := map[ReceiptStatus]State{"": StateSent, ReceiptTaken: StateSent, ReceiptDelivered: StateDelivered, ReceiptUndelivered: StateUndelivered}
	for s, want := range states {
		if s.State() != want {
			t.Errorf("a report %q leads to %s, want %s", s, s.State(), want)
		}
	}
}
