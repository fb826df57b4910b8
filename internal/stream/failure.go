package stream

import (
	"errors"
	"fmt"

	"ponder"
)

// ReportError tells the watchers of a thread that the work on it ended because writes fail.
// Until there is space, the thread does not grow. Each watcher gets the error once, from
// [Watcher.Next], after the existing events, and may continue to watch. Trouble never
// blocks.
func (h *Hub) ReportError(thread ponder.ThreadID, err error) {
	if !IsWriteError(err) && !errors.Is(err, ponder.ErrQuarantined) {
		return
	}
	if h.whole != nil {
		h.whole.ReportError(thread, err)
	}
	h.mu.Lock()
	f := h.feeds[thread]
	h.mu.Unlock()
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writeErr = fmt.Errorf("watch %s: %w", thread, err)
	f.writeErrs++
	f.wakeWatchers()
}

// IsWriteError reports whether err says that writes fail.
func IsWriteError(err error) bool {
	return errors.Is(err, ponder.ErrFull) || errors.Is(err, ponder.ErrReadOnly) || errors.Is(err, ponder.ErrDamaged)
}

// nextWriteError returns an error that the watcher has not returned yet, or nil. The caller holds
// f.mu.
func (w *Watcher) nextWriteError() error {
	if w.seenErrs == w.feed.writeErrs {
		return nil
	}
	w.seenErrs = w.feed.writeErrs
	return w.feed.writeErr
}
