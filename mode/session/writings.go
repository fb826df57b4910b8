package session

import (
	"strings"
	"sync"

	"ponder"
)

// Writings extract from what models write on sessions what users may see at once: the text of
// syntheses and of the answer. The zero value is ready. They are safe for concurrent use.
type Writings struct {
	mu   sync.Mutex
	list map[action]*attempt // the newest of each
}

// An action writes.
type action struct {
	thread ponder.ThreadID
	run    ponder.RunID
	key    string
}

// An attempt at an action.
type attempt struct {
	cause string
	Writing
}

// maxWritings is how many are followed at once; a call that broke off is followed until
// there are so many.
const maxWritings = 1024

// IsShown reports whether what is written for an action of a session, or in an attempt at
// it, is for the user.
func IsShown(key string) bool {
	return strings.HasPrefix(key, synthesis+"-") || key == final || strings.HasPrefix(key, final) && strings.ContainsAny(key[len(final):][:1], "-~#")
}

// Hear takes a delta, and returns what users may see of it, if there is anything. Its key is
// the cause of the attempt, for each begins anew.
func (w *Writings) Hear(d ponder.Delta) (shown ponder.Delta, ok bool) {
	if !IsShown(d.Key) || d.Run.Parent() != "" {
		return shown, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	by := action{d.Thread, d.Run, d.Key}
	one := w.list[by]
	switch {
	case d.Done != nil:
		delete(w.list, by)
		return shown, false
	case d.Text == "":
		return shown, false
	case w.list == nil:
		w.list = make(map[action]*attempt)
	}
	if one == nil || one.cause != d.Cause {
		for other := range w.list {
			if len(w.list) < maxWritings {
				break
			}
			delete(w.list, other)
		}
		one = &attempt{cause: d.Cause}
		w.list[by] = one
	}
	shown = ponder.Delta{Thread: d.Thread, Run: d.Run, Key: d.Cause, Cause: d.Cause, Began: d.Began, Attempt: d.Attempt}
	shown.Text = one.Add(d.Text)
	return shown, shown.Text != ""
}
