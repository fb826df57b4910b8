package tui

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// A painter keeps a block at the bottom of what has been printed on a terminal.
// Each change is a single write, so that a terminal shows all of it or none.
type painter struct {
	out    io.Writer
	rows   []string // of the block that is on the terminal
	width  int      // of the terminal when it was put there
	row    int      // of the cursor
	column int      // of the cursor in its row
	cursor bool     // is to be seen
}

// A spot is where the cursor stands in a block. It is nowhere to be seen if the
// column is negative.
type spot struct{ row, column int }

const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	pasteOn     = "\x1b[?2004h" // what is pasted comes between marks
	pasteOff    = "\x1b[?2004l"
	beginUpdate = "\x1b[?2026h" // terminals that do not know it ignore it
	endUpdate   = "\x1b[?2026l"
	eraseRight  = "\x1b[K"
	eraseBelow  = "\x1b[J"
)

// paint prints lines above the block and replaces the block. The cursor is shown
// in a column of its last row, or if that is negative, nowhere.
func (p *painter) paint(above, block []string, width, cursor int) error {
	return p.paintAt(above, block, width, spot{max(0, len(block)-1), cursor})
}

// paintAt is paint with the cursor in any row.
func (p *painter) paintAt(above, block []string, width int, to spot) error {
	if len(block) == 0 {
		block = []string{""}
	}
	if to.column < 0 {
		to.row = len(block) - 1 // behind the last letter
	}
	to.row = min(max(0, to.row), len(block)-1)
	if len(above) == 0 && width == p.width && slices.Equal(block, p.rows) && to.row == p.row && p.at(block, to.column) == p.column && p.cursor == (to.column >= 0) {
		return nil
	}
	same := func(i int) bool { // the row is there already
		return len(above) == 0 && width == p.width && len(block) == len(p.rows) && block[i] == p.rows[i]
	}
	var b strings.Builder
	b.WriteString(beginUpdate + "\r")
	if up := p.up(width); up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	if width != p.width {
		b.WriteString(eraseBelow) // what was wrapped anew is of no known shape
	}
	for _, row := range above {
		b.WriteString(row + eraseRight + "\r\n")
	}
	for i, row := range block {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if i == len(block)-1 || !same(i) {
			b.WriteString(row + eraseRight)
		}
	}
	b.WriteString(eraseBelow)
	p.rows, p.width, p.row, p.column = block, width, to.row, p.at(block, to.column)
	p.place(&b, to)
	b.WriteString(endUpdate)
	_, err := io.WriteString(p.out, b.String())
	return err
}

// at returns the column in which the cursor is left.
func (p *painter) at(block []string, cursor int) int {
	if cursor >= 0 {
		return cursor
	}
	return lipgloss.Width(block[len(block)-1])
}

// place puts the cursor where it is to be seen, or hides it.
func (p *painter) place(b *strings.Builder, to spot) {
	if up := len(p.rows) - 1 - to.row; up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	if to.column >= 0 {
		b.WriteString("\r")
		if to.column > 0 {
			b.WriteString("\x1b[" + strconv.Itoa(to.column) + "C")
		}
	}
	if shown := to.column >= 0; shown != p.cursor {
		p.cursor = shown
		if shown {
			b.WriteString(showCursor)
		} else {
			b.WriteString(hideCursor)
		}
	}
}

// up returns how many lines above the cursor the block begins. A terminal that
// has become narrower since has wrapped its rows.
func (p *painter) up(width int) (n int) {
	if len(p.rows) == 0 {
		return 0
	}
	for _, row := range p.rows[:p.row] {
		n += folds(row, width)
	}
	if !p.cursor { // it stands behind the last letter
		return n + folds(p.rows[p.row], width) - 1
	}
	return n + folds(ansi.Truncate(p.rows[p.row], p.column, "")+"x", width) - 1
}

// folds returns how many lines a row takes.
func folds(row string, width int) int {
	if lipgloss.Width(row) <= width {
		return 1
	}
	return 1 + strings.Count(ansi.Hardwrap(row, width, true), "\n")
}

// forget makes the next paint begin anew on the line of the cursor, which is
// hidden.
func (p *painter) forget() { *p = painter{out: p.out} }
