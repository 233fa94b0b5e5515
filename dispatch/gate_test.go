package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// nowhere is a provider that is never called: the gate's tests say themselves how calls end.
type nowhere struct{}

func (nowhere) Send(context.Context, Message) Exchange { return Exchange{} }
func (nowhere) Capabilities() Capabilities             { return Capabilities{} }

var (
	gateTaken    = Exchange{Phase: PhaseAnswered, Answer: Answer{Meaning: MeaningTaken}}
	gateLater    = Exchange{Phase: PhaseAnswered, Answer: Answer{Meaning: MeaningTryLater}}
	gateRefusing = Exchange{Phase: PhaseAnswered, Answer: Answer{Meaning: MeaningAccountRefusing}}
	gateCut      = Exchange{Phase: PhaseWritten, Err: errors.New("cut")}
)

// inBubble runs a test of one gate with eight slots and the bubble's clock.
func inBubble(t *testing.T, rate float64, test func(t *testing.T, g *gate, now func() time.Duration)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mono := NewMachineBase().Mono
		g := newGate(Route{Name: "main", Provider: nowhere{}, Concurrency: 8, RatePerSecond: rate}, func() float64 { return 0.5 })
		test(t, g, mono)
	})
}

// enterMany takes n tickets.
func enterMany(t *testing.T, g *gate, now time.Duration, n int) (all []*ticket) {
	t.Helper()
	for range n {
		one := g.enter(now)
		if one == nil {
			t.Fatal("no way in")
		}
		all = append(all, one)
	}
	return all
}

func TestGate_ABurstOfThrottlesIsOnePause(t *testing.T) {
	t.Parallel()
	inBubble(t, 0, func(t *testing.T, g *gate, now func() time.Duration) {
		for _, one := range enterMany(t, g, now(), 4) {
			one.settle(now(), gateLater, false)
		}
		if got := g.shutFor(now()); got != throttleLeast {
			t.Errorf("paused for %v, want %v", got, throttleLeast)
		}
	})
}

func TestGate_AnAnswerFromBeforeThePauseDoesNotEndIt(t *testing.T) {
	t.Parallel()
	inBubble(t, 0, func(t *testing.T, g *gate, now func() time.Duration) {
		all := enterMany(t, g, now(), 3)
		all[0].settle(now(), gateLater, false)
		all[1].settle(now(), gateTaken, false)
		<-time.After(throttleLeast)
		all[2].settle(now(), gateTaken, false)
		if n, _ := g.room(now()); n != 1 {
			t.Errorf("room for %d after the pause, want one probe", n)
		}
		probe := g.enter(now())
		if n, _ := g.room(now()); n != 0 || !g.unavailable(now()) {
			t.Errorf("room for %d beside the probe", n)
		}
		probe.settle(now(), gateTaken, false)
		if n, _ := g.room(now()); n != 2 || g.unavailable(now()) {
			t.Errorf("room for %d after the probe, want 2", n)
		}
	})
}

func TestGate_ARefusingAccountCountsForTheBreakerAndStaysTheCause(t *testing.T) {
	t.Parallel()
	inBubble(t, 0, func(t *testing.T, g *gate, now func() time.Duration) {
		for _, one := range enterMany(t, g, now(), tripStreak) {
			one.settle(now(), gateRefusing, false)
		}
		if st := g.status(now(), time.Now()); st.Cause != PauseAccountRefusing || st.Breaker != "open" {
			t.Errorf("%+v", st)
		}
	})
}

func TestGate_HalfOfManyFailuresOpensTheBreaker(t *testing.T) {
	t.Parallel()
	inBubble(t, 0, func(t *testing.T, g *gate, now func() time.Duration) {
		for i := range tripSample {
			if st := g.status(now(), time.Now()); st.Breaker != "closed" {
				t.Fatalf("open after %d calls", i)
			}
			x := gateTaken
			if i%2 == 1 {
				x = gateCut
			}
			g.enter(now()).settle(now(), x, false)
		}
		if st := g.status(now(), time.Now()); st.Breaker != "open" {
			t.Errorf("half of %d calls failed, and the breaker is %s", tripSample, st.Breaker)
		}
	})
}

func TestGate_AProbeThatIsGivenBackLeavesRoomForTheNext(t *testing.T) {
	t.Parallel()
	inBubble(t, 0, func(t *testing.T, g *gate, now func() time.Duration) {
		for _, one := range enterMany(t, g, now(), tripStreak) {
			one.settle(now(), gateCut, false)
		}
		<-time.After(openLeast)
		for range 3 { // lost claims
			probe := enterMany(t, g, now(), 1)[0]
			if g.enter(now()) != nil {
				t.Error("a second call beside the probe")
			}
			probe.giveBack(now())
			probe.giveBack(now())
		}
		enterMany(t, g, now(), 1)[0].settle(now(), gateCut, false)
		if st := g.status(now(), time.Now()); st.Breaker != "open" || st.InFlight != 0 {
			t.Errorf("after a failed probe: %+v", st)
		}
		if got := g.shutFor(now()); got <= openLeast || got > openMost {
			t.Errorf("the second opening lasts %v", got)
		}
	})
}

func TestGate_OpeningsNeverLastLongerThanTenSeconds(t *testing.T) {
	t.Parallel()
	inBubble(t, 0, func(t *testing.T, g *gate, now func() time.Duration) {
		g.random = func() float64 { return 0.999 }
		for range tripStreak {
			g.enter(now()).settle(now(), gateCut, false)
		}
		for range 10 {
			d := g.shutFor(now())
			if d < openLeast || d > openMost {
				t.Fatalf("open for %v", d)
			}
			<-time.After(d)
			enterMany(t, g, now(), 1)[0].settle(now(), gateCut, false)
		}
	})
}

func TestGate_CallsAreEvenlySpacedAndAnUnusedTurnIsReturned(t *testing.T) {
	t.Parallel()
	inBubble(t, 2, func(t *testing.T, g *gate, now func() time.Duration) {
		first := enterMany(t, g, now(), 1)[0]
		n, at := g.room(now())
		if n != 0 || at-now() != 525*time.Millisecond {
			t.Errorf("room for %d in %v, want the next call in 525 ms", n, at-now())
		}
		first.giveBack(now())
		enterMany(t, g, now(), 1)
	})
}
