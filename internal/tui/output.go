package tui

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"sync"
)

// An output is the terminal of a bubbletea program. It hides bubbletea's cursor, and holds
// printed rows until the next frame to update the terminal once.
type output struct {
	*os.File
	dest  io.Writer
	keys  bool // bracketed paste is possible
	ready chan struct{}

	mu             sync.Mutex
	drawn          bool
	pending        []byte // printed rows for the next frame
	hidden, hiding bool
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	pasteOn    = "\x1b[?2004h"
	beginFrame = "\x1b[?2026h"

	// Queries. A late answer would reach the shell as input.
	askFrames  = "\x1b[?2026$p"
	askLetters = "\x1b[?2027$p"
	askKeys    = "\x1b[?u"
)

func newOutput(file *os.File, to io.Writer, keys bool) *output {
	return &output{File: file, dest: to, keys: keys, ready: make(chan struct{})}
}

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
		o.pending = append(o.pending, b...)
		return n, nil
	}
	if frame {
		o.pending = append([]byte(beginFrame), o.pending...)
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

func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// flush writes the held bytes and b. The caller holds mu.
func (o *output) flush(b []byte) error {
	all := append(o.pending, b...)
	if o.hiding != o.hidden {
		o.hidden = o.hiding
		all = append(all, map[bool]string{true: hideCursor, false: showCursor}[o.hidden]...)
	}
	o.pending = nil
	if len(all) == 0 {
		return nil
	}
	_, err := o.dest.Write(all)
	return err
}

func (o *output) moveUp(lines int) {
	if lines > 0 {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.pending = append(o.pending, "\x1b["+strconv.Itoa(lines)+"A"...)
	}
}

func (o *output) setCursorHidden(hiding bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hiding = hiding
}

func (o *output) releaseHeld() {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.flush(nil)
}

func (o *output) restoreCursor() {
	o.setCursorHidden(false)
	o.releaseHeld()
}
