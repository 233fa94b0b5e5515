package views

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Clock is the instant a page was made and the zone that all of it is written in.
type Clock struct {
	Now  time.Time
	Zone *time.Location
	Name string // of the zone as the page shows it, e.g. "Europe/Berlin"
}

// In is the instant in the page's zone.
func (c Clock) In(t time.Time) time.Time {
	if c.Zone == nil {
		return t.UTC()
	}
	return t.In(c.Zone)
}

// Exact writes an instant for people: day, month name, year and 24-hour time, in the page's zone.
func (c Clock) Exact(t time.Time) string { return c.In(t).Format("2 Jan 2006 15:04:05") }

// Milli is Exact with milliseconds, for timelines.
func (c Clock) Milli(t time.Time) string { return c.In(t).Format("2 Jan 2006 15:04:05.000") }

// Hour writes the time of day, with the date only when it is not the page's own day.
func (c Clock) Hour(t time.Time) string {
	at, now := c.In(t), c.In(c.Now)
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05")
	}
	return at.Format("2 Jan 15:04:05")
}

// Relative says how far an instant is from the making of the page: "3 min ago", "in 40 s". app.js repeats its steps.
func (c Clock) Relative(t time.Time) string {
	d := t.Sub(c.Now)
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return coarse(-d) + " ago"
	}
	return "in " + coarse(d)
}

// Left writes what remains until t, to the second below an hour; "no time left" afterwards.
func (c Clock) Left(t time.Time) string {
	d := t.Sub(c.Now)
	switch {
	case d <= 0:
		return "no time left"
	case d >= time.Minute && d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return coarse(d)
}

func coarse(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Machine is the form of an instant for the datetime attribute and for records: RFC 3339, UTC, milliseconds.
func Machine(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Duration writes a span: "38 ms", "1.84 s", "2 min 05 s", "3 h 12 min", "4 days 6 h". A negative one is written as "0 ms": where that can
// happen, Elapsed says that the clock moved.
func Duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(d.Milliseconds(), 1))
	case d < 10*time.Second:
		return decimals(d.Seconds(), 2) + " s"
	case d < time.Minute:
		return decimals(d.Seconds(), 1) + " s"
	case d < time.Hour:
		return pair(int(d.Minutes()), "min", int(d.Seconds())%60, "%02d s")
	case d < 48*time.Hour:
		return pair(int(d.Hours()), "h", int(d.Minutes())%60, "%d min")
	}
	return pair(int(d.Hours()/24), "days", int(d.Hours())%24, "%d h")
}

func pair(a int, unit string, b int, rest string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unit)
	}
	return fmt.Sprintf("%d %s "+rest, a, unit, b)
}

// decimals cuts after n places; it never rounds a span up into one that has not passed.
func decimals(v float64, n int) string {
	scale := 1.0
	for range n {
		scale *= 10
	}
	s := strconv.FormatFloat(float64(int(v*scale))/scale, 'f', n, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Elapsed is the time between two recorded instants. Records may come from a clock that was set back in between; then it says so instead of
// giving a negative span.
func Elapsed(from, to time.Time) string {
	if to.Before(from) {
		return "clock was set back"
	}
	return "+" + Duration(to.Sub(from))
}

// Count writes a number with thin groups: 1,204.
func Count(n int) string {
	s := strconv.Itoa(max(n, 0))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Capped is Count up to the limit to which counting is exact, and "10,000+" beyond it.
func Capped(n, limit int) string {
	if n > limit {
		return Count(limit) + "+"
	}
	return Count(n)
}

// Plural joins a number and its noun: "1 attempt", "3 attempts".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Percent writes part of whole with one decimal; "–" when there is no whole.
func Percent(part, whole int) string {
	if whole <= 0 {
		return "–"
	}
	return decimals(float64(max(part, 0))*100/float64(whole), 1) + " %"
}

// Bytes writes a size in binary units.
func Bytes(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1024 {
		return strconv.FormatInt(max(n, 0), 10) + " B"
	}
	v, unit := float64(n)/1024, 0
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	return decimals(v, 1) + " " + units[unit]
}

// orDash is the text, or a dash where there is none.
func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
