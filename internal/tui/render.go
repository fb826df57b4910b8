package tui

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
)

func itoa(n int) string { return strconv.Itoa(n) }

func two(n int) string { return fmt.Sprintf("%02d", n) }

// ink is how text looks. Its zero value leaves it alone.
type ink struct {
	bold, faint bool
	color       color.Color
}

func (k ink) on(text string, plain bool) string {
	if plain || k == (ink{}) || text == "" {
		return text
	}
	style := lipgloss.NewStyle().Bold(k.bold).Faint(k.faint)
	if k.color != nil {
		style = style.Foreground(k.color)
	}
	return style.Render(text)
}

// The colours are those of the terminal's own palette, so that they suit it.
func inkOf(t Tone) ink {
	switch t {
	case Quiet:
		return ink{faint: true}
	case Bright:
		return ink{color: lipgloss.Cyan}
	case Strong:
		return ink{bold: true, color: lipgloss.Green}
	case Alarm:
		return ink{color: lipgloss.Red}
	}
	return ink{color: lipgloss.Yellow}
}

// clip cuts a line to a width in cells.
func clip(text string, width int) string {
	if width <= 0 {
		return ""
	}
	if lipgloss.Width(text) <= width {
		return text
	}
	return lipgloss.NewStyle().MaxWidth(width-1).Render(text) + "…"
}

// least is the width below which nothing useful can be shown.
const least = 20

// Render returns the frame as lines of at most width cells and at most height
// lines, no line break at the end. Where there is not enough room, it leaves out
// what matters least.
func Render(f Frame, width, height int) string {
	width = max(width, least)
	rows := []struct {
		rank int // the smallest stays longest
		text string
	}{
		{5, ink{bold: true}.on(clip(line(f.Title), width), f.Plain)},
		{1, bar(f, width)},
		{2, labelled("focus", f.Focus, width, f.Plain)},
		{6, labelled("writing", tail(f.Writing, width-10), width, f.Plain)},
		{3, clip(strings.Join(f.Counts, " · "), width)},
		{4, clip(strings.Join(f.Spent, " · "), width)},
		{7, ink{faint: true}.on(clip(f.Hint, width), f.Plain)},
	}
	var lines []string
	for rank := len(rows); ; rank-- {
		lines = lines[:0]
		for _, r := range rows {
			if r.text != "" && r.rank <= rank {
				lines = append(lines, r.text)
			}
		}
		if len(lines) <= height || rank <= 1 {
			return strings.Join(lines, "\n")
		}
	}
}

func labelled(label, text string, width int, plain bool) string {
	text = line(text)
	if text == "" {
		return ""
	}
	return ink{faint: true}.on(fmt.Sprintf("%-8s", label), plain) + "  " + clip(text, width-10)
}

// tail returns the end of a text, from a word's beginning.
func tail(text string, width int) string {
	if len(text) > 8*width {
		text = strings.ToValidUTF8(text[len(text)-8*width:], "")
	}
	text = line(text)
	for lipgloss.Width(text) > width {
		_, rest, ok := strings.Cut(text, " ")
		if !ok {
			return clip(text, width)
		}
		text = rest
	}
	return text
}

// bar draws the progress of the nearest budget, with what it is.
func bar(f Frame, width int) string {
	words := " " + line(f.State)
	if f.Budget != "" {
		words = " " + line(f.Budget) + " ·" + words
	}
	if f.Share < 0 || math.IsNaN(f.Share) {
		return clip(strings.TrimSpace(words), width)
	}
	share := min(f.Share, 1)
	words = fmt.Sprintf(" %3.0f%%", math.Floor(share*100)) + words
	cells := min(40, width-lipgloss.Width(words))
	if cells < 5 {
		return clip(strings.TrimSpace(words), width)
	}
	full := int(math.Floor(share * float64(cells)))
	return ink{color: lipgloss.Green}.on(strings.Repeat("█", full), f.Plain) +
		ink{faint: true}.on(strings.Repeat("░", cells-full), f.Plain) + words
}

// The columns of an item.
const (
	kindWidth = 11
	markWidth = 4
	narrow    = 60 // below this width, the text stands below its head
)

// RenderItem returns an item as lines of at most width cells, no line break at
// the end.
func RenderItem(it Item, width int) string {
	width = max(width, least)
	at := ""
	if it.At >= 0 {
		at = Clock(it.At)
	}
	head := fmt.Sprintf("%7s  %s  %*s", ink{faint: true}.on(fmt.Sprintf("%7s", at), it.Plain),
		inkOf(it.Tone).on(fmt.Sprintf("%-*s", kindWidth, clip(line(it.Kind), kindWidth)), it.Plain), markWidth, clip(line(it.Mark), markWidth))
	indent := 7 + 2 + kindWidth + 2 + markWidth + 2
	first := head + "  "
	if width < narrow {
		indent, first = 4, head+"\n    "
	}
	text := wrap(it.Text, width-indent)
	if it.Tone == Quiet {
		for i := range text {
			text[i] = ink{faint: true}.on(text[i], it.Plain)
		}
	}
	return first + strings.Join(text, "\n"+strings.Repeat(" ", indent))
}

// wrap breaks a text into lines of at most width cells. It keeps paragraphs and
// leaves out empty lines.
func wrap(text string, width int) (lines []string) {
	for paragraph := range strings.SplitSeq(Clean(text), "\n") {
		paragraph = strings.TrimRight(strings.ReplaceAll(paragraph, "\t", "    "), " ")
		if strings.TrimSpace(paragraph) == "" {
			continue
		}
		for row := range strings.SplitSeq(lipgloss.Wrap(paragraph, width, ""), "\n") {
			lines = append(lines, strings.TrimRight(row, " "))
		}
	}
	if lines == nil {
		lines = []string{""}
	}
	return lines
}
