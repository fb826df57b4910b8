package tui

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
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
		at = Clock(it.At)
	}
	head := faint().on(fmt.Sprintf("%7s", at), s) + "  " +
		inkOf(it.Tone).on(pad(s.clip(s.line(it.Kind), kindWidth), kindWidth), s) + "  " +
		fmt.Sprintf("%*s", markWidth, s.clip(s.line(it.Mark), markWidth))
	indent := 7 + 2 + kindWidth + 2 + markWidth + 2
	first := head + "  "
	if width < narrow {
		indent, first = 4, strings.TrimRight(head, " ")+"\n    "
	}
	text := wrap(s.text(it.Text), width-indent)
	if it.Tone == Quiet {
		for i := range text {
			text[i] = faint().on(text[i], s)
		}
	}
	return first + strings.Join(text, "\n"+strings.Repeat(" ", indent))
}

// wrap breaks a clean text into lines of at most width cells. It keeps
// paragraphs and leaves out empty lines.
func wrap(text string, width int) (lines []string) {
	for paragraph := range strings.SplitSeq(text, "\n") {
		paragraph = strings.TrimRight(strings.ReplaceAll(paragraph, "\t", "    "), " ")
		if strings.TrimSpace(paragraph) == "" {
			continue
		}
		for row := range strings.SplitSeq(lipgloss.Wrap(paragraph, width, ""), "\n") {
			if row = strings.TrimRight(row, " "); lipgloss.Width(row) > width { // a long word behind spaces
				lines = append(lines, strings.Split(ansi.Hardwrap(row, width, false), "\n")...)
				continue
			}
			lines = append(lines, row)
		}
	}
	if lines == nil {
		lines = []string{""}
	}
	return lines
}
