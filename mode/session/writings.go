package session

import (
	"strings"
	"sync"

	"ponder"
)

// Writings make of what models write on sessions what users may see of it at once: the
// text of syntheses and of the answer. The zero value has heard nothing. They are safe for
// concurrent use.
type Writings struct {
	mu   sync.Mutex
	list map[writer]*attempt
}

// A writer is an action that writes.
type writer struct {
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

// Hear takes in a piece of what a model writes, and returns what of it users may see, if
// there is anything. Its key is the cause of the attempt, for each begins anew.
func (w *Writings) Hear(d ponder.Delta) (shown ponder.Delta, ok bool) {
	if !IsShown(d.Key) || d.Run.Parent() != "" {
		return shown, false
	}
	text := w.add(d)
	if text == "" {
		return shown, false
	}
	shown = ponder.Delta{Thread: d.Thread, Run: d.Run, Key: d.Cause, Cause: d.Cause}
	shown.Text = text
	return shown, true
}

func (w *Writings) add(d ponder.Delta) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	who := writer{d.Thread, d.Run, d.Key}
	if d.Done != nil {
		delete(w.list, who)
		return ""
	}
	if d.Text == "" {
		return ""
	}
	one := w.list[who]
	if one == nil || one.cause != d.Cause {
		if w.list == nil {
			w.list = make(map[writer]*attempt)
		}
		for other := range w.list {
			if len(w.list) < maxWritings {
				break
			}
			delete(w.list, other)
		}
		one = &attempt{cause: d.Cause}
		w.list[who] = one
	}
	return one.Add(d.Text)
}
