package tui

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// A View is a terminal on which work is shown. Its methods are safe for
// concurrent use.
type View struct {
	out     *os.File
	plain   bool
	restore func()

	mu      sync.Mutex
	painter painter
	frame   Frame
	closed  bool
}

// Options say how a [View] uses its terminal.
type Options struct {
	Out   *os.File     // the terminal
	In    *os.File     // where keys come from; nil if they do not
	Keys  func(string) // is told of keys: "ctrl+c", "a"; must not call the view
	Plain bool         // no colours
}

// CanShow reports whether a file is a terminal that the process may draw on: it
// is not one if the process runs in the background.
func CanShow(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && foreground(f)
}

// Open shows an empty view until Close. Keys are not echoed meanwhile.
func Open(o Options) *View {
	v := &View{out: o.Out, plain: o.Plain, restore: func() {}, painter: painter{out: o.Out}}
	if o.In != nil && CanShow(o.In) {
		if state, err := term.MakeRaw(int(o.In.Fd())); err == nil {
			v.restore = func() { term.Restore(int(o.In.Fd()), state) }
			go listen(o.In, o.Keys)
		}
	}
	fmt.Fprint(o.Out, hideCursor)
	return v
}

// listen reports keys until there are no more. A process that ends while it
// listens loses at most one.
func listen(in *os.File, keys func(string)) {
	buf := make([]byte, 64)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		if name := keyName(buf[:n]); name != "" && keys != nil {
			keys(name)
		}
	}
}

// keyName names what was typed at once; "" for what has no name here, such as
// arrows.
func keyName(typed []byte) string {
	switch {
	case len(typed) == 0 || typed[0] == 0x1b:
		return ""
	case typed[0] == 0x03, typed[0] == 0x1c:
		return "ctrl+c"
	case typed[0] > ' ' && typed[0] < 0x7f:
		return strings.ToLower(string(typed[:1]))
	}
	return ""
}

// Show replaces the frame.
func (v *View) Show(f Frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.frame = f
	v.paint(nil)
}

// Print lets an item scroll by. Items come in the order of the calls.
func (v *View) Print(it Item) {
	v.mu.Lock()
	defer v.mu.Unlock()
	it.Plain = v.plain
	width, _ := v.size()
	v.paint(strings.Split(RenderItem(it, width-1), "\n"))
}

// paint is called with mu held. A terminal that has gone away is no reason to
// stop thinking, so its errors are not.
func (v *View) paint(above []string) {
	if v.closed {
		return
	}
	width, height := v.size()
	v.frame.Plain = v.plain
	frame := append([]string{""}, strings.Split(Render(v.frame, width-1, max(1, height-2)), "\n")...)
	_ = v.painter.paint(above, frame, width)
}

func (v *View) size() (width, height int) {
	width, height, err := term.GetSize(int(v.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return max(width, least+1), height
}

// Close takes the frame away, leaves the items, and gives the terminal back.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.closed = true
	width, _ := v.size()
	_ = v.painter.paint(nil, []string{""}, width)
	fmt.Fprint(v.out, showCursor)
	v.restore()
}
