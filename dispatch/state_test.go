package dispatch

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// stateSteps is the lifecycle of DESIGN §3, written out a second time. Besides the arrows of its picture it has, from its table,
// accepted→sent|delivered|undelivered (late evidence on an earlier attempt), accepted→failed (unreadable), and delivered→undelivered
// (F23: one part of the text failed after another was reported delivered).
func stateSteps() map[State][]State {
	return map[State][]State{
		StateAccepted: {StateDispatching, StateSent, StateDelivered, StateUndelivered, StateFailed, StateExpired, StateCancelled},
		StateDispatching: {StateAccepted, StateUnknown, StateSent, StateDelivered, StateUndelivered, StateFailed, StateExpired,
			StateCancelled},
		StateUnknown:   {StateAccepted, StateSent, StateDelivered, StateUndelivered, StateExpired, StateCancelled},
		StateSent:      {StateDelivered, StateUndelivered},
		StateDelivered: {StateUndelivered},
	}
}

func stopped(s State) bool {
	return slices.Contains([]State{StateSent, StateDelivered, StateUndelivered, StateFailed, StateExpired, StateCancelled}, s)
}

func TestEveryPairOfStatesIsAStepOrNot(t *testing.T) {
	t.Parallel()
	if len(States()) != 9 {
		t.Fatalf("%d states, want 9", len(States()))
	}
	count := 0
	for _, from := range States() {
		for _, to := range States() {
			want := slices.Contains(stateSteps()[from], to)
			if got := from.CanBecome(to); got != want {
				t.Errorf("%s→%s allowed: %t, want %t", from, to, got, want)
			}
			if want {
				count++
			}
		}
	}
	if len(Transitions()) != count {
		t.Errorf("%d transitions are listed, want %d without doubles", len(Transitions()), count)
	}
	for _, odd := range []State{"", "queued", "SENT"} {
		if odd.CanBecome(StateSent) || StateAccepted.CanBecome(odd) {
			t.Errorf("%q takes part in the lifecycle", odd)
		}
	}
}

func TestEachStateSaysWhetherItIsOverAndWhatToDo(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		state          State
		stopped, final bool
		advice         Advice
	}{
		{StateAccepted, false, false, AdviceWait},
		{StateDispatching, false, false, AdviceWait},
		{StateUnknown, false, false, AdviceWait},
		{StateSent, true, false, AdviceNone},
		{StateDelivered, true, true, AdviceNone},
		{StateUndelivered, true, true, AdviceRequestNew},
		{StateFailed, true, true, AdviceRequestNew},
		{StateExpired, true, true, AdviceRequestNew},
		{StateCancelled, true, true, AdviceRequestNew},
	} {
		n := Notification{State: row.state}
		if row.state.Stopped() != row.stopped || row.state.AlwaysFinal() != row.final || n.Advice() != row.advice {
			t.Errorf("%s: stopped %t, final %t, advice %s", row.state, row.state.Stopped(), row.state.AlwaysFinal(), n.Advice())
		}
	}
}

// A state that this program does not know must not be sent.
func TestAnUnknownStateCountsAsStopped(t *testing.T) {
	t.Parallel()
	if !State("paused").Stopped() || !State("").Stopped() {
		t.Error("an unknown state may still be sent")
	}
}

// The diagram in docs/lifecycle.md has exactly the arrows of the code.
func TestTheDiagramShowsEveryTransition(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```mermaid\nstateDiagram-v2\n(.*?)```").FindSubmatch(doc)
	if block == nil {
		t.Fatal("docs/lifecycle.md has no state diagram")
	}
	var drawn []Transition
	for _, m := range regexp.MustCompile(`(?m)^\s*(\w+) --> (\w+)(?: :.*)?$`).FindAllSubmatch(block[1], -1) {
		drawn = append(drawn, Transition{State(m[1]), State(m[2])})
	}
	for _, d := range drawn {
		if !slices.Contains(Transitions(), d) {
			t.Errorf("the diagram shows %s→%s, which is no step", d.From, d.To)
		}
	}
	for _, tr := range Transitions() {
		if !slices.Contains(drawn, tr) {
			t.Errorf("the diagram lacks %s→%s", tr.From, tr.To)
		}
	}
	for _, r := range Reasons() {
		if !regexp.MustCompile("`" + string(r) + "`").Match(doc) {
			t.Errorf("docs/lifecycle.md does not explain the reason %s", r)
		}
	}
	for _, r := range Rules() {
		if !regexp.MustCompile(`(?m)^\| ` + string(r) + ` \|`).Match(doc) {
			t.Errorf("docs/lifecycle.md does not explain rule %s", r)
		}
	}
}
