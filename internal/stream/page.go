package stream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ponder"
)

// Bounds of pages: what watchers read from the store that are behind what is kept.
const (
	pageSize  = 200              // events
	pageBytes = 256 << 10        // of them, after which no more are read
	pageLife  = time.Second      // for which others who want it take it over
	maxPages  = 64               // that are taken over at a time
	pageTime  = 30 * time.Second // for reading one
)

// Pages are pages that are being read, or were read a moment ago, so that many who begin to
// watch at the same time read the log once. They are not kept: what was erased must not
// come back.
type pages struct {
	mu   sync.Mutex
	list map[pageKey]*page
}

// A pageKey says which events a page has. That of another feed may be of another thread of
// the same name.
type pageKey struct {
	feed  *feed
	after ponder.Seq
}

// A page is events of a thread, in order. Its frames and err are there when read is closed.
type page struct {
	read   chan struct{}
	frames []Frame
	err    error
}

// page returns the next events behind a cursor. Its frames are shared.
func (h *Hub) page(ctx context.Context, f *feed, thread ponder.ThreadID, after ponder.Seq) ([]Frame, error) {
	key := pageKey{f, after}
	h.pages.mu.Lock()
	p := h.pages.list[key]
	if p == nil && len(h.pages.list) >= maxPages {
		h.pages.mu.Unlock()
		return h.load(ctx, thread, after)
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
		if len(p.frames) == 0 { // there may be some in a moment
			h.pages.drop(key)
			return
		}
		time.AfterFunc(pageLife, func() { h.pages.drop(key) })
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTime) // others wait for it
	defer cancel()
	p.frames, p.err = h.load(ctx, thread, after)
	return p.frames, p.err
}

func (p *pages) drop(key pageKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.list, key)
}

// load reads a page from the store.
func (h *Hub) load(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) (frames []Frame, err error) {
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
