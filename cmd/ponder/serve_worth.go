package main

import (
	"context"
	"sync"
	"time"

	"ponder/mode/session"
)

// Worths are what claims of sessions of the owners are worth. They are safe for
// concurrent use.
type worths struct {
	mu     sync.Mutex
	list   map[string]reckoned
	work   sync.WaitGroup
	ending chan struct{} // closed when nothing is to be found any more; nil before the first is
	closed bool
}

type reckoned struct {
	session.Calibration
	at   time.Time     // when it was found; zero before that
	took time.Duration // to find it
	next chan struct{} // closed when it is found anew; nil if nobody is at that
}

const (
	worthLife  = time.Minute            // how long they are kept at least until they are found anew
	worthShare = 20                     // how many times as long as it takes to find them
	worthWait  = 500 * time.Millisecond // how long a request waits for what is not known yet
)

// calibrated returns what claims of an owner are worth, as far as that is known: where
// there are many sessions, it takes a while.
func (s *server) calibrated(ctx context.Context, who string) session.Calibration {
	return s.worths.of(ctx, who, func(ctx context.Context) session.Calibration { return s.as(who).Calibration(ctx, s.store) })
}

// of returns what is known of an owner, and finds it anew beside that if it is old.
func (w *worths) of(ctx context.Context, who string, find func(context.Context) session.Calibration) session.Calibration {
	w.mu.Lock()
	one := w.list[who]
	old := one.at.IsZero() || time.Since(one.at) > max(worthLife, worthShare*one.took)
	if old && one.next == nil && !w.closed {
		one.next = make(chan struct{})
		w.list[who] = one
		if w.ending == nil {
			w.ending = make(chan struct{})
		}
		ending := w.ending
		w.work.Go(func() { w.find(context.WithoutCancel(ctx), ending, who, find) })
	}
	w.mu.Unlock()
	if !one.at.IsZero() || one.next == nil {
		return one.Calibration
	}
	late := time.NewTimer(worthWait)
	defer late.Stop()
	select {
	case <-one.next:
	case <-late.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list[who].Calibration
}

// find finds what claims of an owner are worth, unless all is closed before.
func (w *worths) find(ctx context.Context, ending <-chan struct{}, who string, find func(context.Context) session.Calibration) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w.work.Go(func() {
		defer stop()
		select {
		case <-ending:
		case <-ctx.Done():
		}
	})
	begun := time.Now()
	c := find(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.list[who]
	close(one.next)
	if one.next = nil; ctx.Err() == nil {
		one.Calibration, one.at, one.took = c, time.Now(), time.Since(begun)
	}
	w.list[who] = one
}

// close ends all that is being found.
func (w *worths) close() {
	w.mu.Lock()
	w.closed = true
	if w.ending != nil {
		close(w.ending)
		w.ending = nil
	}
	w.mu.Unlock()
	w.work.Wait()
}
