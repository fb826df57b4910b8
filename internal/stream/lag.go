package stream

import "ponder"

// Watchers returns the number of watchers.
func (h *Hub) Watchers() int {
	n := 0
	if h.whole != nil {
		n = h.whole.Watchers()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return n + len(h.watchers)
}

// Lag returns how many events the slowest watcher is behind its thread. Events that a
// watcher has received but not processed count too: they end with its next call of Next.
func (h *Hub) Lag() int {
	slowest := ponder.Seq(0)
	if h.whole != nil {
		slowest = ponder.Seq(h.whole.Lag())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.feed.mu.RLock()
		head := w.feed.head
		w.feed.mu.RUnlock()
		slowest = max(slowest, head-ponder.Seq(w.done.Load()))
	}
	return int(slowest)
}
