package stream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ponder"
)

// Limits of pages, which watchers behind the hub's window read from the store.
const (
	pageSize  = 200              // events
	pageBytes = 256 << 10        // ends a page
	pageLife  = time.Second      // how long other watchers may share it
	maxPages  = 64               // shared at a time
	pageTime  = 30 * time.Second // time limit for reading
)

// pages holds pages that are being read, or were read in the last second, so that many
// watchers that start together read the log once. It holds them no longer, because erased
// content must not return.
type pages struct {
	mu   sync.Mutex
	list map[pageKey]*page
}

// A pageKey identifies a page. It has the feed, because another feed may be of a new thread
// with the same id.
type pageKey struct {
	feed  *feed
	after ponder.Seq
}

// A page is a list of events. The channel read is closed when frames and err are set.
type page struct {
	read   chan struct{}
	frames []Frame
	err    error
}

// sharedPage returns the next events after a cursor. Its frames are shared.
func (h *Hub) sharedPage(ctx context.Context, f *feed, thread ponder.ThreadID, after ponder.Seq) ([]Frame, error) {
	key := pageKey{f, after}
	h.pages.mu.Lock()
	p := h.pages.list[key]
	if p == nil && len(h.pages.list) >= maxPages {
		h.pages.mu.Unlock()
		return h.readPage(ctx, thread, after)
	}
	if p != nil {
		h.pages.mu.Unlock()
		select {
		case <-p.read:
			return p.frames, p.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p = &page{read: make(chan struct{})}
	if h.pages.list == nil {
		h.pages.list = make(map[pageKey]*page)
	}
	h.pages.list[key] = p
	h.pages.mu.Unlock()
	defer func() {
		close(p.read)
		if len(p.frames) == 0 { // an empty page is stale soon
			h.pages.dropPage(key)
			return
		}
		time.AfterFunc(pageLife, func() { h.pages.dropPage(key) })
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTime) // other watchers wait for it
	defer cancel()
	p.frames, p.err = h.readPage(ctx, thread, after)
	return p.frames, p.err
}

func (p *pages) dropPage(key pageKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.list, key)
}

func (h *Hub) readPage(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) (frames []Frame, err error) {
	size := 0
	for ev, err := range h.log.Events(ctx, thread, after) {
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", thread, err)
		}
		frame, err := FrameOf(ev)
		if err != nil {
			return nil, err
		}
		frames, size = append(frames, frame), size+len(frame.JSON)
		if len(frames) == pageSize || size >= pageBytes {
			break
		}
	}
	return frames, nil
}
