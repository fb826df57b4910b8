package report

import (
	"fmt"
	"math"
	"strings"

	"ponder/internal/textkit"

	"ponder/mode/session"
)

type chart struct {
	Points []point
	Dots   []point
	Last   *point
	End    float64
}

type point struct {
	At    float64
	Value float64 // 0 to 1
	Final bool
}

// Limits of a chart. It samples evenly beyond.
const (
	maxPoints = 120
	maxDots   = 600
	maxBars   = 24 // in text
)

// newChart returns the chart of a session, or nil without a stated confidence.
func newChart(v session.View) *chart {
	c := &chart{}
	for _, s := range sampleEvenly(v.Syntheses, maxPoints) {
		if !s.Assumed {
			c.Points = append(c.Points, point{At: chartSeconds(s.Offset), Value: clampUnit(s.Confidence), Final: s.Final})
		}
	}
	if len(c.Points) == 0 {
		return nil
	}
	for _, t := range sampleEvenly(v.Thoughts, maxDots) {
		if !t.Assumed {
			c.Dots = append(c.Dots, point{At: chartSeconds(t.Offset), Value: clampUnit(t.Confidence)})
		}
	}
	c.Last = &c.Points[len(c.Points)-1]
	for _, p := range append(c.Dots, c.Points...) {
		c.End = max(c.End, p.At)
	}
	return c
}

// sampleEvenly returns at most n elements of a list, evenly, including the last.
func sampleEvenly[E any](list []E, n int) []E {
	if len(list) <= n {
		return list
	}
	out := make([]E, n)
	for i := range out {
		out[i] = list[(i+1)*len(list)/n-1]
	}
	return out
}

func (c *chart) Text() string {
	const width = 40
	var b strings.Builder
	points := sampleEvenly(c.Points, maxBars)
	for _, p := range points {
		full := int(p.Value*width + 0.5)
		mark := ""
		if p.Final {
			mark = "  the answer"
		}
		fmt.Fprintf(&b, "%8s  %.2f  %s%s%s\n", textkit.Clock(toDuration(p.At)), p.Value, strings.Repeat("█", full), strings.Repeat("░", width-full), mark)
	}
	return b.String()
}

func (c *chart) Words() string {
	if len(c.Points) == 1 {
		return fmt.Sprintf("Confidence at %s: %.2f.", textkit.Clock(toDuration(c.Last.At)), c.Last.Value)
	}
	low, high := c.Points[0].Value, c.Points[0].Value
	for _, p := range c.Points {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	first := c.Points[0]
	return fmt.Sprintf("Confidence changed from %.2f at %s to %.2f at %s, over %d syntheses (minimum %.2f, maximum %.2f).",
		first.Value, textkit.Clock(toDuration(first.At)), c.Last.Value, textkit.Clock(toDuration(c.Last.At)), len(c.Points), low, high)
}

func chartSeconds(s float64) float64 { return toDuration(s).Seconds() }

// clampUnit clamps x to 0..1; NaN is 0.
func clampUnit(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return math.Min(x, 1)
}

// Dimensions of the chart, in units of its view box.
const (
	pictureWidth  = 760
	pictureHeight = 250
	marginLeft    = 44
	marginRight   = 30
	marginTop     = 22
	marginBottom  = 36
)

// X returns the coordinate of a time.
func (c *chart) X(at float64) string {
	share := 1.0
	if c.End > 0 {
		share = at / c.End
	}
	return formatCoordinate(marginLeft + share*(pictureWidth-marginLeft-marginRight))
}

// Y returns the coordinate of a confidence.
func (c *chart) Y(value float64) string {
	return formatCoordinate(marginTop + (1-value)*(pictureHeight-marginTop-marginBottom))
}

func formatCoordinate(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") }

func (c *chart) Line() string {
	var b strings.Builder
	for i, p := range c.Points {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + c.X(p.At) + " " + c.Y(p.Value))
	}
	return b.String()
}

func (c *chart) Area() string {
	if len(c.Points) < 2 {
		return ""
	}
	return c.Line() + "L" + c.X(c.Last.At) + " " + c.Y(0) + "L" + c.X(c.Points[0].At) + " " + c.Y(0) + "Z"
}

type tick struct{ At, Label string }

// Values returns the ticks of the confidence axis.
func (c *chart) Values() (ticks []tick) {
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		ticks = append(ticks, tick{c.Y(v), fmt.Sprintf("%.2f", v)})
	}
	return ticks
}

// Times returns about four ticks of the time axis, at round times.
func (c *chart) Times() (ticks []tick) {
	step := c.End
	for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 604800} {
		if c.End/s <= 6 {
			step = s
			break
		}
	}
	if step <= 0 {
		return []tick{{c.X(0), formatClock(0)}}
	}
	for at := 0.0; at <= c.End && len(ticks) < 60; at += step {
		ticks = append(ticks, tick{c.X(at), formatClock(at)})
	}
	return ticks
}

func (c *chart) LabelY() string {
	y := marginTop + (1-c.Last.Value)*(pictureHeight-marginTop-marginBottom) - 12
	if y < 14 {
		y += 32
	}
	return formatCoordinate(y)
}
