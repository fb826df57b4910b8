package web

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// cleanupHosts triggers a cleanup.
const cleanupHosts = 1000

type hosts struct {
	maxConcurrent int

	mu     sync.Mutex
	byName map[string]*host
}

type host struct {
	turns chan struct{} // a token per exchange
	next  time.Time     // earliest next start
	users int           // waiting or active
}

func newHosts(atOnce int) *hosts {
	return &hosts{maxConcurrent: max(atOnce, 1), byName: map[string]*host{}}
}

// acquireTurn waits for a turn; call leave after it. The next turn starts at least delay
// later. A wait beyond patience is ErrBusy, at once if foreseeable.
func (hs *hosts) acquireTurn(ctx context.Context, name string, delay, patience time.Duration) (leave func(), err error) {
	h := hs.addUser(name)
	began := time.Now()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case h.turns <- struct{}{}:
	case <-ctx.Done():
		hs.removeUser(h)
		return nil, ctx.Err()
	case <-late.C:
		hs.removeUser(h)
		return nil, fmt.Errorf("%w: no request slot for %s within %v", ErrBusy, name, patience.Round(time.Second))
	}
	leave = func() { <-h.turns; hs.removeUser(h) }
	if err := hs.waitStart(ctx, h, delay, max(patience-time.Since(began), 0)); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

func (hs *hosts) waitStart(ctx context.Context, h *host, delay, patience time.Duration) error {
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
		return fmt.Errorf("%w; try again in %v", ErrBusy, wait.Round(time.Second))
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

// delayHost blocks a host for a while. The caller must hold a turn.
func (hs *hosts) delayHost(name string, d time.Duration) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h, until := hs.byName[name], time.Now().Add(d); h != nil && h.next.Before(until) {
		h.next = until
	}
}

func (hs *hosts) addUser(name string) *host {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.byName[name]
	if h == nil {
		hs.dropIdle()
		h = &host{turns: make(chan struct{}, hs.maxConcurrent)}
		hs.byName[name] = h
	}
	h.users++
	return h
}

func (hs *hosts) removeUser(h *host) {
	hs.mu.Lock()
	h.users--
	hs.mu.Unlock()
}

// dropIdle forgets idle hosts.
func (hs *hosts) dropIdle() {
	if len(hs.byName) < cleanupHosts {
		return
	}
	now := time.Now()
	for name, h := range hs.byName {
		if h.users == 0 && h.next.Before(now) {
			delete(hs.byName, name)
		}
	}
}
