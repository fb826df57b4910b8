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

// A Watcher reads a thread after a cursor. It is for one goroutine.
type Watcher struct {
	hub         *Hub
	feed        *feed
	thread      ponder.ThreadID
	seen        ponder.Seq
	piece       int
	wantsPieces bool // wants pieces
	group       *group

	seenErrs int // number of returned troubles

	buffer [8]Frame     // a buffer for Next
	done   atomic.Int64 // the cursor at the last call of Next
}

// Seen returns the cursor: the seq of the newest returned event.
func (w *Watcher) Seen() ponder.Seq { return w.seen }

// Next blocks until there are frames after the cursor, and returns them: events in order
// without a gap, and pieces. The frames are valid until the next call and must not be
// changed. It returns the error of ctx, or of the store.
func (w *Watcher) Next(ctx context.Context) ([]Frame, error) { return w.NextUntil(ctx, nil) }

// NextUntil is [Watcher.Next], but returns [ErrQuiet] when beat fires first.
func (w *Watcher) NextUntil(ctx context.Context, beat <-chan time.Time) ([]Frame, error) {
	w.done.Store(int64(w.seen))
	for {
		frames, behind, changed, err := w.takeFrames()
		switch {
		case len(frames) > 0:
			return frames, nil
		case err != nil:
			return nil, err
		case behind:
			if frames, err = w.hub.sharedPage(ctx, w.feed, w.thread, w.seen); err != nil {
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

// ErrQuiet says that nothing was new for a while.
var ErrQuiet = errors.New("no new frames")

// takeFrames returns the frames of the hub for the watcher. If behind is set, the hub has dropped
// the next ones. The channel is closed when more is new.
func (w *Watcher) takeFrames() (frames []Frame, behind bool, changed <-chan struct{}, err error) {
	f := w.feed
	f.mu.RLock()
	defer f.mu.RUnlock()
	if w.seen < f.from {
		return nil, true, w.group.changed, f.err
	}
	i, _ := slices.BinarySearchFunc(f.window, w.seen+1, func(fr Frame, seq ponder.Seq) int { return int(fr.Seq - seq) })
	events := f.window[i:]
	if len(events) > 0 {
		w.seen = events[len(events)-1].Seq
	}
	if !w.wantsPieces {
		w.piece = f.piece
	}
	frames = w.buffer[:0]
	for w.piece = max(w.piece, f.piece-maxDeltas); w.piece < f.piece; w.piece++ { // pieces precede the event with their result
		p := f.pieces[w.piece%maxDeltas]
		if p.after > f.head { // its call's start is not read yet
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
	return nil, false, w.group.changed, w.nextWriteError()
}

// Thread returns the info of the thread at the newest event that the hub has read, or
// later. Concurrent callers share a query.
func (w *Watcher) Thread(ctx context.Context) (ponder.Info, error) {
	f := w.feed
	f.mu.RLock()
	head := f.head
	f.mu.RUnlock()
	select {
	case f.infoLock <- struct{}{}:
		defer func() { <-f.infoLock }()
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

// Close ends the watcher.
func (w *Watcher) Close() { w.hub.removeWatcher(w) }
