package report

import (
	"fmt"
	"math"
	"strings"

	"ponder/internal/textkit"

	"ponder/mode/session"
)

// A chart is the confidence of the syntheses over time. Dots are thoughts.
type chart struct {
	Points []point
	Dots   []point
	Last   *point // the newest synthesis
	End    float64
}

type point struct {
	At    float64 // seconds
	Value float64 // 0 to 1
	Final bool
}

// The most that a chart shows. Of more, it shows some, evenly.
const (
	maxPoints = 120
	maxDots   = 600
	maxBars   = 24 // in a chart of text
)

// newChart returns the chart of a session, or nil if no synthesis says how sure it is.
func newChart(v session.View) *chart {
	c := &chart{}
	for _, s := range sample(v.Syntheses, maxPoints) {
		if !s.Assumed {
			c.Points = append(c.Points, point{At: time0(s.Offset), Value: unit(s.Confidence), Final: s.Final})
		}
	}
	if len(c.Points) == 0 {
		return nil
	}
	for _, t := range sample(v.Thoughts, maxDots) {
		if !t.Assumed {
			c.Dots = append(c.Dots, point{At: time0(t.Offset), Value: unit(t.Confidence)})
		}
	}
	c.Last = &c.Points[len(c.Points)-1]
	for _, p := range append(c.Dots, c.Points...) {
		c.End = max(c.End, p.At)
	}
	return c
}

// sample returns at most n elements of a list, evenly, the last among them.
func sample[E any](list []E, n int) []E {
	if len(list) <= n {
		return list
	}
	out := make([]E, n)
	for i := range out {
		out[i] = list[(i+1)*len(list)/n-1]
	}
	return out
}

// Text draws the chart in letters: a bar for each synthesis.
func (c *chart) Text() string {
	const width = 40
	var b strings.Builder
	points := sample(c.Points, maxBars)
	for _, p := range points {
		full := int(p.Value*width + 0.5)
		mark := ""
		if p.Final {
			mark = "  the answer"
		}
		fmt.Fprintf(&b, "%8s  %.2f  %s%s%s\n", textkit.Clock(duration(p.At)), p.Value, strings.Repeat("█", full), strings.Repeat("░", width-full), mark)
	}
	return b.String()
}

// Words says what the chart shows.
func (c *chart) Words() string {
	if len(c.Points) == 1 {
		return fmt.Sprintf("Confidence at %s: %.2f.", textkit.Clock(duration(c.Last.At)), c.Last.Value)
	}
	low, high := c.Points[0].Value, c.Points[0].Value
	for _, p := range c.Points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	first := c.Points[0]
	return fmt.Sprintf("Confidence went from %.2f at %s to %.2f at %s, over %d syntheses; it was never below %.2f or above %.2f.",
		first.Value, textkit.Clock(duration(first.At)), c.Last.Value, textkit.Clock(duration(c.Last.At)), len(c.Points), low, high)
}

func time0(s float64) float64 { return duration(s).Seconds() }

// unit returns x in 0..1; 0 if it is no number.
func unit(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return math.Min(x, 1)
}

// The picture of a chart, in units of its view box.
const (
	pictureWidth  = 760
	pictureHeight = 250
	marginLeft    = 44
	marginRight   = 30
	marginTop     = 22
	marginBottom  = 36
)

// X returns where a time is in the picture.
func (c *chart) X(at float64) string {
	share := 1.0 // a single time stands at the end
	if c.End > 0 {
		share = at / c.End
	}
	return coordinate(marginLeft + share*(pictureWidth-marginLeft-marginRight))
}

// Y returns where a confidence is in the picture.
func (c *chart) Y(value float64) string {
	return coordinate(marginTop + (1-value)*(pictureHeight-marginTop-marginBottom))
}

func coordinate(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") }

// Line returns the points as the d of a path.
func (c *chart) Line() string {
	var b strings.Builder
	for i, p := range c.Points {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + c.X(p.At) + " " + c.Y(p.Value))
	}
	return b.String()
}

// Area returns what is below the line as the d of a path.
func (c *chart) Area() string {
	if len(c.Points) < 2 {
		return ""
	}
	return c.Line() + "L" + c.X(c.Last.At) + " " + c.Y(0) + "L" + c.X(c.Points[0].At) + " " + c.Y(0) + "Z"
}

// A tick is a mark on an axis.
type tick struct{ At, Label string }

// Values returns the marks of the confidences.
func (c *chart) Values() (ticks []tick) {
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		ticks = append(ticks, tick{c.Y(v), fmt.Sprintf("%.2f", v)})
	}
	return ticks
}

// Times returns the marks of the times: some four, at times that are easy to read.
func (c *chart) Times() (ticks []tick) {
	step := c.End
	for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 604800} {
		if c.End/s <= 6 {
			step = s
			break
		}
	}
	if step <= 0 {
		return []tick{{c.X(0), clock(0)}}
	}
	for at := 0.0; at <= c.End && len(ticks) < 60; at += step {
		ticks = append(ticks, tick{c.X(at), clock(at)})
	}
	return ticks
}

// LabelY says where the newest confidence is written.
func (c *chart) LabelY() string {
	y := marginTop + (1-c.Last.Value)*(pictureHeight-marginTop-marginBottom) - 12
	if y < 14 {
		y += 32
	}
	return coordinate(y)
}
