package stream

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"ponder"
)

// A Watcher sees a thread from a place on. It is for one goroutine.
type Watcher struct {
	hub    *Hub
	feed   *feed
	thread ponder.ThreadID
	seen   ponder.Seq
	piece  int
	lost   int
	done   atomic.Int64 // what was seen when Next was called last
}

// Seen returns the cursor: the number of the newest event that Next has returned.
func (w *Watcher) Seen() ponder.Seq { return w.seen }

// Lost returns how many pieces were lost, because the watcher was too slow for them. Those
// that the last Next has returned came after them.
func (w *Watcher) Lost() int { return w.lost }

// Next waits for what comes behind the cursor, and returns it: events in their order
// without a gap, or pieces of what is written at the moment. It returns the error of
// ctx, or of the store.
func (w *Watcher) Next(ctx context.Context) ([]Frame, error) {
	w.done.Store(int64(w.seen))
	for {
		frames, behind, changed, err := w.take()
		switch {
		case len(frames) > 0:
			return frames, nil
		case err != nil:
			return nil, err
		case behind:
			if frames, err = w.read(ctx); err != nil || len(frames) > 0 {
				return frames, err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns what the hub has for the watcher, or that the hub does not keep what
// comes next; and what is closed when more comes.
func (w *Watcher) take() (frames []Frame, behind bool, changed <-chan struct{}, err error) {
	f := w.feed
	f.mu.RLock()
	defer f.mu.RUnlock()
	if w.seen < f.from {
		return nil, true, f.changed, f.err
	}
	i, _ := slices.BinarySearchFunc(f.kept, w.seen+1, func(fr Frame, seq ponder.Seq) int { return int(fr.Seq - seq) })
	if frames = slices.Clone(f.kept[i:]); len(frames) > 0 {
		w.seen = frames[len(frames)-1].Seq
	}
	gap := max(0, f.piece-maxDeltas-w.piece)
	w.lost += gap
	for w.piece += gap; w.piece < f.piece; w.piece++ {
		frames = append(frames, f.pieces[w.piece%maxDeltas])
	}
	return frames, false, f.changed, f.err
}

// read returns the next events from the store.
func (w *Watcher) read(ctx context.Context) (frames []Frame, err error) {
	for ev, err := range w.hub.log.Events(ctx, w.thread, w.seen) {
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", w.thread, err)
		}
		frame, err := FrameOf(ev)
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame)
		w.seen = ev.Seq
		if len(frames) == pageSize {
			break
		}
	}
	return frames, nil
}

// Close ends the watching.
func (w *Watcher) Close() { w.hub.leave(w) }
