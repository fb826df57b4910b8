package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

// A sessionUI shows a session while it is thought about. Its methods are called
// from one goroutine.
type sessionUI interface {
	// event shows the next event, which v is the session after.
	event(ev ponder.Event, v app.View)
	// tick shows how things stand.
	tick(v app.View, state string)
	close()
}

// ui returns the UI that the flags and the terminal ask for. Here says that
// this process thinks; press is told of keys but those that press the brake.
func (w *viewing) ui(here bool, press func(tui.Press)) sessionUI {
	stderr, isFile := w.log.out.(*os.File)
	switch {
	case w.flags.json:
		return jsonUI{w}
	case w.flags.quiet:
		return quietUI{}
	case isFile && tui.CanShow(stderr):
		return newScreenUI(w, stderr, here, press)
	}
	return eventLineUI{w, make(map[string]bool)}
}

// quietUI shows nothing.
type quietUI struct{}

func (quietUI) event(ponder.Event, app.View) {}
func (quietUI) tick(app.View, string)        {}
func (quietUI) close()                       {}

// A jsonUI prints events as they are stored.
type jsonUI struct{ *viewing }

func (s jsonUI) event(ev ponder.Event, _ app.View) {
	if !ev.Internal || s.internal {
		_ = s.reserve.object(s.cli, ev) // what cannot be printed is told at the end
	}
}
func (jsonUI) tick(app.View, string) {}
func (jsonUI) close()                {}

// A eventLineUI prints a line for each thing that comes up.
type eventLineUI struct {
	*viewing
	foci map[string]bool // of which nothing has come since they were printed
}

// isAgain reports whether an item is a focus that was printed already: it is tried again.
func (s eventLineUI) isAgain(it tui.Item) bool {
	if it.Kind != "focus" {
		if it.Kind != "note" {
			clear(s.foci)
		}
		return false
	}
	again := s.foci[it.Text]
	s.foci[it.Text] = true
	return again
}

func (s eventLineUI) event(ev ponder.Event, v app.View) {
	if it, ok := s.itemOf(ev, v); ok && !s.isAgain(it) {
		mark := it.Mark
		if mark != "" {
			mark = " " + mark
		}
		line := fmt.Sprintf("%s %s%s: %s\n", textkit.Clock(it.At), it.Kind, mark, oneLine(it.Text))
		s.shows(ev, func() { fmt.Fprint(s.log, line) })
	}
}

func (s eventLineUI) tick(app.View, string) {
	if s.Looked == nil {
		return
	}
	for _, it := range s.draftItems() {
		fmt.Fprintf(s.log, "%s %s: %s\n", textkit.Clock(it.At), it.Kind, it.Text)
	}
}
func (eventLineUI) close() {}

// A progress says how far something has come: a share from 0 to 1, negative if it
// is not known, and what there is to say of it.
type progress struct {
	share float64
	says  string
}

// A progressBar is a line at the bottom of a terminal that says how far something has
// come.
type progressBar struct {
	out   *os.File
	style tui.Style
	drawn time.Time
	on    bool
}

// Numbers of a bar.
const (
	barWidth = 24
	barEvery = 100 * time.Millisecond
)

// newProgressBar returns the progress bar of a terminal, or nil if there is none to draw on.
func (a *cli) newProgressBar() *progressBar {
	f, ok := a.log.out.(*os.File)
	if !ok || a.flags.quiet || a.flags.json || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &progressBar{out: f, style: a.style()}
}

// draw shows a progress. It is cheap to call often.
func (b *progressBar) draw(p progress) {
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
func (b *progressBar) clear() {
	if b != nil && b.on {
		fmt.Fprint(b.out, "\r\x1b[K")
		b.on = false
	}
}

// show shows how far remembering has come; nil takes that away.
func (t *taking) show(p *progress) {
	if t.bar == nil {
		t.bar = t.cli.newProgressBar()
	}
	if p == nil {
		t.bar.clear()
		return
	}
	t.bar.draw(*p)
}
