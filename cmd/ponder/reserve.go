package main

import "ponder"

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
