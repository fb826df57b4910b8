package tui

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
)

// isRow reports whether a line is of a table.
func isRow(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "|") && strings.Count(line, "|") > 1
}

// Bounds of tables that are drawn. Others are shown as they were written.
const (
	maxColumns = 20
	maxRows    = 500
	leastCell  = 4
)

var divider = regexp.MustCompile(`^\|?[ :|-]*-[ :|-]*$`)

// drawn returns the rows of the table that has come, if there is one.
func (p Prose) drawn(width int, s Style) (rows []string) {
	if len(p.table) == 0 {
		return nil
	}
	if s.Plain || len(p.table) < 2 || len(p.table) > maxRows || !divider.MatchString(strings.TrimSpace(p.table[1])) {
		for _, line := range p.table {
			rows = append(rows, wrapped(line, width)...)
		}
		return rows
	}
	var cells [][]string
	for i, line := range p.table {
		if i != 1 {
			cells = append(cells, cellsOf(line))
		}
	}
	return aligned(cells, width, s)
}

// cellsOf returns the cells of a row.
func cellsOf(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	line = strings.ReplaceAll(line, `\|`, "\x00")
	cells := strings.Split(line, "|")
	cells = cells[:min(len(cells), maxColumns)]
	for i := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "\x00", "|"))
	}
	return cells
}

// aligned returns a table as rows, its first row above a line. A cell that has no
// room is wrapped.
func aligned(cells [][]string, width int, s Style) (rows []string) {
	widths := columns(cells, width, s)
	for i, row := range cells {
		rows = append(rows, tableRow(row, widths, i == 0, s)...)
		if i == 0 {
			var parts []string
			for _, w := range widths {
				parts = append(parts, strings.Repeat(s.glyphs().rule, w))
			}
			rows = append(rows, faint().on(strings.Join(parts, "  "), s))
		}
	}
	return rows
}

// columns returns how wide columns are: as wide as their cells, and if that is too
// much, the widest less.
func columns(cells [][]string, width int, s Style) (widths []int) {
	for _, row := range cells {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, leastCell)
			}
			widths[i] = max(widths[i], min(lipgloss.Width(inline(cell, s)), width))
		}
	}
	for {
		sum, widest := -2, 0
		for i, w := range widths {
			sum += w + 2
			if w > widths[widest] {
				widest = i
			}
		}
		if sum <= width || widths[widest] <= leastCell {
			return widths
		}
		widths[widest] -= min(sum-width, max(1, (widths[widest]-leastCell)/4+1), widths[widest]-leastCell)
	}
}

// tableRow returns the rows of one row of a table.
func tableRow(row []string, widths []int, head bool, s Style) (rows []string) {
	parts, height := make([][]string, len(widths)), 1
	for i := range widths {
		text := ""
		if i < len(row) {
			text = inline(row[i], s)
		}
		if head && i < len(row) {
			text = bold().on(plainly(row[i]), s)
		}
		parts[i] = wrapped(text, widths[i])
		height = max(height, len(parts[i]))
	}
	for n := range height {
		var b strings.Builder
		for i, w := range widths {
			text := ""
			if n < len(parts[i]) {
				text = parts[i][n]
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(pad(text, w))
		}
		rows = append(rows, strings.TrimRight(b.String(), " "))
	}
	return rows
}
