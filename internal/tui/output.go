package tui

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"sync"
)

// An output is the terminal of a bubbletea program. Bubbletea always shows its cursor, so that
// its place is known; the output hides it. Rows that are printed are held until the next
// frame, so that a terminal shows both at once.
type output struct {
	*os.File // nil in tests
	to       io.Writer
	keys     bool          // pasted text may come between marks
	ready    chan struct{} // closed when the first frame was drawn

	mu             sync.Mutex
	drawn          bool
	held           []byte // rows that are printed, written with the next frame
	hidden, hiding bool   // the cursor is hidden, and is to be
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	pasteOn    = "\x1b[?2004h"
	beginFrame = "\x1b[?2026h"

	// Questions. An answer that comes after the program has ended would be typed into the shell.
	askFrames  = "\x1b[?2026$p"
	askLetters = "\x1b[?2027$p"
	askKeys    = "\x1b[?u"
)

func newOutput(file *os.File, to io.Writer, keys bool) *output {
	return &output{File: file, to: to, keys: keys, ready: make(chan struct{})}
}

// Write takes the bytes of a frame, or of rows that are printed.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, first := len(b), bytes.Contains(b, []byte(pasteOn))
	for _, sequence := range []string{hideCursor, showCursor, askFrames, askLetters, askKeys} {
		b = bytes.ReplaceAll(b, []byte(sequence), nil)
	}
	if !o.keys {
		b = bytes.ReplaceAll(b, []byte(pasteOn), nil)
	}
	frame := bytes.HasPrefix(b, []byte(beginFrame))
	if o.drawn && !frame {
		o.held = append(o.held, b...)
		return n, nil
	}
	if frame {
		o.held = append([]byte(beginFrame), o.held...)
		b = b[len(beginFrame):]
	}
	if err := o.flush(b); err != nil {
		return 0, err
	}
	if first && !o.drawn {
		o.drawn = true
		close(o.ready)
	}
	return n, nil
}

// WriteString is Write, instead of the method of the file.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// flush writes the held bytes and more. It is called with mu held.
func (o *output) flush(b []byte) error {
	all := append(o.held, b...)
	if o.hiding != o.hidden {
		o.hidden = o.hiding
		all = append(all, map[bool]string{true: hideCursor, false: showCursor}[o.hidden]...)
	}
	o.held = nil
	if len(all) == 0 {
		return nil
	}
	_, err := o.to.Write(all)
	return err
}

// moveUp moves the cursor before the next frame.
func (o *output) moveUp(lines int) {
	if lines > 0 {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.held = append(o.held, "\x1b["+strconv.Itoa(lines)+"A"...)
	}
}

func (o *output) hide(hiding bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hiding = hiding
}

// release writes the held rows without a frame.
func (o *output) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.flush(nil)
}

// show shows the cursor at the end.
func (o *output) show() {
	o.hide(false)
	o.release()
}
