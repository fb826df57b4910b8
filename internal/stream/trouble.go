package stream

import (
	"errors"
	"fmt"

	"ponder"
)

// Trouble tells all who watch a thread how work on it has ended, if that is because nothing
// can be written: what they wait for does not come until there is room again. Each gets the
// error once, from [Watcher.Next], behind the events that are there, and may go on watching.
// It never waits.
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

// IsTrouble reports whether an error says that nothing can be written.
func IsTrouble(err error) bool {
	return errors.Is(err, ponder.ErrFull) || errors.Is(err, ponder.ErrReadOnly) || errors.Is(err, ponder.ErrDamaged)
}

// troubled returns the trouble that the watcher has not been told of, if there is any. The
// caller holds f.mu.
func (w *Watcher) troubled() error {
	if w.troubles == w.feed.troubles {
		return nil
	}
	w.troubles = w.feed.troubles
	return w.feed.trouble
}
