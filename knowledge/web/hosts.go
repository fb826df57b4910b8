package web

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// manyHosts is how many hosts are remembered before those are forgotten that
// nobody asks any more.
const manyHosts = 1000

// hosts gives out turns, so that no host has more to do than it can bear.
type hosts struct {
	atOnce int

	mu sync.Mutex
	by map[string]*host
}

// A host is one that is asked, or was lately.
type host struct {
	turns chan struct{} // a token for each exchange under way
	next  time.Time     // when the next may begin
	users int           // who wait or are asking
}

func newHosts(atOnce int) *hosts { return &hosts{atOnce: max(atOnce, 1), by: map[string]*host{}} }

// enter waits for a turn at a host, and returns what ends it. The one after it
// begins no sooner than delay later. If it comes to a wait longer than patience,
// it is ErrBusy, at once if that is clear from the beginning.
func (hs *hosts) enter(ctx context.Context, name string, delay, patience time.Duration) (leave func(), err error) {
	h := hs.use(name)
	began := time.Now()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case h.turns <- struct{}{}:
	case <-ctx.Done():
		hs.unuse(h)
		return nil, ctx.Err()
	case <-late.C:
		hs.unuse(h)
		return nil, fmt.Errorf("%w: no turn at %s for %v", ErrBusy, name, patience.Round(time.Second))
	}
	leave = func() { <-h.turns; hs.unuse(h) }
	if err := hs.start(ctx, h, delay, max(patience-time.Since(began), 0)); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// start waits until the next exchange with a host may begin.
func (hs *hosts) start(ctx context.Context, h *host, delay, patience time.Duration) error {
	hs.mu.Lock()
	now := time.Now()
	begin := h.next
	if begin.Before(now) {
		begin = now
	}
	wait := begin.Sub(now)
	if wait <= patience {
		h.next = begin.Add(delay)
	}
	hs.mu.Unlock()
	switch {
	case wait > patience:
		return fmt.Errorf("%w: for another %v", ErrBusy, wait.Round(time.Second))
	case wait == 0:
		return ctx.Err()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rest lets a host alone for a while. Only who is in the host may call it.
func (hs *hosts) rest(name string, d time.Duration) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h, until := hs.by[name], time.Now().Add(d); h != nil && h.next.Before(until) {
		h.next = until
	}
}

func (hs *hosts) use(name string) *host {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.by[name]
	if h == nil {
		hs.tidy()
		h = &host{turns: make(chan struct{}, hs.atOnce)}
		hs.by[name] = h
	}
	h.users++
	return h
}

func (hs *hosts) unuse(h *host) {
	hs.mu.Lock()
	h.users--
	hs.mu.Unlock()
}

// tidy forgets hosts that may be asked at any time.
func (hs *hosts) tidy() {
	if len(hs.by) < manyHosts {
		return
	}
	now := time.Now()
	for name, h := range hs.by {
		if h.users == 0 && h.next.Before(now) {
			delete(hs.by, name)
		}
	}
}
