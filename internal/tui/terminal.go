package tui

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// A terminal is the state of the one that is used, and what it was before. Its
// methods are safe for concurrent use.
type terminal struct {
	out io.Writer
	in  *os.File // nil if there are no keys

	mu     sync.Mutex
	before *term.State // nil if nothing was changed
	raw    *term.State // what it was changed to
}

// take makes the terminal send keys as they are typed, if it can.
func (t *terminal) take() {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := hideCursor
	if t.in != nil {
		state, err := term.MakeRaw(int(t.in.Fd()))
		switch {
		case err != nil:
			t.in = nil
		case t.before == nil: // else it was taken by another meanwhile
			t.before = state
		}
		if t.in != nil {
			t.raw, _ = term.GetState(int(t.in.Fd()))
			text += pasteOn
		}
	}
	_, _ = io.WriteString(t.out, text)
}

// taken reports whether the terminal is as take has left it: nobody else has had
// it since.
func (t *terminal) taken() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in == nil || t.before == nil || t.raw == nil {
		return false
	}
	now, err := term.GetState(int(t.in.Fd()))
	return err == nil && *now == *t.raw
}

// keys reports whether the terminal sends keys.
func (t *terminal) keys() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.in != nil
}

// giveBack makes the terminal what it was before. Doing so twice does no harm.
func (t *terminal) giveBack() {
	text := showCursor
	if t.restore() {
		text = pasteOff + text
	}
	_, _ = io.WriteString(t.out, text)
}

// restore is giveBack without a word to a terminal that does not listen. It
// reports whether there was anything to restore.
func (t *terminal) restore() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.before == nil {
		return false
	}
	_ = term.Restore(int(t.in.Fd()), t.before)
	t.before = nil
	return true
}
