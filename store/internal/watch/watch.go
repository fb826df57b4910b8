// Package watch sends hints of the growth of threads to watchers in the process.
package watch

import (
	"sync"

	"ponder"
)

// A Hub holds the watchers of threads. The zero Hub is ready. It is safe for concurrent
// use, starts no goroutines and never blocks on a watcher.
type Hub struct {
	mu      sync.Mutex
	threads map[ponder.ThreadID]map[chan ponder.Seq]bool
}

// Watch implements Watch of [ponder.Log].
func (h *Hub) Watch(thread ponder.ThreadID) (heads <-chan ponder.Seq, stop func()) {
	ch := make(chan ponder.Seq, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.threads == nil {
		h.threads = make(map[ponder.ThreadID]map[chan ponder.Seq]bool)
	}
	if h.threads[thread] == nil {
		h.threads[thread] = make(map[chan ponder.Seq]bool)
	}
	h.threads[thread][ch] = true
	return ch, func() { h.removeWatcher(thread, ch) }
}

func (h *Hub) removeWatcher(thread ponder.ThreadID, ch chan ponder.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.threads[thread], ch)
	if len(h.threads[thread]) == 0 {
		delete(h.threads, thread)
	}
}

// Hint tells the watchers of a thread that its newest event is head. It replaces a hint
// that a watcher has not received yet.
func (h *Hub) Hint(thread ponder.ThreadID, head ponder.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.threads[thread] {
		select {
		case old := <-ch:
			ch <- newerHint(old, head)
		default:
			ch <- head
		}
	}
}

// newerHint returns the hint to keep. Zero says that the thread was removed, and wins.
func newerHint(old, head ponder.Seq) ponder.Seq {
	if head == 0 {
		return 0
	}
	return max(old, head)
}

// Watched returns the number of threads with watchers.
func (h *Hub) Watched() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.threads)
}

// Watches reports whether a thread has watchers.
func (h *Hub) Watches(thread ponder.ThreadID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.threads[thread]) > 0
}
