package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/liveview"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

// A sessionUI shows a running session. One goroutine calls its methods.
type sessionUI interface {
	// showEvent shows ev; v is the session after it.
	showEvent(ev ponder.Event, v app.View)
	// showState shows the current state.
	showState(v app.View, state string)
	close()
}

// newUI returns the UI for the flags and the terminal. here means that this process thinks. press
// receives keys, except those of the interrupt handler.
func (w *sessionScreen) newUI(here bool, press func(tui.Press)) sessionUI {
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

type quietUI struct{}

func (quietUI) showEvent(ponder.Event, app.View) {}
func (quietUI) showState(app.View, string)       {}
func (quietUI) close()                           {}

type jsonUI struct{ *sessionScreen }

func (s jsonUI) showEvent(ev ponder.Event, _ app.View) {
	if !ev.Internal || s.internal {
		_ = s.heldOutput.printJSON(s.cli, ev) // [outputWriter] keeps the error for the end
	}
}
func (jsonUI) showState(app.View, string) {}
func (jsonUI) close()                     {}

// An eventLineUI prints a line for each event of interest. It wraps syntheses.
type eventLineUI struct {
	*sessionScreen
	foci map[string]bool
}

// isRepeatedFocus reports whether an item is a retried focus that was printed.
func (s eventLineUI) isRepeatedFocus(it tui.Item) bool {
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

func (s eventLineUI) showEvent(ev ponder.Event, v app.View) {
	if it, ok := liveview.NewItem(ev, v, s.Research); ok && !s.isRepeatedFocus(it) {
		mark := it.Mark
		if mark != "" {
			mark = " " + mark
		}
		line := fmt.Sprintf("%s %s%s: %s\n", textkit.Clock(it.At), it.Kind, mark, oneLine(it.Text))
		if it.Kind == "synthesis" { // other lines stay whole for grep
			line = wrapProgress(strings.TrimSuffix(line, "\n"), s.resultWidth())
		}
		s.showPermanent(ev, func() { fmt.Fprint(s.log, line) })
	}
}

// progressIndent indents the further rows of a line of progress, below its time.
const progressIndent = "     "

// wrapProgress breaks a line of progress at width cells.
func wrapProgress(line string, width int) string {
	rows := strings.Split(tui.Wrap(line, width-len(progressIndent)), "\n")
	return strings.Join(rows, "\n"+progressIndent) + "\n"
}

func (s eventLineUI) showState(v app.View, _ string) {
	if s.Research == nil {
		return
	}
	for _, it := range s.draft.Items(v, s.Research.View) {
		fmt.Fprintf(s.log, "%s %s: %s\n", textkit.Clock(it.At), it.Kind, it.Text)
	}
}
func (eventLineUI) close() {}

// A progress is a share from 0 to 1, negative if unknown, and a text.
type progress struct {
	share float64
	text  string
}

type progressBar struct {
	out     *os.File
	style   tui.Style
	drawnAt time.Time
	visible bool
}

const (
	barWidth    = 24
	barInterval = 100 * time.Millisecond
)

func (a *cli) newProgressBar() *progressBar {
	f, ok := a.log.out.(*os.File)
	if !ok || a.flags.quiet || a.flags.json || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &progressBar{out: f, style: a.viewStyle()}
}

// draw shows p. It drops frequent calls.
func (b *progressBar) draw(p progress) {
	if b == nil || b.visible && time.Since(b.drawnAt) < barInterval {
		return
	}
	width, _, err := term.GetSize(int(b.out.Fd()))
	if err != nil {
		width = 80
	}
	line := p.text
	if p.share >= 0 {
		full, empty := "█", "░"
		if b.style.ASCII {
			full, empty = "#", "."
		}
		n := int(min(1, p.share) * barWidth)
		line = fmt.Sprintf("%s%s %3.0f %%  %s", strings.Repeat(full, n), strings.Repeat(empty, barWidth-n), 100*min(1, p.share), p.text)
	}
	fmt.Fprintf(b.out, "\r\x1b[K%s", truncate(oneLine(line), max(10, width-1)))
	b.drawnAt, b.visible = time.Now(), true
}

func (b *progressBar) clear() {
	if b != nil && b.visible {
		fmt.Fprint(b.out, "\r\x1b[K")
		b.visible = false
	}
}

// showProgress shows the progress of remembering; nil removes it.
func (t *memoryImport) showProgress(p *progress) {
	if t.bar == nil {
		t.bar = t.cli.newProgressBar()
	}
	if p == nil {
		t.bar.clear()
		return
	}
	t.bar.draw(*p)
}
