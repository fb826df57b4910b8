package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/session"
)

// A viewing is a session that is being shown. A command makes one of a store and
// a thread, and either works on the thread or only looks on.
type viewing struct {
	*app
	store ponder.Store
	id    ponder.ThreadID

	view    session.View
	seen    ponder.Seq // the newest event in view
	heard   time.Time  // when that came
	class   llm.Class  // of the last call that failed
	refused bool       // that call was not made, for the budget did not allow it
	writing atomic.Int64
	state   string // "pausing", if a user wants that

	internal bool // show internal events too
}

// viewing returns the viewing of a thread that nothing is known of yet.
func (a *app) viewing(store ponder.Store, id ponder.ThreadID) *viewing {
	return &viewing{app: a, store: store, id: id, view: session.NewView(), heard: time.Now()}
}

// load reads what is there, and shows nothing.
func (w *viewing) load(ctx context.Context) error {
	return w.drain(ctx, silence{})
}

// loadTo reads up to a place, and shows nothing.
func (w *viewing) loadTo(ctx context.Context, last ponder.Seq) error {
	for ev, err := range w.store.Events(ctx, w.id, w.seen) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.id, err)
		}
		if ev.Seq > last {
			return nil
		}
		w.apply(ev, silence{})
	}
	return nil
}

// drain reads up to the head.
func (w *viewing) drain(ctx context.Context, s show) error {
	for ev, err := range w.store.Events(ctx, w.id, w.seen) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.id, err)
		}
		w.apply(ev, s)
	}
	return nil
}

func (w *viewing) apply(ev ponder.Event, s show) {
	w.view, w.seen, w.heard = w.view.Apply(ev), ev.Seq, time.Now()
	if call, ok := ev.Body.(ponder.CallFinished); ok {
		w.writing.Store(0)
		if call.Error != "" {
			w.class, w.refused = call.Class, call.Refused
		}
	}
	s.event(ev, w.view)
}

// onDelta counts what models write.
func (w *viewing) onDelta(d ponder.Delta) {
	if d.Done == nil {
		w.writing.Add(int64(len(d.Text) + len(d.Reasoning)))
	}
}

// work thinks, and shows it, until there is nothing left to do: the session has
// ended, or is paused. Ctrl-C pauses it.
func (w *viewing) work(ctx context.Context, t *thinker) error {
	wishes := make(chan ponder.Body, 4)
	wish := func(b ponder.Body) {
		select {
		case wishes <- b:
		default: // as many are waiting already
		}
	}
	defer w.brake.toRest(func() { wish(ponder.RunPaused{Reason: "paused by the user"}) })()
	s := w.show(func(key string) {
		if key == "a" {
			wish(ponder.Steer{Do: ponder.AnswerNow})
		}
	})
	defer s.close()
	worked := make(chan error, 1)
	go func() { worked <- t.work(ctx, w.id) }()
	err := w.follow(ctx, s, worked, wishes)
	// What was written is shown, even if the command is being stopped.
	return errors.Join(err, w.drain(context.WithoutCancel(ctx), s))
}

// watch shows what another process thinks, until the session has ended, or no one
// holds it.
func (w *viewing) watch(ctx context.Context) error {
	s := w.show(nil)
	err := w.follow(ctx, s, nil, nil)
	s.close()
	if ctx.Err() != nil {
		w.note("left to itself; to look on again: %s", w.command("session watch", w.id))
	}
	return err
}

// tickEvery is how often a view is drawn anew, and heldEvery how often is asked
// whether the session is still held.
const (
	tickEvery = 200 * time.Millisecond
	heldEvery = time.Second
)

// follow shows events as they come until worked is sent to, or, if it is nil, the
// session is at rest.
func (w *viewing) follow(ctx context.Context, s show, worked <-chan error, wishes <-chan ponder.Body) error {
	fctx, stop := context.WithCancel(ctx)
	defer stop()
	events, lost := w.pump(fctx)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	asked := time.Now()
	for {
		s.tick(w.now(), w.stateNow())
		select {
		case ev := <-events:
			w.apply(ev, s)
			continue
		case err := <-worked:
			return err
		case err := <-lost:
			if worked == nil {
				return err
			}
			lost = nil // the worker will find out what is wrong
		case body := <-wishes:
			w.tell(ctx, body)
		case <-tick.C:
		}
		if worked == nil && (w.view.Session.Status.Ended() || time.Since(asked) > heldEvery) {
			asked = time.Now()
			if rest, err := w.atRest(ctx); rest || err != nil {
				return errors.Join(err, w.drain(ctx, s))
			}
		}
	}
}

// pump sends the events after the last seen as they come, or the error that ends
// them.
func (w *viewing) pump(ctx context.Context) (<-chan ponder.Event, <-chan error) {
	events, lost := make(chan ponder.Event), make(chan error, 1)
	after := w.seen
	go func() {
		for ev, err := range ponder.Follow(ctx, w.store, w.id, after) {
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

// tell appends a wish of the user.
func (w *viewing) tell(ctx context.Context, body ponder.Body) {
	switch body.(type) {
	case ponder.RunPaused:
		w.state = "pausing"
	case ponder.Steer:
		w.state = "concluding"
	}
	if _, err := w.store.Append(ctx, w.id, 0, ponder.Event{Run: w.view.Session.Run, Body: body}); err != nil {
		w.say("%s", oneLine(err.Error()))
	}
}

// atRest reports whether no one works on the session.
func (w *viewing) atRest(ctx context.Context) (bool, error) {
	info, err := w.store.Thread(ctx, w.id)
	if err != nil {
		return false, err
	}
	return info.Status.Ended() || !info.Held, nil
}

// now returns the view as it is at this moment.
func (w *viewing) now() session.View { return w.view.At(time.Since(w.heard)) }

func (w *viewing) stateNow() string {
	switch {
	case w.state != "":
		return w.state
	case w.view.CutShort, w.view.Session.Budget.Seconds > 0 && w.now().Session.Progress.Elapsed > w.view.Session.Budget.Seconds:
		return "concluding"
	}
	return string(w.view.Session.Status)
}
