package tui

import (
	"math"
	"strings"

	"charm.land/lipgloss/v2"
)

// row returns a chart as a line of at most width cells: a bar for each value, all
// of one scale from 0 to 1, and the note.
func (c Chart) row(width int, s Style) string {
	if len(c.Values) == 0 {
		return ""
	}
	note := s.line(c.Note)
	room := min(len(c.Values), max(width/3, 8), width-2-lipgloss.Width(note))
	if room < 1 {
		return s.clip(note, width)
	}
	var b strings.Builder
	levels := s.glyphs().levels
	for _, v := range squeeze(c.Values, room) {
		b.WriteString(levels[level(v, len(levels))])
	}
	return s.paint(green(), b.String()) + "  " + s.clip(note, width-room-2)
}

// level returns which of n levels a value from 0 to 1 has.
func level(v float64, n int) int {
	if math.IsNaN(v) {
		return 0
	}
	return int(min(max(v, 0)*float64(n), float64(n-1)))
}

// squeeze returns at most n values: the last of each of n stretches.
func squeeze(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = values[(i+1)*len(values)/n-1]
	}
	return out
}
