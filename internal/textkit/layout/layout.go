// Package layout sets text for a number of cells: it wraps lines, and sets columns and
// texts side by side. A character may have two cells or none.
package layout

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"ponder/internal/textkit"
)

const (
	minWidth = 20 // cells of a line that is indented

	gutter  = 2  // cells between columns
	minRoom = 24 // cells in which text can be folded
	inset   = "    "

	MinSideBySide = 80 // cells; narrower texts stand one below the other
	gap           = " │ "
)

// Wrap breaks lines that have more than width cells, between words. The rest of a line
// stands below its start, behind a bullet if that has one.
func Wrap(text string, width int) string {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		if lipgloss.Width(row) <= width {
			continue
		}
		body := strings.TrimLeft(row, " ")
		body = strings.TrimPrefix(strings.TrimPrefix(body, "- "), "* ")
		indent := len(row) - len(body)
		if width-indent < minWidth {
			indent, body = 0, row
		}
		parts := strings.Split(lipgloss.Wrap(body, width-indent, ""), "\n")
		for j := range parts {
			parts[j] = strings.TrimRight(parts[j], " ")
		}
		rows[i] = row[:indent] + strings.Join(parts, "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(rows, "\n")
}

// Columns returns rows in columns. If they have more than width cells, which 0 never is,
// the last column is folded; where there is no room for that, the last columns stand below
// the others.
func Columns(rows [][]string, width int) string {
	var wide []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], lipgloss.Width(cell))
		}
	}
	side, room := fitColumns(wide, width)
	var b strings.Builder
	for _, row := range rows {
		line, at := "", 0
		for i, cell := range row[:min(side, len(row))] {
			if i == side-1 && room > 0 {
				cell = strings.ReplaceAll(Wrap(cell, room), "\n", "\n"+strings.Repeat(" ", at))
			}
			line += cell
			if at += wide[i] + gutter; i < side-1 {
				line += strings.Repeat(" ", wide[i]+gutter-lipgloss.Width(cell))
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if len(row) <= side {
			continue
		}
		if below := strings.TrimSpace(strings.Join(row[side:], "  ")); below != "" {
			b.WriteString(Wrap(inset+below, width) + "\n")
		}
	}
	return b.String()
}

// fitColumns returns how many columns stand side by side, and how wide the last may be; 0 is
// as wide as it is.
func fitColumns(wide []int, width int) (side, room int) {
	used := 0 // with the text between columns
	for i, w := range wide {
		switch last := i == len(wide)-1; {
		case width <= 0 || used+w <= width || i == 0:
			used += w + gutter
		case last && width-used >= minRoom:
			return len(wide), width - used
		default:
			return i, 0
		}
	}
	return len(wide), 0
}

// SideBySide sets two texts side by side, or one below the other where there is not
// the width for it.
func SideBySide(a, b string, width int) string {
	if width < MinSideBySide {
		return "A\n" + indentText(a, width) + "B\n" + indentText(b, width)
	}
	half := (width - lipgloss.Width(gap)) / 2
	left, right := breakLines(a, half), breakLines(b, half)
	var out strings.Builder
	for i := range max(len(left), len(right)) {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		out.WriteString(strings.TrimRight(l+strings.Repeat(" ", max(0, half-lipgloss.Width(l)))+gap+r, " ") + "\n")
	}
	return out.String()
}

// indentText returns a text below a heading.
func indentText(text string, width int) string {
	return "  " + strings.Join(breakLines(text, width-2), "\n  ") + "\n"
}

// breakLines breaks a text into lines of at most so many cells.
func breakLines(text string, width int) []string {
	text = strings.ReplaceAll(textkit.Clean(text), "\t", "    ")
	return slices.Collect(strings.SplitSeq(Wrap(text, width), "\n"))
}
