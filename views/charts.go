package views

import (
	"fmt"
	"strconv"
	"time"
)

// Chart is a figure with a finding in words, a drawing, and a table of the same numbers.
type Chart struct {
	ID      string // unique on its page
	Title   string
	Finding string   // what it shows, in words
	Series  []string // up to five
	Bars    []Bar    // in the order of time
	Unit    string   // of the values, e.g. "ms"; "" for counts
	Limit   int      // a line across; 0: none
	LimitIs string   // what the line is
	Wide    bool     // it has the width of the page, and is lower
}

// Bar is one span of time or one point of it.
type Bar struct {
	Label  string // for the axis, e.g. "14:00"
	Span   string // in full, for the table: "29 Nov 14:00 to 14:05 UTC"
	Values []int  // one for each series
	Path   string // the list behind it; "" when there is none
}

// Measure is one row of horizontal bars.
type Measure struct {
	Label string
	Value int
	Path  string
}

// The drawing surface has about the width at which it is shown, so that its texts keep their size.
const (
	plotLeft   = 50
	plotBottom = 24
	plotTop    = 10
)

func (c Chart) width() int {
	if c.Wide {
		return 1000
	}
	return 480
}

func (c Chart) top() int {
	highest := c.Limit
	for _, b := range c.Bars {
		highest = max(highest, total(b.Values))
	}
	return round(highest)
}

// lineTop is top for lines, which do not add up.
func (c Chart) lineTop() int {
	highest := c.Limit
	for _, b := range c.Bars {
		for _, v := range b.Values {
			highest = max(highest, v)
		}
	}
	return round(highest)
}

// round gives the next number that makes a good end of an axis.
func round(n int) int {
	for step := 1; ; step *= 10 {
		for _, f := range []int{1, 2, 4, 5, 10} {
			if n <= f*step {
				return max(f*step, 4)
			}
		}
	}
}

func total(values []int) int {
	sum := 0
	for _, v := range values {
		sum += max(v, 0)
	}
	return sum
}

// box is a rectangle of the drawing, ready for attributes.
type box struct{ x, y, w, h string }

func (c Chart) slot() float64 { return float64(c.width()-plotLeft) / float64(max(len(c.Bars), 1)) }

// high is the height of the drawing.
func (c Chart) high() int {
	if c.Wide {
		return 120
	}
	return 150
}

func (c Chart) viewBox() string { return fmt.Sprintf("0 0 %d %d", c.width(), c.high()) }

// base is where the axis lies.
func (c Chart) base() float64 { return float64(c.high() - plotBottom) }

func (c Chart) height(value, top int) float64 {
	return float64(max(value, 0)) / float64(max(top, 1)) * (c.base() - plotTop)
}

// piece is the rectangle of one series in one bar.
func (c Chart) piece(bar, series, top int) box {
	below := total(c.Bars[bar].Values[:series])
	h := c.height(c.Bars[bar].Values[series], top)
	y := c.base() - c.height(below, top) - h
	gap := min(c.slot()*0.22, 6)
	return box{coord(plotLeft + c.slot()*float64(bar) + gap/2), coord(y), coord(c.slot() - gap), coord(h)}
}

// column is the whole height over one bar: what a pointer hits.
func (c Chart) column(bar int) box {
	return box{coord(plotLeft + c.slot()*float64(bar)), coord(plotTop), coord(c.slot()), coord(float64(c.high() - plotTop))}
}

// points is the line of one series.
func (c Chart) points(series, top int) string {
	s := ""
	for i, b := range c.Bars {
		x := plotLeft + c.slot()*(float64(i)+0.5)
		y := c.base() - c.height(b.Values[series], top)
		s += coord(x) + "," + coord(y) + " "
	}
	return s
}

func (c Chart) level(value, top int) string {
	return coord(c.base() - c.height(value, top))
}

// labelled reports whether a bar's label has room on the axis.
func (c Chart) labelled(bar int) bool {
	every := (len(c.Bars) + 5) / 6
	return bar%max(every, 1) == 0
}

func (c Chart) labelX(bar int) string { return coord(plotLeft + c.slot()*(float64(bar)+0.5)) }

// value writes an amount with its unit; milliseconds become a span that can be read.
func (c Chart) value(v int) string {
	switch c.Unit {
	case "":
		return Count(v)
	case "ms":
		return Duration(time.Duration(v) * time.Millisecond)
	}
	return Count(v) + " " + c.Unit
}

// describe is the drawing in words, for those who do not see it.
func (c Chart) describe() string {
	if len(c.Bars) == 0 {
		return c.Finding
	}
	return fmt.Sprintf("%s From %s to %s. The table below has every number.", c.Finding, c.Bars[0].Span, c.Bars[len(c.Bars)-1].Span)
}

func coord(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func seriesClass(prefix string, i int) string { return prefix + strconv.Itoa(i%5+1) }

func highest(all []Measure) int {
	n := 0
	for _, m := range all {
		n = max(n, m.Value)
	}
	return n
}
