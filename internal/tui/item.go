package tui

import (
	"fmt"
	"slices"
	"strings"

	"ponder/internal/textkit"
)

// The columns of an item.
const (
	kindWidth = 11
	markWidth = 4
	narrow    = 60 // below this width, the text stands below its head
)

// RenderItem returns an item as lines of at most width cells, no line break at
// the end.
func RenderItem(it Item, width int, s Style) string {
	width = max(width, least)
	at := ""
	if it.At >= 0 {
		at = textkit.Clock(it.At)
	}
	head := s.paint(faint(), fmt.Sprintf("%7s", at)) + "  " +
		s.paint(lookOf(it.Tone), pad(s.clip(s.line(it.Kind), kindWidth), kindWidth)) + "  " +
		fmt.Sprintf("%*s", markWidth, s.clip(s.line(it.Mark), markWidth))
	indent := 7 + 2 + kindWidth + 2 + markWidth + 2
	first := head + "  "
	if width < narrow {
		indent, first = 4, strings.TrimRight(head, " ")+"\n    "
	}
	text := slices.DeleteFunc(wrapped(s.text(it.Text), width-indent), func(row string) bool { return row == "" })
	if it.Tone == Quiet {
		for i := range text {
			text[i] = s.paint(faint(), text[i])
		}
	}
	return first + strings.Join(text, "\n"+strings.Repeat(" ", indent))
}
