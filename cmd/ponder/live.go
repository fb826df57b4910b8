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
	"ponder/internal/liveview"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/llm"
)

type screenUI struct {
	*sessionScreen
	screen    *tui.View
	questions *atomic.Pointer[[]tui.Branch] // of the last tick; completion reads them concurrently
}

// newScreenUI opens the view. It passes keys to press, except ctrl+c, which is the brake.
func newScreenUI(w *sessionScreen, stderr *os.File, here bool, press func(tui.Press)) *screenUI {
	s := &screenUI{sessionScreen: w, questions: &atomic.Pointer[[]tui.Branch]{}}
	s.questions.Store(&[]tui.Branch{})
	in, _ := w.in.(*os.File)
	o := tui.Options{
		Out: stderr, In: in, Style: w.viewStyle(), NoKeys: "ctrl+c leaves it to itself",
		KeyBindings: tui.KeyBindings{
			Controls: keyControls(here),
			Commands: lineCommands(),
			Hint:     func(line string) tui.Hint { return hintSteer(line, *s.questions.Load()) },
		},
		OnPress: func(p tui.Press) {
			if p.Key == tui.Interrupt {
				w.interrupts.handlePress()
				return
			}
			press(p)
		},
	}
	if here {
		o.NoKeys = "ctrl+c pauses"
	}
	s.screen = tui.Open(o)
	w.log.redirectTo(s.screen)
	return s
}

func (a *cli) viewStyle() tui.Style {
	return tui.Style{Plain: a.isPlainOutput(), ASCII: !tui.UTF8(os.Getenv)}
}

func (s *screenUI) showEvent(ev ponder.Event, v app.View) {
	if it, ok := liveview.NewItem(ev, v, s.Research); ok && it.Kind != "focus" {
		s.showPermanent(ev, func() { s.screen.Print(it) })
	}
}

func (s *screenUI) showState(v app.View, state string) {
	if s.Research != nil {
		for _, it := range s.draft.Items(v, s.Research.View) {
			s.screen.Print(it)
		}
	}
	f := liveview.NewFrame(v, s.Research, state)
	if v.Session.Status == ponder.Paused {
		f.Names = map[string]string{pauseKey: "resume"}
	}
	if n := s.writtenBytes.Load(); n > 0 && v.Session.Status == ponder.Thinking {
		f.Writing = textkit.Count(int(n), "letter", "letters")
	} else if waits := s.waits.Notes(s.WaitNotes); len(waits) > 0 && v.Session.Status == ponder.Thinking {
		f.Writing, _, _ = strings.Cut(waits[0], ",") // without the details
	}
	s.questions.Store(&f.Tree.Branches)
	s.screen.Show(f)
}

func (s *screenUI) close() {
	s.log.redirectTo(nil)
	s.screen.Close()
}

// A liveScreen is a viewing that reacts to keys. One goroutine calls its methods.
type liveScreen struct {
	*sessionScreen
	ui      sessionUI
	presses chan tui.Press

	runner       *app.Runner // nil if another process thinks
	workResult   chan error
	launchResult chan error
	keepOpen     bool // a pause does not end the view
	interpreted  chan interpretedLine
}

var errDetach = errors.New("detached")

// watchSession shows the work of another process until the session ends, has no holder, or the user
// leaves.
func (w *sessionScreen) watchSession(ctx context.Context) error {
	err := w.runSession(ctx, nil)
	if w.writableStore != nil {
		w.writableStore.Close()
	}
	if ctx.Err() != nil || errors.Is(err, errDetach) {
		w.printNote("left to itself; to look on again: %s", w.formatCommand("session watch", w.Id))
	}
	return err
}

// runSession runs a session and shows it until it ends, or pauses without a waiting user. Without a
// runner it only shows. Ctrl-C pauses. It returns errDetach to continue in the background.
func (w *sessionScreen) runSession(ctx context.Context, t *app.Runner) error {
	l := &liveScreen{sessionScreen: w, presses: make(chan tui.Press, 8), interpreted: make(chan interpretedLine), runner: t}
	press := func(p tui.Press) {
		select {
		case l.presses <- p:
		default:
		}
	}
	defer w.interrupts.setGraceful(func() { press(tui.Press{Key: tui.Interrupt}) })()
	l.ui = w.newUI(t != nil, press)
	defer l.ui.close()
	if err := w.applyNewEvents(ctx, l.ui); err != nil { // commands need the current state
		return err
	}
	if t != nil {
		l.startWork(ctx)
	} else if _, ok := l.ui.(*screenUI); ok {
		defer l.receiveDeltas(ctx, l.Seen)()
	}
	err := l.runLoop(ctx)
	// Show the written events even while stopping.
	err = errors.Join(err, w.applyNewEvents(context.WithoutCancel(ctx), l.ui))
	if !w.endedWithoutResult(ctx, err) {
		w.heldOutput.releaseAll()
	}
	return err
}

func (l *liveScreen) startWork(ctx context.Context) {
	worked := make(chan error, 1)
	go func() { worked <- l.runner.Work(ctx, l.Id) }()
	l.workResult, l.busy, l.state, l.keepOpen = worked, true, "", false
}

// redrawInterval is the redraw interval, holderCheckInterval that of checks of the holder. reserved delays
// permanent output, since failing work usually fails sooner.
const (
	redrawInterval      = 200 * time.Millisecond
	holderCheckInterval = time.Second
	heldOutputDelay     = 2 * time.Second
)

// runLoop shows events and handles keys until the view ends.
func (l *liveScreen) runLoop(ctx context.Context) error {
	fctx, stop := context.WithCancel(ctx)
	defer stop()
	events, lost := l.followEvents(fctx)
	tick := time.NewTicker(redrawInterval)
	defer tick.Stop()
	begun := time.Now()
	asked := begun
	l.ui.showState(l.CurrentView(), l.currentState())
	for {
		select {
		case ev := <-events:
			l.applyEvent(ev, l.ui)
			if !l.View.Session.Status.Ended() || l.runner != nil {
				continue
			}
		case err := <-l.workResult:
			if gone, err := l.onWorkDone(ctx, err); gone {
				return err
			}
		case err := <-l.launchResult:
			l.onLaunched(err)
		case err := <-lost:
			if l.runner == nil {
				return err
			}
			lost = nil // the worker reports the cause
		case in := <-l.interpreted:
			l.applyInterpreted(ctx, in)
		case p := <-l.presses:
			if gone, err := l.handlePress(ctx, p); gone {
				return err
			}
		case <-tick.C:
		}
		if l.hasResult() || time.Since(begun) > heldOutputDelay {
			l.heldOutput.releaseAll()
		}
		l.ui.showState(l.CurrentView(), l.currentState())
		if l.endsWithoutHolder() && (l.View.Session.Status.Ended() || time.Since(asked) > holderCheckInterval) {
			asked = time.Now()
			if rest, err := l.isIdle(ctx); rest || err != nil {
				return errors.Join(err, l.applyNewEvents(ctx, l.ui))
			}
		}
	}
}

// endsWithoutHolder reports whether the view ends without a holder. It does not if this process works,
// or the user paused to resume.
func (l *liveScreen) endsWithoutHolder() bool {
	status := l.View.Session.Status
	if status == ponder.Thinking && l.state != pausing {
		l.keepOpen = false // another process resumed it
	}
	return l.workResult == nil && l.launchResult == nil && !(l.keepOpen && !status.Ended())
}

func (l *liveScreen) onWorkDone(ctx context.Context, err error) (gone bool, _ error) {
	l.workResult, l.busy = nil, false
	l.writtenBytes.Store(0)
	if err != nil {
		return true, err
	}
	if err := l.applyNewEvents(ctx, l.ui); err != nil {
		return true, err
	}
	return !l.keepOpen || l.View.Session.Status != ponder.Paused, nil
}

func (l *liveScreen) onLaunched(err error) {
	l.launchResult, l.state = nil, ""
	if err != nil {
		l.printRemark(tui.Alarm, oneLine(err.Error()))
		return
	}
	l.keepOpen = false
}

func (l *liveScreen) printRemark(tone tui.Tone, text string) {
	if s, ok := l.ui.(*screenUI); ok {
		s.screen.Print(tui.Item{At: -1, Kind: "note", Text: text, Tone: tone})
		return
	}
	l.printNote("%s", text)
}

func (l *liveScreen) handlePress(ctx context.Context, p tui.Press) (gone bool, _ error) {
	do, why := decideKeyAction(p, keyContext{
		status: l.View.Session.Status, here: l.runner != nil, launching: l.launchResult != nil, concluding: l.currentState() == concluding,
	})
	if why != "" {
		l.printRemark(tui.Quiet, why)
	}
	switch do {
	case actionPause, actionPauseAndLeave:
		l.keepOpen = do == actionPause
		l.state = pausing
		l.postCommand(ctx, ponder.RunPaused{Reason: "paused by the user"})
	case actionResume:
		l.resumeSession(ctx)
	case actionAnswer:
		l.postCommand(ctx, ponder.Steer{Do: ponder.AnswerNow})
	case actionAnswerAndResume:
		l.postCommand(ctx, ponder.Steer{Do: ponder.AnswerNow})
		l.resumeSession(ctx)
	case actionSteer:
		l.steerSession(ctx, p.Line)
	case actionDetach:
		return true, errDetach
	case actionLeave:
		if l.runner == nil {
			return true, errDetach
		}
		return true, nil
	}
	return false, nil
}

// resumeSession continues here or, if another process thought, at the server or in the background.
func (l *liveScreen) resumeSession(ctx context.Context) {
	if l.workResult != nil {
		l.printRemark(tui.Quiet, "it is still pausing")
		return
	}
	if l.runner != nil {
		if l.postCommand(ctx, ponder.RunResumed{Reason: "resumed by the user"}) {
			l.startWork(ctx)
		}
		return
	}
	store, err := l.openWritable(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.printRemark(tui.Alarm, refusalText(err))
		}
		return
	}
	launched, commands := make(chan error, 1), resumeFlags{}.resumption(l.View.Session.Run)
	go func() {
		_, err := l.resumeElsewhere(ctx, store, commands, "")
		launched <- err
	}()
	l.launchResult, l.state = launched, starting
}

func (l *liveScreen) steerSession(ctx context.Context, line string) {
	f, ok := readTyped(line)
	if !ok {
		l.interpretLine(ctx, line)
		return
	}
	commands, err := f.commandEvents(ctx, &l.SessionView)
	if err != nil {
		l.interpretLine(ctx, line) // such as "drop the first question"
		return
	}
	var bodies []ponder.Body
	for _, ev := range commands {
		bodies = append(bodies, ev.Body)
	}
	l.postCommands(ctx, bodies...)
}

// postCommand posts one command: see postCommands.
func (l *liveScreen) postCommand(ctx context.Context, body ponder.Body) bool {
	return l.postCommands(ctx, body)
}

// postCommands appends commands together and reports success. The acknowledgements arrive as events; an
// unheld session is held to write them.
func (l *liveScreen) postCommands(ctx context.Context, bodies ...ponder.Body) bool {
	store, err := l.openWritable(ctx)
	if err == nil {
		var list []ponder.Event
		for _, b := range bodies {
			list = append(list, ponder.Event{Run: l.View.Session.Run, Body: b})
		}
		_, err = ponder.SendCommands(ctx, store, l.Id, list...)
	}
	if _, steered := bodies[0].(ponder.Steer); err == nil && steered && l.workResult == nil && l.keepOpen {
		err = l.AckWhilePaused(ctx, store)
	}
	if err != nil && ctx.Err() == nil {
		l.state, l.keepOpen = "", l.keepOpen && l.View.Session.Status == ponder.Paused
		l.printRemark(tui.Alarm, refusalText(err))
	}
	return err == nil
}

func refusalText(err error) string {
	switch {
	case errors.Is(err, ponder.ErrEnded):
		return "refused: the session has come to its end"
	case errors.Is(err, ponder.ErrReadOnly):
		return "refused: the database cannot be written here"
	}
	return oneLine(fmt.Sprintf("not sent: %v", unwrapStoreError(err)))
}

// openWritable returns a writable store. A viewer has a read-only store and opens a second one on
// demand.
func (l *liveScreen) openWritable(ctx context.Context) (ponder.Store, error) {
	if l.runner != nil {
		return l.Store, nil
	}
	if l.writableStore == nil {
		store, err := l.cli.OpenStore(ctx)
		if err != nil {
			return nil, err
		}
		l.writableStore = store
	}
	return l.writableStore, nil
}

// receiveDeltas receives text of models from `ponder serve` until stop. Events come from the database.
// Without a server or access, it receives nothing.
func (w *sessionScreen) receiveDeltas(ctx context.Context, after ponder.Seq) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s, ok := w.findServer(ctx)
		if !ok {
			return
		}
		go w.waits.Follow(ctx, s.LocalServer)
		h := deltaReceiver{deliver: w.onDelta}
		for u, err := range s.Events(ctx, string(w.Id), after) {
			if err != nil {
				return
			}
			h.applyUpdate(u)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// A deltaReceiver turns the deltas of a stream into those of a local model.
type deltaReceiver struct {
	deliver func(ponder.Delta)
	key     string
}

// applyUpdate handles an update of a stream. Streams omit events of calls, so a call ends with its
// result, or with the text of another call.
func (r *deltaReceiver) applyUpdate(u client.Update) {
	finished := false
	if u.Event != nil {
		switch u.Event.Body.(type) {
		case ponder.Synthesis, ponder.AssistantMessage, ponder.Progress, ponder.RunFinished:
			finished = true
		}
	}
	if p := u.Piece; r.key != "" && (finished || p != nil && p.Key != r.key) {
		r.deliver(ponder.Delta{Key: r.key, Delta: llm.Delta{Done: &llm.Response{}}})
		r.key = ""
	}
	if u.Piece != nil {
		r.key = u.Piece.Key
		r.deliver(ponder.Delta{Run: u.Piece.Run, Key: u.Piece.Key, Delta: llm.Delta{Text: u.Piece.Text}})
	}
}
