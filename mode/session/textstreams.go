package session

import (
	"strings"
	"sync"

	"ponder"
	"ponder/llm"
)

// TextStreams extracts displayable texts from the streams of many sessions. The zero value is ready.
// It is safe for concurrent use.
type TextStreams struct {
	mu   sync.Mutex
	list map[streamKey]*attempt // newest attempt of each
}

type streamKey struct {
	thread ponder.ThreadID
	run    ponder.RunID
	key    string
}

type attempt struct {
	cause string
	TextStream
}

// maxStreams is the maximum number of tracked streams. Streams that broke off stay until then.
const maxStreams = 1024

// IsShown reports whether the action key, or its attempt, writes text for the user.
func IsShown(key string) bool {
	return strings.HasPrefix(key, synthesis+"-") || key == final || strings.HasPrefix(key, final) && strings.ContainsAny(key[len(final):][:1], "-~#")
}

// Extract returns the displayable part of a delta, if any. Each attempt has its own key and starts
// over.
func (w *TextStreams) Extract(d ponder.Delta) (shown ponder.Delta, ok bool) {
	if !IsShown(d.Key) || d.Run.Parent() != "" {
		return shown, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	by := streamKey{d.Thread, d.Run, d.Key}
	one := w.list[by]
	switch {
	case d.Done != nil:
		if delete(w.list, by); one == nil || one.cause != d.Cause {
			return shown, false
		}
		return one.show(d, one.Close())
	case d.Text == "":
		return shown, false
	case w.list == nil:
		w.list = make(map[streamKey]*attempt)
	}
	if one == nil || one.cause != d.Cause {
		for other := range w.list {
			if len(w.list) < maxStreams {
				break
			}
			delete(w.list, other)
		}
		one = &attempt{cause: d.Cause, TextStream: TextStream{free: strings.HasPrefix(d.Key, final)}}
		w.list[by] = one
	}
	return one.show(d, one.Add(d.Text))
}

// show returns the displayable text of a delta as a delta, if there is any.
func (a *attempt) show(d ponder.Delta, text string) (shown ponder.Delta, ok bool) {
	return ponder.Delta{Thread: d.Thread, Run: d.Run, Key: d.Cause, Cause: d.Cause, Began: d.Began, Attempt: d.Attempt, Delta: llm.Delta{Text: text}}, text != ""
}
