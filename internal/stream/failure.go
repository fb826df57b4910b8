package stream

import (
	"errors"
	"fmt"

	"ponder"
)

// Trouble tells the watchers of a thread that the work on it ended because writes fail.
// Until there is space, the thread does not grow. Each watcher gets the error once, from
// [Watcher.Next], after the existing events, and may continue to watch. Trouble never
// blocks.
func (h *Hub) Trouble(thread ponder.ThreadID, err error) {
	if !IsTrouble(err) {
		return
	}
	h.mu.Lock()
	f := h.feeds[thread]
	h.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = fmt.Errorf("watch %s: %w", thread, err)
	f.troubles++
	f.wake()
}

// IsTrouble reports whether err says that writes fail.
func IsTrouble(err error) bool {
	return errors.Is(err, ponder.ErrFull) || errors.Is(err, ponder.ErrReadOnly) || errors.Is(err, ponder.ErrDamaged)
}

// nextTrouble returns an error that the watcher has not returned yet, or nil. The caller holds
// f.mu.
func (w *Watcher) nextTrouble() error {
	if w.troubles == w.feed.troubles {
		return nil
	}
	w.troubles = w.feed.troubles
	return w.feed.trouble
}
