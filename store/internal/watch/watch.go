// Package watch hands hints that a thread has grown to those who watch it.
package watch

import (
	"sync"

	"ponder"
)

// A Hub knows who watches which thread. The zero Hub is ready to use. It is
// safe for concurrent use, starts no goroutines and never waits for a watcher.
type Hub struct {
	mu      sync.Mutex
	threads map[ponder.ThreadID]map[chan ponder.Seq]bool
}

// Watch implements the method of [ponder.Log].
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
	return ch, func() { h.stop(thread, ch) }
}

func (h *Hub) stop(thread ponder.ThreadID, ch chan ponder.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.threads[thread], ch)
	if len(h.threads[thread]) == 0 {
		delete(h.threads, thread)
	}
}

// Hint tells those who watch a thread that its newest event is head. A hint
// that was not taken yet is replaced.
func (h *Hub) Hint(thread ponder.ThreadID, head ponder.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.threads[thread] {
		select {
		case old := <-ch:
			ch <- newer(old, head)
		default:
			ch <- head
		}
	}
}

// newer returns the hint to keep. A zero says that the thread is gone.
func newer(old, head ponder.Seq) ponder.Seq {
	if head == 0 {
		return 0
	}
	return max(old, head)
}

// Watched returns the number of threads that somebody watches.
func (h *Hub) Watched() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.threads)
}

// Watches reports whether somebody watches a thread.
func (h *Hub) Watches(thread ponder.ThreadID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.threads[thread]) > 0
}
