package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"ponder"
)

// A Watcher sees a thread from a place on. It is for one goroutine.
type Watcher struct {
	hub    *Hub
	feed   *feed
	thread ponder.ThreadID
	seen   ponder.Seq
	piece  int
	hears  bool // pieces
	group  *group

	troubles int // that it was told of

	few  [8]Frame     // room for what Next returns
	done atomic.Int64 // what was seen when Next was called last
}

// Seen returns the cursor: the number of the newest event that Next has returned.
func (w *Watcher) Seen() ponder.Seq { return w.seen }

// Next waits for what comes behind the cursor, and returns it: events in their order
// without a gap, or pieces of what is written at the moment. They are there until it is
// called again, and must not be changed. It returns the error of ctx, or of the store.
func (w *Watcher) Next(ctx context.Context) ([]Frame, error) { return w.NextBy(ctx, nil) }

// NextBy is [Watcher.Next] that returns [ErrQuiet] when beat comes before anything else.
func (w *Watcher) NextBy(ctx context.Context, beat <-chan time.Time) ([]Frame, error) {
	w.done.Store(int64(w.seen))
	for {
		frames, behind, changed, err := w.take()
		switch {
		case len(frames) > 0:
			return frames, nil
		case err != nil:
			return nil, err
		case behind:
			if frames, err = w.hub.page(ctx, w.feed, w.thread, w.seen); err != nil {
				return nil, err
			}
			if len(frames) > 0 {
				w.seen = frames[len(frames)-1].Seq
				return frames, nil
			}
		}
		select {
		case <-changed:
		case <-beat:
			return nil, ErrQuiet
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ErrQuiet says that nothing has come for a while.
var ErrQuiet = errors.New("nothing has come")

// take returns what the hub has for the watcher, or that the hub does not keep what
// comes next; and what is closed when more comes.
func (w *Watcher) take() (frames []Frame, behind bool, changed <-chan struct{}, err error) {
	f := w.feed
	f.mu.RLock()
	defer f.mu.RUnlock()
	if w.seen < f.from {
		return nil, true, w.group.changed, f.err
	}
	i, _ := slices.BinarySearchFunc(f.kept, w.seen+1, func(fr Frame, seq ponder.Seq) int { return int(fr.Seq - seq) })
	events := f.kept[i:]
	if len(events) > 0 {
		w.seen = events[len(events)-1].Seq
	}
	if !w.hears {
		w.piece = f.piece
	}
	frames = w.few[:0]
	for w.piece = max(w.piece, f.piece-maxDeltas); w.piece < f.piece; w.piece++ { // before the event that says what it all came to
		p := f.pieces[w.piece%maxDeltas]
		if p.after > f.head { // the event that began its call is about to come
			break
		}
		for len(events) > 0 && events[0].Seq <= p.after {
			frames, events = append(frames, events[0]), events[1:]
		}
		frames = append(frames, p)
	}
	if frames = append(frames, events...); len(frames) > 0 || f.err != nil {
		return frames, false, w.group.changed, f.err
	}
	return nil, false, w.group.changed, w.troubled()
}

// Thread returns what is known of the thread, as it was at the newest event that the hub has
// read, or later. Many who ask at the same time ask the store once.
func (w *Watcher) Thread(ctx context.Context) (ponder.Info, error) {
	f := w.feed
	f.mu.RLock()
	head := f.head
	f.mu.RUnlock()
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
	case <-ctx.Done():
		return ponder.Info{}, ctx.Err()
	}
	if f.info.ID == w.thread && f.info.Head >= max(head, w.seen) {
		return f.info, nil
	}
	info, err := w.hub.log.Thread(ctx, w.thread)
	if err != nil {
		return info, fmt.Errorf("watch %s: %w", w.thread, err)
	}
	f.info = info
	return info, nil
}

// Close ends the watching.
func (w *Watcher) Close() { w.hub.leave(w) }
