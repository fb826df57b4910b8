package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/store/sqlite"
)

// A viewing is a session that is being shown. A command makes one of a store and
// a thread, and either works on the thread or only looks on.
type viewing struct {
	*cli
	app.SessionView

	class    llm.Class // how the last call failed, if it did
	refused  bool      // that call was not made, for the budget did not allow it
	asked    bool      // a call was made
	answered bool      // and one was answered
	writing  atomic.Int64
	draft    draft  // of research
	state    string // what it is about to do, if that is not its status
	busy     bool   // this process thinks at the moment

	reserve reserve // of what is shown for good, in case nothing comes that is kept

	internal bool                // show internal events too
	chunks   *app.ResearchChunks // what is streamed of research beside its events, if that is wanted
	pen      *sqlite.Store       // to write to, if that is not the store: see desk
}

func (a *cli) viewing(store ponder.Store, id ponder.ThreadID) *viewing {
	return &viewing{cli: a, SessionView: *a.SessionView(store, id)}
}

func (w *viewing) drain(ctx context.Context, s sessionUI) error {
	w.View = w.View.Calibrate(w.Calibration(ctx, w.Store))
	for ev, err := range w.Store.Events(ctx, w.Id, w.Seen) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.Id, err)
		}
		w.apply(ev, s)
	}
	return nil
}

func (w *viewing) load(ctx context.Context) error { return w.drain(ctx, quietUI{}) }

// apply takes in an event, unless it was seen already.
func (w *viewing) apply(ev ponder.Event, s sessionUI) {
	if !w.SessionView.Apply(ev) {
		return
	}
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		w.writing.Store(0)
		w.asked = w.asked || b.Made()
		w.answered = w.answered || b.Made() && b.Error == ""
		if !b.Dropped {
			w.class, w.refused = b.Class, b.Refused
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
	if w.came() {
		w.reserve.release()
	}
	s.event(ev, w.View)
	if w.chunks != nil {
		for _, c := range w.chunks.Apply(ev) {
			_ = w.reserve.object(w.cli, c) // a pipe that is closed is noticed with the next event
		}
	}
}

// showChunks has research shown as chunks of a Deep Think stream too.
func (w *viewing) showChunks() { w.chunks = new(app.ResearchChunks) }

// onDelta counts what models write.
func (w *viewing) onDelta(d ponder.Delta) {
	if d.Done == nil {
		w.writing.Add(int64(len(d.Text) + len(d.Reasoning)))
	}
	w.draft.add(d)
}

// pump sends the events after the last seen as they come, or the error that ends
// them.
func (w *viewing) pump(ctx context.Context) (<-chan ponder.Event, <-chan error) {
	return pump(ctx, w.Store, w.Id, w.Seen)
}

// pump sends the events of a thread after one as they come, or the error that ends
// them.
func pump(ctx context.Context, log ponder.Log, id ponder.ThreadID, after ponder.Seq) (<-chan ponder.Event, <-chan error) {
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

func (w *viewing) atRest(ctx context.Context) (bool, error) {
	info, err := w.Store.Thread(ctx, w.Id)
	if err != nil {
		return false, err
	}
	return info.Status.Ended() || !info.Held, nil
}

// A reserve holds back what is shown of work that was begun until it is certain that it is
// kept: what comes to nothing is removed, and leaves one line. The zero value holds nothing
// back. Its methods are called from one goroutine.
type reserve struct {
	holds bool
	held  []func()
}

// show shows something, once it may be shown.
func (r *reserve) show(it func()) {
	if r.holds {
		r.held = append(r.held, it)
		return
	}
	it()
}

// note is [app.note] of a text, unless it is empty.
func (r *reserve) note(a *cli, text string) {
	if text != "" {
		r.show(func() { a.note("%s", text) })
	}
}

// object is [app.object]. What is printed later returns no error: that is told at the end.
func (r *reserve) object(a *cli, v any) (err error) {
	r.show(func() { err = a.object(v) })
	return err
}

// release shows what was held back, and holds nothing back from now on.
func (r *reserve) release() {
	held := r.held
	r.holds, r.held = false, nil
	for _, it := range held {
		it()
	}
}

// came reports whether something has come that is kept, or is about to: a model answers.
func (w *viewing) came() bool {
	return w.answered || w.writing.Load() > 0 || len(w.View.Thoughts) > 0 || w.Looked != nil && len(w.View.Sources) > 0 || w.View.Session.Status == ponder.Paused
}

// shows shows an event for good: at once, if it is that a model is waited for.
func (w *viewing) shows(ev ponder.Event, it func()) {
	if _, waits := ev.Body.(ponder.CallFinished); waits {
		it()
		return
	}
	w.reserve.show(it)
}
