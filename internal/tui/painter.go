package tui

import (
	"io"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
)

// A painter keeps a frame at the bottom of what has been printed on a terminal.
// Each change is a single write, so that a terminal shows all of it or none.
type painter struct {
	out   io.Writer
	rows  []string // of the frame that is on the terminal
	width int      // of the terminal when it was put there
}

const (
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	beginUpdate = "\x1b[?2026h" // terminals that do not know it ignore it
	endUpdate   = "\x1b[?2026l"
	eraseRight  = "\x1b[K"
	eraseBelow  = "\x1b[J"
)

// paint prints lines above the frame and replaces the frame.
func (p *painter) paint(above, frame []string, width int) error {
	if len(above) == 0 && width == p.width && strings.Join(frame, "\n") == strings.Join(p.rows, "\n") {
		return nil
	}
	var b strings.Builder
	b.WriteString(beginUpdate + "\r")
	if up := p.height(width) - 1; up > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(up) + "A")
	}
	if width != p.width {
		b.WriteString(eraseBelow) // what was wrapped anew is of no known shape
	}
	for _, row := range above {
		b.WriteString(row + eraseRight + "\r\n")
	}
	b.WriteString(strings.Join(frame, eraseRight+"\r\n") + eraseRight + eraseBelow + endUpdate)
	p.rows, p.width = frame, width
	_, err := io.WriteString(p.out, b.String())
	return err
}

// height returns how many lines the frame takes up now. A terminal that has
// become narrower since has wrapped them.
func (p *painter) height(width int) (n int) {
	for _, row := range p.rows {
		n += max(1, (lipgloss.Width(row)+width-1)/width)
	}
	return n
}
