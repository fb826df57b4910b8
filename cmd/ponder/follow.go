package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/liveview"
	"ponder/internal/server"
	"ponder/llm"
	"ponder/store/sqlite"
)

// A sessionScreen is a displayed session. A command either works on the thread or only follows it.
type sessionScreen struct {
	*cli
	app.SessionView

	failureClass  llm.Class // failure class of the last call, if it failed
	budgetRefused bool      // the budget did not allow the last call
	callMade      bool
	callSucceeded bool
	writtenBytes  atomic.Int64
	waits         server.WaitWatch
	draft         liveview.Draft
	state         string
	busy          bool

	heldOutput heldOutput // of permanent output, until the session is certain to be kept

	internal      bool
	chunks        *app.ResearchChunks // stream chunks of research; nil if not wanted
	writableStore *sqlite.Store       // for writes, if Store is read-only: see liveScreen.openWritable
}

func (a *cli) newSessionScreen(store ponder.Store, id ponder.ThreadID) *sessionScreen {
	return &sessionScreen{cli: a, SessionView: *a.SessionView(store, id)}
}

func (w *sessionScreen) applyNewEvents(ctx context.Context, s sessionUI) error {
	w.View = w.View.Calibrate(w.Calibration(ctx, w.Store))
	for ev, err := range w.Store.Events(ctx, w.Id, w.Seen) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.Id, err)
		}
		w.applyEvent(ev, s)
	}
	return nil
}

func (w *sessionScreen) loadEvents(ctx context.Context) error {
	return w.applyNewEvents(ctx, quietUI{})
}

func (w *sessionScreen) applyEvent(ev ponder.Event, s sessionUI) {
	if !w.SessionView.Apply(ev) {
		return
	}
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		w.writtenBytes.Store(0)
		w.callMade = w.callMade || b.Made()
		w.callSucceeded = w.callSucceeded || b.Made() && b.Error == ""
		if !b.Dropped {
			w.failureClass, w.budgetRefused = b.Class, b.Refused
		}
	case ponder.Progress:
		if b.Stage == ponder.StageSteered && b.Label == string(ponder.AnswerNow) && !b.Refused {
			w.state = concluding
		}
	case ponder.RunResumed:
		if w.state == pausing {
			w.state = ""
		}
	}
	if w.hasResult() {
		w.heldOutput.releaseAll()
	}
	s.showEvent(ev, w.View)
	if w.chunks != nil {
		for _, c := range w.chunks.Apply(ev) {
			_ = w.heldOutput.printJSON(w.cli, c)
		}
	}
}

func (w *sessionScreen) enableChunks() { w.chunks = new(app.ResearchChunks) }

func (w *sessionScreen) onDelta(d ponder.Delta) {
	if d.Done == nil {
		w.writtenBytes.Add(int64(len(d.Text) + len(d.Reasoning)))
	}
	w.draft.Add(d)
}

func (w *sessionScreen) followEvents(ctx context.Context) (<-chan ponder.Event, <-chan error) {
	return followThread(ctx, w.Store, w.Id, w.Seen)
}

func followThread(ctx context.Context, log ponder.Log, id ponder.ThreadID, after ponder.Seq) (<-chan ponder.Event, <-chan error) {
	events, lost := make(chan ponder.Event), make(chan error, 1)
	go func() {
		for ev, err := range ponder.Follow(ctx, log, id, after) {
			if err != nil {
				lost <- err
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
				lost <- ctx.Err()
				return
			}
		}
	}()
	return events, lost
}

func (w *sessionScreen) isIdle(ctx context.Context) (bool, error) {
	info, err := w.Store.Thread(ctx, w.Id)
	if err != nil {
		return false, err
	}
	return info.Status.Ended() || !info.Held, nil
}

// A heldOutput holds back the output of new work until its result is certain to be kept. Work
// without a result then leaves one line. The zero value holds nothing. One goroutine calls its
// methods.
type heldOutput struct {
	active bool
	queue  []func()
}

func (r *heldOutput) runOrHold(it func()) {
	if r.active {
		r.queue = append(r.queue, it)
		return
	}
	it()
}

func (r *heldOutput) printNote(a *cli, text string) {
	if text != "" {
		r.runOrHold(func() { a.printNote("%s", text) })
	}
}

// printJSON is [cli.printJSON]. A delayed write reports its error at the end of the command.
func (r *heldOutput) printJSON(a *cli, v any) (err error) {
	r.runOrHold(func() { err = a.printJSON(v) })
	return err
}

func (r *heldOutput) releaseAll() {
	held := r.queue
	r.active, r.queue = false, nil
	for _, it := range held {
		it()
	}
}

// hasResult reports whether there is a kept result, or a model is writing one.
func (w *sessionScreen) hasResult() bool {
	return w.callSucceeded || w.writtenBytes.Load() > 0 || len(w.View.Thoughts) > 0 || w.Research != nil && len(w.View.Sources) > 0 || w.View.Session.Status == ponder.Paused
}

// showPermanent adds permanent output. It shows a finished call at once, since the call announces a
// retry.
func (w *sessionScreen) showPermanent(ev ponder.Event, it func()) {
	if _, waits := ev.Body.(ponder.CallFinished); waits {
		it()
		return
	}
	w.heldOutput.runOrHold(it)
}

func (w *sessionScreen) currentState() string {
	status, p, b := w.View.Session.Status, w.CurrentView().Session.Progress, w.View.Session.Budget
	switch {
	case w.state == pausing && status == ponder.Paused && !w.busy:
		return string(status)
	case w.state != "" && !status.Ended() && (status != ponder.Paused || w.state == pausing):
		return w.state
	case status == ponder.Thinking && (w.View.CutShort || b.Seconds > 0 && p.Elapsed > b.Seconds):
		return concluding
	}
	return string(status)
}

const (
	pausing    = "pausing"
	concluding = "concluding"
	starting   = "starting"
)
