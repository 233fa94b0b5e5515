package views

import (
	"strings"
	"testing"
	"time"
)

func TestDurationsAreReadAndNeverNegative(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour: "0 ms", 0: "0 ms", time.Microsecond: "1 ms", 38 * time.Millisecond: "38 ms", 999 * time.Millisecond: "999 ms",
		time.Second: "1 s", 1840 * time.Millisecond: "1.84 s", 1999 * time.Millisecond: "1.99 s", 9999 * time.Millisecond: "9.99 s", 10 * time.Second: "10 s", 59990 * time.Millisecond: "59.9 s",
		time.Minute: "1 min", 125 * time.Second: "2 min 05 s", time.Hour: "1 h", 3*time.Hour + 12*time.Minute: "3 h 12 min", 102 * time.Hour: "4 days 6 h", 96 * time.Hour: "4 days",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestRelativeTimesLookBothWays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 14, 10, 0, 0, time.UTC)
	c := Clock{Now: now}
	for d, want := range map[time.Duration]string{
		0: "now", 999 * time.Millisecond: "now", -999 * time.Millisecond: "now", time.Second: "in 1 s", -59 * time.Second: "59 s ago", -60 * time.Second: "1 min ago",
		3599 * time.Second: "in 59 min", -time.Hour: "1 h ago", -47 * time.Hour: "47 h ago", -49 * time.Hour: "2 days ago",
	} {
		if got := c.Relative(now.Add(d)); got != want {
			t.Errorf("Relative(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{-time.Second: "no time left", 0: "no time left", 59 * time.Second: "59 s", 61 * time.Second: "1 min 01 s", 3 * time.Hour: "3 h"} {
		if got := c.Left(now.Add(d)); got != want {
			t.Errorf("Left(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestAClockThatWasSetBackIsSaidSo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 14, 10, 0, 0, time.UTC)
	if got := Elapsed(now, now.Add(-time.Second)); got != "clock was set back" {
		t.Errorf("Elapsed backwards = %q", got)
	}
	if got := Elapsed(now, now.Add(1500*time.Millisecond)); got != "+1.5 s" {
		t.Errorf("Elapsed = %q", got)
	}
}

// TestFieldF49_TimesAreInTheZoneThatThePageNames, across the border of a day.
func TestFieldF49_TimesAreInTheZoneThatThePageNames(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("CET", 3600)
	late := time.Date(2026, 6, 30, 23, 30, 0, 0, time.UTC)
	c := Clock{Now: late.Add(time.Hour), Zone: zone, Name: "Europe/Berlin"}
	if got := c.Exact(late); got != "1 Jul 2026 00:30:00" {
		t.Errorf("Exact = %q", got)
	}
	if got := c.Hour(late); got != "00:30:00" {
		t.Errorf("Hour of the page's own day = %q", got)
	}
	if got := c.Hour(late.Add(-time.Hour)); got != "30 Jun 23:30:00" {
		t.Errorf("Hour of the day before = %q", got)
	}
	if got := Machine(late.In(zone)); got != "2026-06-30T23:30:00.000Z" {
		t.Errorf("Machine = %q", got)
	}
}

func TestNumbersAreGroupedCappedAndCounted(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{-4: "0", 0: "0", 999: "999", 1000: "1,000", 48377: "48,377", 1234567: "1,234,567"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Capped(10001, 10000) + " " + Capped(10000, 10000); got != "10,000+ 10,000" {
		t.Errorf("Capped = %q", got)
	}
	if got := Plural(1, "attempt", "attempts") + ", " + Plural(0, "attempt", "attempts") + ", " + Plural(1200, "attempt", "attempts"); got != "1 attempt, 0 attempts, 1,200 attempts" {
		t.Errorf("Plural = %q", got)
	}
	if got := strings.Join([]string{Percent(1, 3), Percent(0, 0), Percent(5, 5), Percent(999, 1000), Percent(-1, 10)}, " "); got != "33.3 % – 100 % 99.9 % 0 %" {
		t.Errorf("Percent = %q", got)
	}
	if got := strings.Join([]string{Bytes(-1), Bytes(1023), Bytes(1536), Bytes(412 << 20), Bytes(5 << 40)}, " "); got != "0 B 1023 B 1.5 KiB 412 MiB 5 TiB" {
		t.Errorf("Bytes = %q", got)
	}
}
