package web

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// manyHosts triggers a cleanup.
const manyHosts = 1000

type hosts struct {
	atOnce int

	mu sync.Mutex
	by map[string]*host
}

type host struct {
	turns chan struct{} // a token per exchange
	next  time.Time     // earliest next start
	users int           // waiting or active
}

func newHosts(atOnce int) *hosts { return &hosts{atOnce: max(atOnce, 1), by: map[string]*host{}} }

// enter waits for a turn; call leave after it. The next turn starts at least delay
// later. A wait beyond patience is ErrBusy, at once if foreseeable.
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

// rest blocks a host for a while. The caller must hold a turn.
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

// tidy forgets idle hosts.
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
