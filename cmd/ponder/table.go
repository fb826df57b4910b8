package main

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"

	"ponder/internal/tui"
)

// cells returns how many cells a line of the terminal has that results are printed to, or
// 0 if they go elsewhere.
func (a *cli) cells() int {
	f, ok := a.paper()
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// wrap breaks lines that have more than width cells, save commands, which are copied.
func wrap(text string, width int) string {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		if !strings.HasPrefix(strings.TrimLeft(row, " "), "ponder ") {
			rows[i] = tui.Wrap(row, width)
		}
	}
	return strings.Join(rows, "\n")
}

// table prints rows in columns.
func (a *cli) table(rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
	}
	fmt.Fprint(a.out, columns(rows, a.cells()))
}

const (
	gutter    = 2  // cells between columns
	leastRoom = 24 // cells in which text can be folded
	inset     = "    "
)

// columns returns rows in columns. If they have more than width cells, which 0 never is,
// the last column is folded; where there is no room for that, the last columns stand below
// the others.
func columns(rows [][]string, width int) string {
	var wide []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], lipgloss.Width(cell))
		}
	}
	side, room := arranged(wide, width)
	var b strings.Builder
	for _, row := range rows {
		line, at := "", 0
		for i, cell := range row[:min(side, len(row))] {
			if i == side-1 && room > 0 {
				cell = strings.ReplaceAll(tui.Wrap(cell, room), "\n", "\n"+strings.Repeat(" ", at))
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
			b.WriteString(tui.Wrap(inset+below, width) + "\n")
		}
	}
	return b.String()
}

// arranged returns how many columns stand side by side, and how wide the last may be; 0 is
// as wide as it is.
func arranged(wide []int, width int) (side, room int) {
	used := 0 // with what is between columns
	for i, w := range wide {
		switch last := i == len(wide)-1; {
		case width <= 0 || used+w <= width || i == 0:
			used += w + gutter
		case last && width-used >= leastRoom:
			return len(wide), width - used
		default:
			return i, 0
		}
	}
	return len(wide), 0
}
