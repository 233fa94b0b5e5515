package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func meanings() []Meaning {
	return []Meaning{MeaningNone, MeaningForeign, MeaningTaken, MeaningSeenBefore, MeaningRefused, MeaningRefusedHere, MeaningTryLater,
		MeaningAccountRefusing}
}

func wireErrors() []error {
	return []error{nil, ErrUnbuildable, fmt.Errorf("unit too long: %w", ErrUnbuildable), ErrStopped, context.DeadlineExceeded, context.Canceled,
		io.EOF, io.ErrUnexpectedEOF, errors.New("connection reset")}
}

func TestClassifyEveryPhaseErrorAndMeaning(t *testing.T) {
	t.Parallel()
	type verdict struct {
		outcome Outcome
		rule    Rule
	}
	complete := map[Meaning]verdict{
		MeaningNone:            {OutcomeUnknown, R7},
		MeaningForeign:         {OutcomeUnknown, R7},
		MeaningTaken:           {OutcomeAccepted, R3},
		MeaningSeenBefore:      {OutcomeAccepted, R10},
		MeaningRefused:         {OutcomeRefused, R4},
		MeaningRefusedHere:     {OutcomeNotSent, R4},
		MeaningTryLater:        {OutcomeNotSent, R5},
		MeaningAccountRefusing: {OutcomeNotSent, R11},
		"new_word":             {OutcomeUnknown, R7},
	}
	silent := map[Phase]bool{PhaseNone: true, PhaseConnecting: true, PhaseConnected: true}
	for _, phase := range append(Phases(), "", "teleported") {
		for _, err := range wireErrors() {
			for meaning, whole := range complete {
				want := verdict{OutcomeUnknown, R6}
				switch {
				case silent[phase] && errors.Is(err, ErrUnbuildable):
					want = verdict{OutcomeRefused, R1}
				case silent[phase]:
					want = verdict{OutcomeNotSent, R2}
				case phase == PhaseAnswered && err == nil:
					want = whole
				}
				o, rule := Classify(phase, err, Answer{Meaning: meaning})
				if (verdict{o, rule}) != want {
					t.Errorf("phase %q, error %v, meaning %q: %s %s, want %s %s", phase, err, meaning, o, rule, want.outcome, want.rule)
				}
			}
		}
	}
}

func TestPhasesGrowInOneOrder(t *testing.T) {
	t.Parallel()
	left := false
	for _, p := range Phases() {
		if left && !p.BytesMayHaveLeft() {
			t.Errorf("%s forgets that bytes may have left", p)
		}
		left = p.BytesMayHaveLeft()
		if left != (p != PhaseNone && p != PhaseConnecting && p != PhaseConnected) {
			t.Errorf("%s: bytes may have left: %t", p, left)
		}
	}
	if !Phase("").BytesMayHaveLeft() {
		t.Error("an exchange whose phase nobody knows counts as silent")
	}
}

func TestOnlyTheProvidersOwnAnswersSpeakForIt(t *testing.T) {
	t.Parallel()
	want := map[Rule]bool{R3: true, R4: true, R5: true, R10: true, R11: true}
	for _, r := range Rules() {
		if r.Answered() != want[r] {
			t.Errorf("%s answered: %t", r, r.Answered())
		}
	}
}

// anyExchange is any exchange at all, also one that no adapter should hand back.
func anyExchange() *rapid.Generator[Exchange] {
	return rapid.Custom(func(t *rapid.T) Exchange {
		return Exchange{
			Phase: rapid.SampledFrom(append(Phases(), "", "other")).Draw(t, "phase"),
			Err:   rapid.SampledFrom(wireErrors()).Draw(t, "error"),
			Answer: Answer{
				Meaning:    rapid.SampledFrom(append(meanings(), "other")).Draw(t, "meaning"),
				HTTPStatus: rapid.IntRange(0, 599).Draw(t, "status"),
				Code:       rapid.StringMatching(`[0-9]{0,5}`).Draw(t, "code"),
				MessageID:  rapid.StringMatching(`(SM[0-9]{2})?`).Draw(t, "id"),
				RetryAfter: time.Duration(rapid.IntRange(0, 99).Draw(t, "retry after")) * time.Second,
			},
		}
	})
}

func TestNoExchangeThatMayHaveSentIsReadAsSilent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := anyExchange().Draw(t, "exchange")
		o, rule := Classify(x.Phase, x.Err, x.Answer)
		whole := x.Phase == PhaseAnswered && x.Err == nil
		if x.Phase.BytesMayHaveLeft() && (rule == R1 || rule == R2) {
			t.Fatalf("%+v is %s", x, rule)
		}
		if x.Phase.BytesMayHaveLeft() && !whole && o != OutcomeUnknown {
			t.Fatalf("%+v is %s without a complete answer", x, o)
		}
		if o == OutcomeAccepted && (!whole || x.Answer.Meaning != MeaningTaken && x.Answer.Meaning != MeaningSeenBefore) {
			t.Fatalf("%+v is accepted", x)
		}
		if o == OutcomePending || o == OutcomeUndetermined || rule == R8 {
			t.Fatalf("%+v is %s by %s", x, o, rule)
		}
	})
}
