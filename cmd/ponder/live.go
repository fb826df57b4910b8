package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/client"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/llm"
)

type screenUI struct {
	*viewing
	screen    *tui.View
	questions *atomic.Pointer[[]tui.Branch] // of the last tick; completion reads them concurrently
}

// newScreenUI opens the view. It passes keys to press, except ctrl+c, which is the brake.
func newScreenUI(w *viewing, stderr *os.File, here bool, press func(tui.Press)) *screenUI {
	s := &screenUI{viewing: w, questions: &atomic.Pointer[[]tui.Branch]{}}
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

func (a *cli) style() tui.Style { return tui.Style{Plain: a.plain(), ASCII: !tui.UTF8(os.Getenv)} }

func (s *screenUI) event(ev ponder.Event, v app.View) {
	if it, ok := s.itemOf(ev, v); ok && it.Kind != "focus" {
		s.shows(ev, func() { s.screen.Print(it) })
	}
}

func (s *screenUI) tick(v app.View, state string) {
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

func (s *screenUI) close() {
	s.log.through(nil)
	s.screen.Close()
}

// A live is a viewing that reacts to keys. One goroutine calls its methods.
type live struct {
	*viewing
	ui      sessionUI
	presses chan tui.Press

	thinker  *app.Runner // nil if another process thinks
	worked   chan error
	launched chan error
	stay     bool // a pause does not end the view
}

var errDetach = errors.New("detached")

// watch shows the work of another process until the session ends, has no holder, or the user
// leaves.
func (w *viewing) watch(ctx context.Context) error {
	err := w.work(ctx, nil)
	if w.pen != nil {
		w.pen.Close()
	}
	if ctx.Err() != nil || errors.Is(err, errDetach) {
		w.note("left to itself; to look on again: %s", w.command("session watch", w.Id))
	}
	return err
}

// work runs a session and shows it until it ends, or pauses without a waiting user. Without a
// runner it only shows. Ctrl-C pauses. It returns errDetach to continue in the background.
func (w *viewing) work(ctx context.Context, t *app.Runner) error {
	l := &live{viewing: w, presses: make(chan tui.Press, 8), thinker: t}
	press := func(p tui.Press) {
		select {
		case l.presses <- p:
		default:
		}
	}
	defer w.brake.toRest(func() { press(tui.Press{Key: tui.Interrupt}) })()
	l.ui = w.ui(t != nil, press)
	defer l.ui.close()
	if err := w.drain(ctx, l.ui); err != nil { // commands need the current state
		return err
	}
	if t != nil {
		l.start(ctx)
	} else if _, ok := l.ui.(*screenUI); ok {
		defer l.hear(ctx, l.Seen)()
	}
	err := l.loop(ctx)
	// Show the written events even while stopping.
	err = errors.Join(err, w.drain(context.WithoutCancel(ctx), l.ui))
	if !w.nothingCame(ctx, err) {
		w.reserve.release()
	}
	return err
}

func (l *live) start(ctx context.Context) {
	worked := make(chan error, 1)
	go func() { worked <- l.thinker.Work(ctx, l.Id) }()
	l.worked, l.busy, l.state, l.stay = worked, true, "", false
}

// tickEvery is the redraw interval, heldEvery that of checks of the holder. reserved delays
// permanent output, since failing work usually fails sooner.
const (
	tickEvery = 200 * time.Millisecond
	heldEvery = time.Second
	reserved  = 2 * time.Second
)

// loop shows events and handles keys until the view ends.
func (l *live) loop(ctx context.Context) error {
	fctx, stop := context.WithCancel(ctx)
	defer stop()
	events, lost := l.pump(fctx)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	begun := time.Now()
	asked := begun
	l.ui.tick(l.Now(), l.stateNow())
	for {
		select {
		case ev := <-events:
			l.apply(ev, l.ui)
			if !l.View.Session.Status.Ended() || l.thinker != nil {
				continue
			}
		case err := <-l.worked:
			if gone, err := l.rested(ctx, err); gone {
				return err
			}
		case err := <-l.launched:
			l.begun(err)
		case err := <-lost:
			if l.thinker == nil {
				return err
			}
			lost = nil // the worker reports the cause
		case p := <-l.presses:
			if gone, err := l.pressed(ctx, p); gone {
				return err
			}
		case <-tick.C:
		}
		if l.came() || time.Since(begun) > reserved {
			l.reserve.release()
		}
		l.ui.tick(l.Now(), l.stateNow())
		if l.watching() && (l.View.Session.Status.Ended() || time.Since(asked) > heldEvery) {
			asked = time.Now()
			if rest, err := l.atRest(ctx); rest || err != nil {
				return errors.Join(err, l.drain(ctx, l.ui))
			}
		}
	}
}

// watching reports whether the view ends without a holder. It does not if this process works,
// or the user paused to resume.
func (l *live) watching() bool {
	status := l.View.Session.Status
	if status == ponder.Thinking && l.state != pausing {
		l.stay = false // another process resumed it
	}
	return l.worked == nil && l.launched == nil && !(l.stay && !status.Ended())
}

func (l *live) rested(ctx context.Context, err error) (gone bool, _ error) {
	l.worked, l.busy = nil, false
	l.writing.Store(0)
	if err != nil {
		return true, err
	}
	if err := l.drain(ctx, l.ui); err != nil {
		return true, err
	}
	return !l.stay || l.View.Session.Status != ponder.Paused, nil
}

func (l *live) begun(err error) {
	l.launched, l.state = nil, ""
	if err != nil {
		l.remark(tui.Alarm, oneLine(err.Error()))
		return
	}
	l.stay = false
}

func (l *live) remark(tone tui.Tone, text string) {
	if s, ok := l.ui.(*screenUI); ok {
		s.screen.Print(tui.Item{At: -1, Kind: "note", Text: text, Tone: tone})
		return
	}
	l.note("%s", text)
}

func (l *live) pressed(ctx context.Context, p tui.Press) (gone bool, _ error) {
	do, why := decide(p, keyContext{
		status: l.View.Session.Status, here: l.thinker != nil, launching: l.launched != nil, concluding: l.stateNow() == concluding,
	})
	if why != "" {
		l.remark(tui.Quiet, why)
	}
	switch do {
	case pause, pauseAndGo:
		l.stay = do == pause
		l.state = pausing
		l.wish(ctx, ponder.RunPaused{Reason: "paused by the user"})
	case resume:
		l.resume(ctx)
	case answer:
		l.wish(ctx, ponder.Steer{Do: ponder.AnswerNow})
	case answerAndResume:
		l.wish(ctx, ponder.Steer{Do: ponder.AnswerNow})
		l.resume(ctx)
	case steer:
		l.steer(ctx, p.Line)
	case detach:
		return true, errDetach
	case leave:
		if l.thinker == nil {
			return true, errDetach
		}
		return true, nil
	}
	return false, nil
}

// resume continues here or, if another process thought, at the server or in the background.
func (l *live) resume(ctx context.Context) {
	if l.worked != nil {
		l.remark(tui.Quiet, "it is still pausing")
		return
	}
	if l.thinker != nil {
		if l.wish(ctx, ponder.RunResumed{Reason: "resumed by the user"}) {
			l.start(ctx)
		}
		return
	}
	store, err := l.desk(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.remark(tui.Alarm, whyNot(err))
		}
		return
	}
	launched, run := make(chan error, 1), l.View.Session.Run
	go func() {
		_, err := l.goOnElsewhere(ctx, store, run, "")
		launched <- err
	}()
	l.launched, l.state = launched, starting
}

func (l *live) steer(ctx context.Context, line string) {
	f, err := readSteer(line)
	if err != nil {
		l.remark(tui.Alarm, err.Error())
		return
	}
	commands, err := f.commands(ctx, &l.SessionView)
	if err != nil {
		l.remark(tui.Alarm, strings.TrimPrefix(oneLine(err.Error()), "--"))
		return
	}
	for _, ev := range commands {
		l.wish(ctx, ev.Body)
	}
}

// wish appends a command and reports success. The acknowledgement arrives as an event; an
// unheld session is held to write it.
func (l *live) wish(ctx context.Context, body ponder.Body) bool {
	store, err := l.desk(ctx)
	if err == nil {
		_, err = ponder.SendCommands(ctx, store, l.Id, ponder.Event{Run: l.View.Session.Run, Body: body})
	}
	if _, steered := body.(ponder.Steer); err == nil && steered && l.worked == nil && l.stay {
		err = l.AckWhilePaused(ctx, store)
	}
	if err != nil && ctx.Err() == nil {
		l.state, l.stay = "", l.stay && l.View.Session.Status == ponder.Paused
		l.remark(tui.Alarm, whyNot(err))
	}
	return err == nil
}

func whyNot(err error) string {
	switch {
	case errors.Is(err, ponder.ErrEnded):
		return "refused: the session has come to its end"
	case errors.Is(err, ponder.ErrReadOnly):
		return "refused: the database cannot be written here"
	}
	return oneLine(fmt.Sprintf("not sent: %v", shortest(err)))
}

// desk returns a writable store. A viewer has a read-only store and opens a second one on
// demand.
func (l *live) desk(ctx context.Context) (ponder.Store, error) {
	if l.thinker != nil {
		return l.Store, nil
	}
	if l.pen == nil {
		store, err := l.cli.OpenStore(ctx)
		if err != nil {
			return nil, err
		}
		l.pen = store
	}
	return l.pen, nil
}

// hear receives text of models from `ponder serve` until stop. Events come from the database.
// Without a server or access, it receives nothing.
func (w *viewing) hear(ctx context.Context, after ponder.Seq) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s, ok := w.served(ctx)
		if !ok {
			return
		}
		h := deltaReceiver{take: w.onDelta}
		for u, err := range s.Events(ctx, string(w.Id), after) {
			if err != nil {
				return
			}
			h.update(u)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// A deltaReceiver turns the deltas of a stream into those of a local model.
type deltaReceiver struct {
	take func(ponder.Delta)
	key  string
}

// update handles an update of a stream. Streams omit events of calls, so a call ends with its
// result, or with the text of another call.
func (r *deltaReceiver) update(u client.Update) {
	finished := false
	if u.Event != nil {
		switch u.Event.Body.(type) {
		case ponder.Synthesis, ponder.AssistantMessage, ponder.Progress, ponder.RunFinished:
			finished = true
		}
	}
	if p := u.Piece; r.key != "" && (finished || p != nil && p.Key != r.key) {
		r.take(ponder.Delta{Key: r.key, Delta: llm.Delta{Done: &llm.Response{}}})
		r.key = ""
	}
	if u.Piece != nil {
		r.key = u.Piece.Key
		r.take(ponder.Delta{Run: u.Piece.Run, Key: u.Piece.Key, Delta: llm.Delta{Text: u.Piece.Text}})
	}
}
