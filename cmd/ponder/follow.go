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

// A viewing is a displayed session. A command either works on the thread or only follows it.
type viewing struct {
	*cli
	app.SessionView

	class    llm.Class // failure class of the last call, if it failed
	refused  bool      // the budget did not allow the last call
	asked    bool
	answered bool
	writing  atomic.Int64
	draft    draft
	state    string
	busy     bool

	reserve reserve // of permanent output, until the session is certain to be kept

	internal bool
	chunks   *app.ResearchChunks // stream chunks of research; nil if not wanted
	pen      *sqlite.Store       // to write to, if Store is read-only: see desk
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
			_ = w.reserve.object(w.cli, c)
		}
	}
}

func (w *viewing) showChunks() { w.chunks = new(app.ResearchChunks) }

func (w *viewing) onDelta(d ponder.Delta) {
	if d.Done == nil {
		w.writing.Add(int64(len(d.Text) + len(d.Reasoning)))
	}
	w.draft.add(d)
}

func (w *viewing) pump(ctx context.Context) (<-chan ponder.Event, <-chan error) {
	return pump(ctx, w.Store, w.Id, w.Seen)
}

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

// A reserve holds back the output of new work until its result is certain to be kept. Work
// without a result then leaves one line. The zero value holds nothing. One goroutine calls its
// methods.
type reserve struct {
	holds bool
	held  []func()
}

func (r *reserve) show(it func()) {
	if r.holds {
		r.held = append(r.held, it)
		return
	}
	it()
}

func (r *reserve) note(a *cli, text string) {
	if text != "" {
		r.show(func() { a.note("%s", text) })
	}
}

// object is [cli.object]. A delayed write reports its error at the end of the command.
func (r *reserve) object(a *cli, v any) (err error) {
	r.show(func() { err = a.object(v) })
	return err
}

func (r *reserve) release() {
	held := r.held
	r.holds, r.held = false, nil
	for _, it := range held {
		it()
	}
}

// came reports whether there is a kept result, or a model is writing one.
func (w *viewing) came() bool {
	return w.answered || w.writing.Load() > 0 || len(w.View.Thoughts) > 0 || w.Looked != nil && len(w.View.Sources) > 0 || w.View.Session.Status == ponder.Paused
}

// shows adds permanent output. It shows a finished call at once, since the call announces a
// retry.
func (w *viewing) shows(ev ponder.Event, it func()) {
	if _, waits := ev.Body.(ponder.CallFinished); waits {
		it()
		return
	}
	w.reserve.show(it)
}
