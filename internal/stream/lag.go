package stream

import "ponder"

// Watchers returns how many watch at the moment.
func (h *Hub) Watchers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers)
}

// Lag returns how many events the slowest watcher is behind the end of its thread: what
// has not come to it, and what it has not done with, which is when it calls Next again.
func (h *Hub) Lag() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	slowest := ponder.Seq(0)
	for w := range h.watchers {
		w.feed.mu.RLock()
		head := w.feed.head
		w.feed.mu.RUnlock()
		slowest = max(slowest, head-ponder.Seq(w.done.Load()))
	}
	return int(slowest)
}
