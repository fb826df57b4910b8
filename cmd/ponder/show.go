package main

import (
	"fmt"
	"os"
	"sync"
	"time"

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

// show returns the show that the flags and the terminal ask for. pressed is told
// of keys but those that press the brake; nil if the session is another's.
func (w *viewing) show(pressed func(key string)) show {
	stderr, isFile := w.log.out.(*os.File)
	switch {
	case w.flags.json:
		return jsonShow{w}
	case w.flags.quiet:
		return silence{}
	case isFile && tui.CanShow(stderr):
		return newScreenShow(w, stderr, pressed)
	}
	return lineShow{w.app}
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
		_ = s.object(ev) // a reader that has gone away ends the process
	}
}
func (jsonShow) tick(session.View, string) {}
func (jsonShow) close()                    {}

// A lineShow prints a line for each thing that comes up.
type lineShow struct{ *app }

func (s lineShow) event(ev ponder.Event, v session.View) {
	if it, ok := itemOf(ev, v); ok {
		mark := it.Mark
		if mark != "" {
			mark = " " + mark
		}
		fmt.Fprintf(s.log, "%s %s%s: %s\n", tui.Clock(it.At), it.Kind, mark, oneLine(it.Text))
	}
}
func (lineShow) tick(session.View, string) {}
func (lineShow) close()                    {}

// A screenShow is a live view on a terminal.
type screenShow struct {
	*viewing
	screen *tui.View
	hint   string
	once   sync.Once
}

func newScreenShow(w *viewing, stderr *os.File, pressed func(string)) *screenShow {
	s := &screenShow{viewing: w, hint: "ctrl+c leaves it to itself"}
	if pressed != nil {
		s.hint = "ctrl+c pauses · a asks for the answer now"
	}
	keys := func(key string) {
		if key == "ctrl+c" {
			w.brake.press()
		} else if pressed != nil {
			pressed(key)
		}
	}
	in, _ := w.in.(*os.File)
	s.screen = tui.Open(tui.Options{Out: stderr, In: in, Keys: keys, Plain: w.plain()})
	w.log.through(s.screen)
	return s
}

func (s *screenShow) event(ev ponder.Event, v session.View) {
	if it, ok := itemOf(ev, v); ok && it.Kind != "focus" {
		s.screen.Print(it)
	}
}

func (s *screenShow) tick(v session.View, state string) {
	f := frameOf(v, state)
	f.Hint = s.hint
	if n := s.writing.Load(); n > 0 && v.Session.Status == ponder.Thinking {
		f.Writing = counted(int(n), "letter", "letters") + " so far"
	}
	s.screen.Show(f)
}

func (s *screenShow) close() {
	s.once.Do(func() {
		s.log.through(nil)
		s.screen.Close()
	})
}

// itemOf returns how an event is shown, if it is.
func itemOf(ev ponder.Event, v session.View) (tui.Item, bool) {
	if ev.Internal {
		return tui.Item{}, false
	}
	it := tui.Item{At: seconds(v.Session.Progress.Elapsed)}
	switch b := ev.Body.(type) {
	case ponder.Thought:
		it.Kind, it.Mark, it.Text = b.Kind, fmt.Sprintf("%.2f", b.Confidence), b.Content
	case ponder.SubQuestion:
		it.Kind, it.Mark, it.Text, it.Tone = "question", fmt.Sprintf("p%d", b.Priority), b.Content, tui.Bright
	case ponder.Synthesis:
		if b.Final {
			return it, false // it is the answer, and comes by itself
		}
		it.Kind, it.Mark, it.Text, it.Tone = "synthesis", fmt.Sprintf("%.2f", b.Confidence), b.Content, tui.Strong
	case ponder.SystemNote:
		it.Kind, it.Text, it.Tone = "note", b.Content, tui.Quiet
	case ponder.BudgetSpent:
		it.Kind, it.Text, it.Tone = "concluding", b.What+" spent", tui.Quiet
	case ponder.Progress:
		it.Kind, it.Text, it.Tone = "focus", b.Content, tui.Quiet
		return it, b.Stage == "focus"
	case ponder.RunPaused:
		it.Kind, it.Text, it.Tone = "paused", b.Reason, tui.Quiet
	case ponder.RunResumed:
		it.Kind, it.Text, it.Tone = "resumed", b.Reason, tui.Quiet
	default:
		return it, false
	}
	return it, true
}

// frameOf returns how a session stands.
func frameOf(v session.View, state string) tui.Frame {
	s := v.Session
	f := tui.Frame{Title: s.Question, State: state, Share: s.Progress.Percentage / 100, Focus: s.Progress.Focus}
	f.Budget = nearest(s)
	if f.Budget == "" {
		f.Share = -1
	}
	explored := 0
	for _, q := range v.Questions {
		if q.Explored {
			explored++
		}
	}
	f.Counts = []string{counted(s.Progress.Thoughts, "thought", "thoughts")}
	if n := s.Progress.Questions; n > 0 {
		f.Counts = append(f.Counts, fmt.Sprintf("%d of %s explored", explored, counted(n, "question", "questions")))
	}
	if n := s.Progress.Syntheses; n > 0 {
		f.Counts = append(f.Counts, counted(n, "synthesis", "syntheses"), fmt.Sprintf("confidence %.2f", s.Confidence[n-1]))
	}
	if s.Usage.Calls > 0 {
		f.Spent = spent(s.Usage)
	}
	if n := len(v.Sources); n > 0 {
		f.Spent = append(f.Spent, counted(n, "passage", "passages")+" found")
	}
	return f
}

// spent says what calls have cost.
func spent(u session.Usage) []string {
	calls := counted(u.Calls, "call", "calls")
	if u.Failed > 0 {
		calls += fmt.Sprintf(" (%d failed)", u.Failed)
	}
	return []string{calls, counted(u.Total, "token", "tokens"), usd(u.USD, u.Calls, u.Unpriced)}
}

// nearest says how far the budget has come that is nearest to its end.
func nearest(s session.Session) string {
	words, most := "", -1.0
	add := func(used, limit float64, text string) {
		if limit > 0 && used/limit > most {
			words, most = text, used/limit
		}
	}
	p, u, b := s.Progress, s.Usage, s.Budget
	add(p.Elapsed, b.Seconds, tui.Clock(seconds(p.Elapsed))+" of "+tui.Clock(seconds(b.Seconds)+time.Second/2))
	add(float64(u.Calls), float64(b.Calls), fmt.Sprintf("%d of %s", u.Calls, counted(b.Calls, "call", "calls")))
	add(float64(u.Total), float64(b.Tokens), fmt.Sprintf("%s of %s", number(u.Total), counted(b.Tokens, "token", "tokens")))
	add(u.USD, b.USD, dollars(u.USD)+" of "+dollars(b.USD))
	return words
}
