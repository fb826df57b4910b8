package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder/internal/app"

	"ponder"
	"ponder/internal/tui"
)

// A live is a viewing that goes on, with what keys do to it. Its methods are
// called from one goroutine.
type live struct {
	*viewing
	show    show
	presses chan tui.Press

	thinker  *app.Runner // nil if another process thinks
	worked   chan error  // of the work that goes on here; nil if none does
	launched chan error  // of a process that is being started; nil if none is
	stay     bool        // a pause is no reason to go
}

// errDetach is why work here ends that is to go on in the background.
var errDetach = errors.New("detached")

// work thinks, and shows it, until there is nothing left to do: the session has
// ended, or is paused and nobody waits for it to go on. Ctrl-C pauses it. It
// returns errDetach if the session is to go on in the background.
func (w *viewing) work(ctx context.Context, t *app.Runner) error {
	return w.live(ctx, t)
}

// watch shows what another process thinks, until the session has ended, no one
// holds it, or the user has seen enough.
func (w *viewing) watch(ctx context.Context) error {
	err := w.live(ctx, nil)
	if w.pen != nil {
		w.pen.Close()
	}
	if ctx.Err() != nil || errors.Is(err, errDetach) {
		w.note("left to itself; to look on again: %s", w.command("session watch", w.Id))
	}
	return err
}

// live is work with a thinker, and watch without.
func (w *viewing) live(ctx context.Context, t *app.Runner) error {
	l := &live{viewing: w, presses: make(chan tui.Press, 8), thinker: t}
	press := func(p tui.Press) {
		select {
		case l.presses <- p:
		default: // as many are waiting already
		}
	}
	defer w.brake.toRest(func() { press(tui.Press{Key: tui.Interrupt}) })()
	l.show = w.show(t != nil, press)
	defer l.show.close()
	if err := w.drain(ctx, l.show); err != nil { // what a wish is about must be known
		return err
	}
	if t != nil {
		l.start(ctx)
	} else if _, ok := l.show.(*screenShow); ok {
		defer l.hear(ctx, l.Seen)()
	}
	err := l.loop(ctx)
	// What was written is shown, even if the command is being stopped.
	err = errors.Join(err, w.drain(context.WithoutCancel(ctx), l.show))
	if !w.nothingCame(ctx, err) {
		w.reserve.release()
	}
	return err
}

// start begins to work here.
func (l *live) start(ctx context.Context) {
	worked := make(chan error, 1)
	go func() { worked <- l.thinker.Work(ctx, l.Id) }()
	l.worked, l.busy, l.state, l.stay = worked, true, "", false
}

// tickEvery is how often a view is drawn anew, heldEvery how often is asked whether the
// session is still held, and reserved how long is shown nothing for good of work of which
// nothing may come: a refusal comes sooner, mostly.
const (
	tickEvery = 200 * time.Millisecond
	heldEvery = time.Second
	reserved  = 2 * time.Second
)

// loop shows events as they come, and does what keys say, until it is time to go.
func (l *live) loop(ctx context.Context) error {
	fctx, stop := context.WithCancel(ctx)
	defer stop()
	events, lost := l.pump(fctx)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	begun := time.Now()
	asked := begun
	l.show.tick(l.Now(), l.stateNow())
	for {
		select {
		case ev := <-events:
			l.apply(ev, l.show)
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
			lost = nil // the worker will find out what is wrong
		case p := <-l.presses:
			if gone, err := l.pressed(ctx, p); gone {
				return err
			}
		case <-tick.C:
		}
		if l.came() || time.Since(begun) > reserved {
			l.reserve.release()
		}
		l.show.tick(l.Now(), l.stateNow())
		if l.watching() && (l.View.Session.Status.Ended() || time.Since(asked) > heldEvery) {
			asked = time.Now()
			if rest, err := l.atRest(ctx); rest || err != nil {
				return errors.Join(err, l.drain(ctx, l.show))
			}
		}
	}
}

// watching reports whether the view goes when nobody holds the session: unless
// this process does, or the user has paused it to go on.
func (l *live) watching() bool {
	status := l.View.Session.Status
	if status == ponder.Thinking && l.state != pausing {
		l.stay = false // another has let it go on
	}
	return l.worked == nil && l.launched == nil && !(l.stay && !status.Ended())
}

// rested takes in that the work here is at rest, and reports whether that is all.
func (l *live) rested(ctx context.Context, err error) (gone bool, _ error) {
	l.worked, l.busy = nil, false
	l.writing.Store(0)
	if err != nil {
		return true, err
	}
	if err := l.drain(ctx, l.show); err != nil {
		return true, err
	}
	return !l.stay || l.View.Session.Status != ponder.Paused, nil
}

// begun takes in that a process in the background has begun, or why not.
func (l *live) begun(err error) {
	l.launched, l.state = nil, ""
	if err != nil {
		l.remark(tui.Alarm, oneLine(err.Error()))
		return
	}
	l.stay = false
}

// remark shows something that is not in the log.
func (l *live) remark(tone tui.Tone, text string) {
	if s, ok := l.show.(*screenShow); ok {
		s.screen.Print(tui.Item{At: -1, Kind: "note", Text: text, Tone: tone})
		return
	}
	l.note("%s", text)
}

// pressed does what a key says, and reports whether it is time to go.
func (l *live) pressed(ctx context.Context, p tui.Press) (gone bool, _ error) {
	do, why := decide(p, standing{
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

// resume goes on: here, or if another process thought, at the server or in the
// background.
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

// steer sends what was typed.
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

// wish appends a wish of the user, and reports whether it could. What the session
// says of it comes as an event. One that nobody works on is let say so.
func (l *live) wish(ctx context.Context, body ponder.Body) bool {
	store, err := l.desk(ctx)
	if err == nil {
		_, err = ponder.SendCommands(ctx, store, l.Id, ponder.Event{Run: l.View.Session.Run, Body: body})
	}
	if _, steered := body.(ponder.Steer); err == nil && steered && l.worked == nil && l.stay {
		err = l.ackWhilePaused(ctx, store)
	}
	if err != nil && ctx.Err() == nil { // else nobody waits for it any more
		l.state, l.stay = "", l.stay && l.View.Session.Status == ponder.Paused
		l.remark(tui.Alarm, whyNot(err))
	}
	return err == nil
}

// whyNot says in a line why a wish could not be sent.
func whyNot(err error) string {
	switch {
	case errors.Is(err, ponder.ErrEnded):
		return "refused: the session has come to its end"
	case errors.Is(err, ponder.ErrReadOnly):
		return "refused: the database cannot be written here"
	}
	return oneLine(fmt.Sprintf("not sent: %v", shortest(err)))
}

// desk returns the store to write to. Who looks on reads from one that may not be
// written, and opens another once it is needed.
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
