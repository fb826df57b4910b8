package main

import (
	"os"
	"sync"
	"sync/atomic"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/tui"
	"ponder/mode/session"
)

// A screenShow is a live view on a terminal.
type screenShow struct {
	*viewing
	screen    *tui.View
	questions *atomic.Pointer[[]tui.Branch] // of the last tick; others complete what is typed with them
	once      sync.Once
}

// newScreenShow opens the view. What is pressed goes to press, save ctrl+c, which
// is the brake.
func newScreenShow(w *viewing, stderr *os.File, here bool, press func(tui.Press)) *screenShow {
	s := &screenShow{viewing: w, questions: &atomic.Pointer[[]tui.Branch]{}}
	s.questions.Store(&[]tui.Branch{})
	in, _ := w.in.(*os.File)
	o := tui.Options{
		Out: stderr, In: in, Style: w.style(), NoKeys: "ctrl+c leaves it to itself",
		Desk: tui.Desk{
			Controls: controls(here),
			Check:    func(line string) error { return checkSteer(line, *s.questions.Load()) },
			Hint:     func(line string) tui.Hint { return hintSteer(line, *s.questions.Load()) },
		},
		Pressed: func(p tui.Press) {
			if p.Key == tui.Interrupt {
				w.brake.press()
				return
			}
			press(p)
		},
	}
	if here {
		o.NoKeys = "ctrl+c pauses"
	}
	s.screen = tui.Open(o)
	w.log.through(s.screen)
	return s
}

// style is what the terminal is able to show.
func (a *cli) style() tui.Style { return tui.Style{Plain: a.plain(), ASCII: !tui.UTF8(os.Getenv)} }

func (s *screenShow) event(ev ponder.Event, v session.View) {
	if it, ok := s.itemOf(ev, v); ok && it.Kind != "focus" {
		s.shows(ev, func() { s.screen.Print(it) })
	}
}

func (s *screenShow) tick(v session.View, state string) {
	f := frameOf(v, state)
	if s.Looked != nil {
		for _, it := range s.draftItems() {
			s.screen.Print(it)
		}
		f = researchFrame(f, s.Looked.View)
	}
	if n := s.writing.Load(); n > 0 && v.Session.Status == ponder.Thinking {
		f.Writing = textkit.Count(int(n), "letter", "letters")
	}
	s.questions.Store(&f.Tree.Branches)
	s.screen.Show(f)
}

func (s *screenShow) close() {
	s.once.Do(func() {
		s.log.through(nil)
		s.screen.Close()
	})
}
