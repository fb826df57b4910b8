package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"ponder/internal/tui"
)

// A progress says how far something has come: a share from 0 to 1, negative if it
// is not known, and what there is to say of it.
type progress struct {
	share float64
	says  string
}

// A meter is a line at the bottom of a terminal that says how far something has
// come.
type meter struct {
	out   *os.File
	style tui.Style
	drawn time.Time
	on    bool
}

// Numbers of a meter.
const (
	barWidth = 24
	barEvery = 100 * time.Millisecond
)

// newMeter returns the meter of a terminal, or nil if there is none to draw on.
func (a *cli) newMeter() *meter {
	f, ok := a.log.out.(*os.File)
	if !ok || a.flags.quiet || a.flags.json || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &meter{out: f, style: a.style()}
}

// draw shows a progress. It is cheap to call often.
func (b *meter) draw(p progress) {
	if b == nil || b.on && time.Since(b.drawn) < barEvery {
		return
	}
	width, _, err := term.GetSize(int(b.out.Fd()))
	if err != nil {
		width = 80
	}
	line := p.says
	if p.share >= 0 {
		full, empty := "█", "░"
		if b.style.ASCII {
			full, empty = "#", "."
		}
		n := int(min(1, p.share) * barWidth)
		line = fmt.Sprintf("%s%s %3.0f %%  %s", strings.Repeat(full, n), strings.Repeat(empty, barWidth-n), 100*min(1, p.share), p.says)
	}
	fmt.Fprintf(b.out, "\r\x1b[K%s", clip(oneLine(line), max(10, width-1)))
	b.drawn, b.on = time.Now(), true
}

// clear takes the bar away.
func (b *meter) clear() {
	if b != nil && b.on {
		fmt.Fprint(b.out, "\r\x1b[K")
		b.on = false
	}
}

// show shows how far remembering has come; nil takes that away.
func (t *taking) show(p *progress) {
	if t.bar == nil {
		t.bar = t.cli.newMeter()
	}
	if p == nil {
		t.bar.clear()
		return
	}
	t.bar.draw(*p)
}
