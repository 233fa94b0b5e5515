package dispatch

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRetryDelayDoublesUpToTenSeconds(t *testing.T) {
	t.Parallel()
	most := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second}
	for n, ceiling := range most {
		if got := RetryDelay(n+1, 0.5); got != ceiling/2 {
			t.Errorf("try %d at half: %v, want %v", n+1, got, ceiling/2)
		}
		if got := RetryDelay(n+1, 0); got != 0 {
			t.Errorf("try %d at zero: %v", n+1, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(-3, 80), rapid.Just(math.MaxInt), rapid.Just(math.MinInt)).Draw(t, "n")
		d := RetryDelay(n, rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "fraction"))
		if d < 0 || d >= 10*time.Second || n <= 1 && d >= 500*time.Millisecond {
			t.Fatalf("try %d waits %v", n, d)
		}
	})
}

func TestNextLookup(t *testing.T) {
	t.Parallel()
	since := storyTime()
	ages := []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}
	life := 10 * time.Minute
	for _, row := range []struct {
		name     string
		schedule []time.Duration
		age      time.Duration // of the doubt, now
		want     time.Duration // of the doubt, at the next question; -1: none
	}{
		{"the first age", ages, 0, 5 * time.Second},
		{"just before an age", ages, 15*time.Second - 1, 15 * time.Second},
		{"at an age: the one after it", ages, 15 * time.Second, 30 * time.Second},
		{"missed ages are not made up one by one", ages, 90 * time.Second, 2 * time.Minute},
		{"after the last age, its step repeats", ages, 10 * time.Minute, 15 * time.Minute},
		{"and repeats", ages, time.Hour, time.Hour + 5*time.Minute},
		{"up to a day after the expiry", ages, life + LookupsEnd - 5*time.Minute, life + LookupsEnd},
		{"and then no more", ages, life + LookupsEnd - 5*time.Minute + 1, -1},
		{"a schedule of one age", []time.Duration{time.Minute}, time.Minute, 2 * time.Minute},
		{"a schedule of zero never spins", []time.Duration{0}, 0, time.Second},
		{"equal ages never spin", []time.Duration{time.Minute, time.Minute}, time.Minute, 2 * time.Minute},
		{"no schedule", nil, 0, -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := NextLookup(since, since.Add(life), Terms{Now: since.Add(row.age), Schedule: row.schedule})
			want := since.Add(row.want)
			if row.want < 0 {
				want = time.Time{}
			}
			if !got.Equal(want) {
				t.Errorf("at age %v, want %v", got.Sub(since), row.want)
			}
		})
	}
	if !NextLookup(time.Time{}, since, Terms{Now: since, Schedule: ages}).IsZero() {
		t.Error("asked about an attempt that was never in doubt")
	}
}

func TestADoubtWithoutAScheduleAsksNobody(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.terms.Schedule = nil
	if s.doubt(); !s.rec.Attempts[0].LookupAt.IsZero() {
		t.Errorf("asked at %v", s.rec.Attempts[0].LookupAt)
	}
}

func TestLookupsAlwaysMoveOnAndEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		since := storyTime()
		expires := since.Add(time.Duration(rapid.IntRange(1, 86400).Draw(t, "life")) * time.Second)
		var schedule []time.Duration
		age := time.Duration(0)
		for _, step := range rapid.SliceOfN(rapid.IntRange(1, 600), 1, 8).Draw(t, "steps") {
			age += time.Duration(step) * time.Second
			schedule = append(schedule, age)
		}
		now := since.Add(time.Duration(rapid.IntRange(0, 200000).Draw(t, "now")) * time.Second)
		next := NextLookup(since, expires, Terms{Now: now, Schedule: schedule})
		if !next.IsZero() && (!next.After(now) || next.After(expires.Add(LookupsEnd))) {
			t.Fatalf("at %v the next question is at %v", now.Sub(since), next.Sub(since))
		}
	})
}

// I5: whatever the provider's timeout and units are, it is never allowed to deliver after the expiry.
func TestValidityNeverOutlivesTheEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		life := time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "life"))
		timeout := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "timeout"))
		unit := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 5 * time.Minute, time.Hour}).Draw(t, "unit")
		can := Capabilities{ValidityUnit: unit, ValidityMin: unit * time.Duration(rapid.IntRange(0, 5).Draw(t, "min")),
			ValidityMax: unit * time.Duration(rapid.IntRange(0, 500).Draw(t, "max"))}
		deadline := CallDeadline(timeout, life)
		if deadline > timeout || deadline > life/2 {
			t.Fatalf("the call may take %v of %v", deadline, life)
		}
		v, ok := Validity(timeout, life, can)
		switch {
		case ok && deadline+v > life:
			t.Fatalf("a call of %v and a validity of %v outlive %v", deadline, v, life)
		case ok && (v <= 0 || unit > 0 && (v%unit != 0 || v < can.ValidityMin || can.ValidityMax > 0 && v > can.ValidityMax)):
			t.Fatalf("validity %v with %+v", v, can)
		case !ok && unit == 0:
			t.Fatalf("a provider without validity is not used for a life of %v", life)
		case !ok && life-deadline >= unit && life-deadline >= can.ValidityMin+unit && can.ValidityMax == 0:
			t.Fatalf("not used although %v are left of %v", life-deadline, life)
		}
	})
}

func TestValidityIsRoundedDownOrRefused(t *testing.T) {
	t.Parallel()
	minute := Capabilities{ValidityUnit: time.Minute, ValidityMin: time.Minute, ValidityMax: 48 * time.Hour}
	for _, row := range []struct {
		timeout, life time.Duration
		can           Capabilities
		want          time.Duration
		ok            bool
	}{
		{10 * time.Second, 10 * time.Minute, minute, 9 * time.Minute, true},
		{10 * time.Second, 70 * time.Second, minute, time.Minute, true},
		{10 * time.Second, 70*time.Second - 1, minute, 0, false},
		{10 * time.Second, 50 * time.Second, minute, 0, false},
		{10 * time.Second, 8 * time.Second, Capabilities{ValidityUnit: time.Second}, 4 * time.Second, true},
		{10 * time.Second, 12 * time.Hour, Capabilities{ValidityUnit: time.Second, ValidityMax: 4 * time.Hour}, 4 * time.Hour, true},
		{10 * time.Second, 30 * time.Second, Capabilities{ValidityUnit: time.Second, ValidityMin: 30 * time.Second}, 20 * time.Second, false},
		{10 * time.Second, 30 * time.Second, Capabilities{}, 20 * time.Second, true},
		{10 * time.Second, 0, Capabilities{}, 0, false},
		{10 * time.Second, -time.Second, minute, 0, false},
	} {
		if v, ok := Validity(row.timeout, row.life, row.can); ok != row.ok || ok && v != row.want {
			t.Errorf("timeout %v, life %v: %v %t, want %v %t", row.timeout, row.life, v, ok, row.want, row.ok)
		}
	}
}
