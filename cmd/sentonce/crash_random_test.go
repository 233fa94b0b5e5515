package main

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sentonce/cmd/fakesms/sim"
)

// TestCrash_AtRandom kills the process round after round at a random passage of a random point, or at a random moment from outside, while
// four storefronts post and the provider does all kinds of things.
func TestCrash_AtRandom(t *testing.T) {
	t.Parallel()
	seed, rounds := rand.Uint64(), 5
	for name, to := range map[string]any{"SENTONCE_TEST_SEED": &seed, "SENTONCE_TEST_ROUNDS": &rounds} {
		if given := os.Getenv(name); given != "" {
			if _, err := fmt.Sscan(given, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("SENTONCE_TEST_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	s := newCrashSite(t)
	next := 1
	for range rounds {
		points := []point{nowhereYet, commitAdmission, admissionStored, commitClaim, claimStored, beforeFirstByte, answerCame, commitResult,
			resultStored, commitLookup}
		at, n := points[random.IntN(len(points))], 1+random.IntN(12)
		m := s.live(t, at, n)
		timer := time.AfterFunc(300*time.Millisecond+time.Duration(random.IntN(2500))*time.Millisecond, func() { _ = m.cmd.Process.Kill() })
		next = s.storm(t, random, m, next)
		timer.Stop()
		t.Logf("died at %q #%d or from outside, with %d events posted", at, n, next-1)
		s.autopsy(t)
	}
	s.live(t, nowhereYet, 1)
	for _, e := range slices.Collect(maps.Values(s.posted)) {
		if !s.hand(t, e) {
			t.Errorf("%s is not taken after the last restart", e.EventID)
		}
	}
	book := s.settled(t)
	if len(book.Entries) != next-1 {
		t.Errorf("%d notifications for %d events", len(book.Entries), next-1)
	}
	if log := canaries(t, s.dir); log != "" {
		t.Errorf("I8: %s", log)
	}
}

// storm posts new events, four at a time, until the process is gone, and a few old ones among them. It returns the next event's number.
func (s *crashSite) storm(t *testing.T, random *rand.Rand, m *mortal, next int) int {
	t.Helper()
	events := make(chan event)
	var shops sync.WaitGroup
	for range 4 {
		shops.Go(func() {
			for e := range events {
				s.hand(t, e)
			}
		})
	}
	for alive := true; alive; {
		e := newEvent(next)
		if next > 5 && random.IntN(5) == 0 {
			s.mu.Lock()
			e = s.posted[fmt.Sprintf("e-%d", next-1-random.IntN(5))]
			s.mu.Unlock()
		}
		if e.EventID == "" || e.EventID == fmt.Sprintf("e-%d", next) {
			e = newEvent(next)
			next++
			s.misbehave(t, random, e)
		}
		select {
		case events <- e:
		case <-m.gone:
			alive = false
			s.mu.Lock()
			s.posted[e.EventID] = e // posted by nobody yet; at the end it is
			s.mu.Unlock()
		}
	}
	close(events)
	shops.Wait()
	m.died(t)
	return next
}

// misbehave gives some sends a fault. All of them leave the truth in the ledger. Being told to come later is rare, because it stops the
// provider for a second or more each time.
func (s *crashSite) misbehave(t *testing.T, random *rand.Rand, e event) {
	switch random.IntN(10) {
	case 0:
		s.script(t, e, sim.Behaviour{Accept: true, Ending: sim.EndReset})
	case 1:
		s.script(t, e, sim.Behaviour{Accept: true, Delay: time.Duration(random.IntN(400)) * time.Millisecond})
	case 2:
		if random.IntN(10) > 0 {
			return
		}
		s.script(t, e, sim.Behaviour{Status: 429, Code: 20429, Times: 1})
	case 3:
		s.script(t, e, sim.Behaviour{Accept: true, Ending: sim.EndCut})
	case 4:
		s.script(t, e, sim.Behaviour{Status: 400, Code: 21211})
	}
}

// canaries looks for texts and numbers in all files of an installation.
func canaries(t *testing.T, dir string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		raw, err := io.ReadAll(f)
		for _, secret := range []string{"CANARY", "151230000"} {
			if strings.Contains(string(raw), secret) {
				found = filepath.Base(path) + " holds " + secret
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
