package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// rules decides what happens to a send, and what a list shows.
type rules struct {
	mu         sync.Mutex
	patterns   bool
	scripts    map[string][]Behaviour
	patternUse map[string]int // sends to a number that its last digits decided
	mode       Mode
	lag        time.Duration
	hidden     bool
}

func newRules(opt Options) *rules {
	return &rules{patterns: !opt.NoPatterns, scripts: map[string][]Behaviour{}, patternUse: map[string]int{}, mode: ModeNormal, lag: opt.ListLag}
}

// script replaces what is planned for a number; nothing planned removes its script.
func (r *rules) script(to string, steps []Behaviour) error {
	if to == "" {
		return fmt.Errorf("a script needs a number: %w", ErrInvalid)
	}
	planned := make([]Behaviour, 0, len(steps))
	for _, b := range steps {
		if err := b.check(); err != nil {
			return fmt.Errorf("script: %w", err)
		}
		planned = append(planned, b.clone())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(planned) == 0 {
		delete(r.scripts, to)
		return nil
	}
	r.scripts[to] = planned
	return nil
}

// pick decides one send and counts it against the behaviour's Times.
func (r *rules) pick(to string) Behaviour {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.nextStep(to); ok {
		return b
	}
	if b, ok := r.mode.behaviour(); ok {
		return b
	}
	if b, ok := patternOf(to); ok && r.patterns {
		if b.Times > 0 && r.patternUse[to] >= b.Times {
			return Normal()
		}
		r.patternUse[to]++
		return b
	}
	return Normal()
}

func (r *rules) nextStep(to string) (Behaviour, bool) {
	steps := r.scripts[to]
	if len(steps) == 0 {
		return Behaviour{}, false
	}
	b := steps[0]
	if b.Times > 0 {
		steps[0].Times--
		if steps[0].Times == 0 {
			r.scripts[to] = steps[1:]
		}
		if len(r.scripts[to]) == 0 {
			delete(r.scripts, to)
		}
	}
	return b.clone(), true
}

// scripted lists the numbers that have a script, sorted.
func (r *rules) scripted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	numbers := make([]string, 0, len(r.scripts))
	for to := range r.scripts {
		numbers = append(numbers, to)
	}
	slices.Sort(numbers)
	return numbers
}

func (r *rules) setMode(m Mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mode = m
}

func (r *rules) currentMode() Mode {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mode
}

func (r *rules) setLag(lag time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lag = lag
}

func (r *rules) setHidden(hidden bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hidden = hidden
}

// visibility is the list's lag and whether it shows nothing at all.
func (r *rules) visibility() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lag, r.hidden
}
