package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// world is what really happens around some notifications: a provider that takes or does not take each call, people, a clock. The rules see
// none of it but what evidence shows them.
type world struct {
	honest bool // nobody is mistaken: the provider's word is true, and people know what they say
	now    time.Time
	lives  []*life
	ids    int
}

// life is one notification and the truth about its calls.
type life struct {
	rec          Record
	past         *history
	calls        []*call
	second       bool // a call turned out taken after a later one that may have been taken, too
	contradicted bool // evidence came that contradicts an earlier conclusion
}

type call struct {
	id     string
	fate   fate
	shown  bool            // evidence that the provider took it has arrived
	named  map[string]bool // ids that such evidence named
	heard  map[string]bool // receipts that came already
	listen bool            // the process that made the call still waits for its answer
}

// fate is whether the provider took a call; it is open until something in the world depends on it.
type fate int

const (
	fateOpen fate = iota
	fateTaken
	fateNotTaken
)

func newWorld(t *rapid.T) *world {
	w := &world{honest: rapid.Bool().Draw(t, "honest"), now: storyTime()}
	w.admit(t)
	return w
}

func (w *world) admit(t *rapid.T) {
	if n := len(w.lives); n == 6 || n > 0 && !stopped(w.lives[n-1].rec.State) && often(t, "a second one", true, false) {
		return
	}
	r := blankRecord()
	r.ID, r.AcceptedAt, r.DueAt = NotificationID{byte(len(w.lives) + 1)}, w.now, w.now
	r.ExpiresAt = w.now.Add(time.Duration(often(t, "life in seconds", 900, 5, 60)) * time.Second)
	r, past := admit(r)
	w.lives = append(w.lives, &life{rec: r, past: past})
}

// pick chooses mostly the newest notification, so that histories get deep.
func (w *world) pick(t *rapid.T) *life {
	if often(t, "the newest", true, false) {
		return w.lives[len(w.lives)-1]
	}
	return w.lives[rapid.IntRange(0, len(w.lives)-1).Draw(t, "notification")]
}

func (w *world) terms(t *rapid.T) Terms {
	return Terms{
		Now:          w.now,
		MinRemaining: time.Duration(rapid.SampledFrom([]int{0, 5}).Draw(t, "least life")) * time.Second,
		MaxAttempts:  often(t, "max attempts", 5, 1, 2),
		Delay:        time.Second,
		Schedule:     []time.Duration{5 * time.Second, 30 * time.Second},
		Elsewhere:    rapid.Bool().Draw(t, "elsewhere"),
		NoReceipts:   often(t, "no receipts", false, true),
		Unavailable:  rapid.Bool().Draw(t, "unavailable"),
	}
}

// often draws the usual value in seven of eight cases. It throws coins because rapid prefers small numbers and early list members.
func often[T any](t *rapid.T, label string, usual T, others ...T) T {
	for range 3 {
		if !rapid.Bool().Draw(t, label+": coin") {
			return usual
		}
	}
	return rapid.SampledFrom(others).Draw(t, label)
}

// mistaken says whether somebody is wrong this time.
func (w *world) mistaken(t *rapid.T) bool {
	return !w.honest && rapid.Bool().Draw(t, "mistaken")
}

// settle fixes the fate of a call that is still open, and says whether it is as wanted or somebody is mistaken.
func (w *world) settle(t *rapid.T, c *call, want fate) bool {
	if c.fate == fateOpen {
		c.fate = want
		if w.mistaken(t) {
			c.fate = fateTaken + fateNotTaken - want
		}
	}
	return c.fate == want || w.mistaken(t)
}

// apply takes a rule's answer: a change that keeps every invariant, or one of the errors that rules may give and no effect.
func (l *life) apply(t *rapid.T, c Change, err error) bool {
	if err != nil && !errors.Is(err, ErrStale) && !errors.Is(err, ErrStopped) {
		t.Fatalf("unexpected error: %v", err)
	}
	if errors.Is(err, ErrStale) && len(c.Effects) != 0 {
		t.Fatalf("a stale fact has %d effects", len(c.Effects))
	}
	next, wrong := l.past.apply(l.rec, c)
	if wrong != nil {
		t.Fatalf("notification %v in %s: %v", l.rec.ID, l.rec.State, wrong)
	}
	l.rec = next
	return err == nil
}

// positive notes that evidence has shown call n to be taken, under an id where it has one. before is the outcome until then.
func (l *life) positive(n int, id string, before Outcome) {
	c := l.calls[n-1]
	c.shown = true
	if id != "" {
		c.named[id] = true
	}
	if before == OutcomeNotSent || before == OutcomeRefused {
		l.contradicted = true
	}
	for _, other := range l.rec.Attempts {
		unsent := other.Outcome == OutcomeNotSent || other.Outcome == OutcomeRefused
		l.second = l.second || other.Number > n && !unsent
	}
}

// word is what an exchange says about the call, in the shortest terms: R3 and R10 say taken; silence on the wire, and a complete refusal of
// any kind, say not taken; everything else says nothing.
func word(x Exchange) fate {
	switch {
	case slices.Contains([]Phase{PhaseNone, PhaseConnecting, PhaseConnected}, x.Phase):
		return fateNotTaken
	case x.Phase != PhaseAnswered || x.Err != nil:
		return fateOpen
	case x.Answer.Meaning == MeaningTaken || x.Answer.Meaning == MeaningSeenBefore:
		return fateTaken
	case slices.Contains([]Meaning{MeaningRefused, MeaningRefusedHere, MeaningTryLater, MeaningAccountRefusing}, x.Answer.Meaning):
		return fateNotTaken
	}
	return fateOpen
}

// check holds what must be true at any moment against the truth.
func (w *world) check(t *rapid.T) {
	for _, l := range w.lives {
		if err := l.truth(w.honest); err != nil {
			t.Fatalf("notification %v in %s: %v", l.rec.ID, l.rec.State, err)
		}
		for n := range l.calls {
			ok := l.rec.MayStillSend(n+1, Terms{Now: w.now}) == nil
			want := l.rec.State == StateDispatching && l.rec.Attempts[n].Outcome == OutcomePending && l.rec.WithdrawnAt.IsZero() &&
				w.now.Before(l.rec.ExpiresAt) && w.now.Before(l.rec.Attempts[n].DeadlineAt)
			if ok != want {
				t.Fatalf("call %d may still be made: %t, want %t", n+1, ok, want)
			}
		}
	}
}

func (l *life) truth(honest bool) error {
	taken := 0
	for i, c := range l.calls {
		a := l.rec.Attempts[i]
		switch {
		case c.shown && a.Outcome != OutcomeAccepted:
			return fmt.Errorf("call %d is %s although evidence has shown that it was taken", a.Number, a.Outcome)
		case !c.shown && a.Outcome == OutcomeAccepted:
			return fmt.Errorf("call %d is accepted without any evidence", a.Number)
		case len(c.named) > 1 && !hasIncident(l.rec, IncidentTwoIDs):
			return fmt.Errorf("call %d has the ids %v and no incident", a.Number, c.named)
		}
		if c.fate == fateTaken {
			taken++
		}
	}
	switch {
	case l.contradicted && !hasIncident(l.rec, IncidentContradiction):
		return errors.New("a contradiction without an incident")
	case l.second && !hasIncident(l.rec, IncidentSecondSend):
		return errors.New("a possible second send without an incident")
	case honest && taken > 1:
		return fmt.Errorf("%d messages went out although nobody was mistaken", taken)
	case honest && hasIncident(l.rec, IncidentSecondSend):
		return errors.New("a second send although nobody was mistaken")
	}
	return nil
}
