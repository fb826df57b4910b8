package main

import (
	"fmt"
	"os"

	"ponder"
	"ponder/internal/tui"
	"ponder/mode/session"
)

// A show is how a session is shown while it goes on. Its methods are called
// from one goroutine.
type show interface {
	// event shows the next event, which v is the session after.
	event(ev ponder.Event, v session.View)
	// tick shows how things stand.
	tick(v session.View, state string)
	close()
}

// show returns the show that the flags and the terminal ask for. Here says that
// this process thinks; press is told of keys but those that press the brake.
func (w *viewing) show(here bool, press func(tui.Press)) show {
	stderr, isFile := w.log.out.(*os.File)
	switch {
	case w.flags.json:
		return jsonShow{w}
	case w.flags.quiet:
		return silence{}
	case isFile && tui.CanShow(stderr):
		return newScreenShow(w, stderr, here, press)
	}
	return lineShow{w, make(map[string]bool)}
}

// silence shows nothing.
type silence struct{}

func (silence) event(ponder.Event, session.View) {}
func (silence) tick(session.View, string)        {}
func (silence) close()                           {}

// A jsonShow prints events as they are stored.
type jsonShow struct{ *viewing }

func (s jsonShow) event(ev ponder.Event, _ session.View) {
	if !ev.Internal || s.internal {
		_ = s.reserve.object(s.cli, ev) // what cannot be printed is told at the end
	}
}
func (jsonShow) tick(session.View, string) {}
func (jsonShow) close()                    {}

// A lineShow prints a line for each thing that comes up.
type lineShow struct {
	*viewing
	foci map[string]bool // of which nothing has come since they were printed
}

// isAgain reports whether an item is a focus that was printed already: it is tried again.
func (s lineShow) isAgain(it tui.Item) bool {
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

func (s lineShow) event(ev ponder.Event, v session.View) {
	if it, ok := s.itemOf(ev, v); ok && !s.isAgain(it) {
		mark := it.Mark
		if mark != "" {
			mark = " " + mark
		}
		line := fmt.Sprintf("%s %s%s: %s\n", tui.Clock(it.At), it.Kind, mark, oneLine(it.Text))
		s.shows(ev, func() { fmt.Fprint(s.log, line) })
	}
}

func (s lineShow) tick(session.View, string) {
	if s.Looked == nil {
		return
	}
	for _, it := range s.draftItems() {
		fmt.Fprintf(s.log, "%s %s: %s\n", tui.Clock(it.At), it.Kind, it.Text)
	}
}
func (lineShow) close() {}
