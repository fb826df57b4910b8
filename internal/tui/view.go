package tui

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"
)

// A View is a terminal with work in progress. Its methods are safe for concurrent use and do
// not wait for the terminal.
type View struct {
	program *program
	options Options

	mu           sync.Mutex
	keys         keyPanel
	frame        Frame
	items        []Item
	droppedItems int // dropped items
}

type Options struct {
	Out         *os.File
	In          *os.File // keys; may be nil
	Style       Style
	KeyBindings KeyBindings
	// OnPress receives key presses. It must not block or call the view.
	OnPress func(Press)
	NoKeys  string // replaces the list of keys without In
}

const maxItems = 2000

// CanShow reports whether f is a terminal that the process may draw on. In the background it is
// not.
func CanShow(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && isForeground(f)
}

// Open shows an empty view until Close, without echo of keys.
func Open(o Options) *View {
	v := newView(o)
	v.program = openProgram(v, o.OnPress, o.Out, o.In, paintInterval)
	if v.program.in == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.keys.Controls = nil
	}
	return v
}

func newView(o Options) *View { return &View{options: o, keys: newKeyPanel(o.KeyBindings, o.Style)} }

// paintInterval is the minimal time between paints, except for input.
const paintInterval = 100 * time.Millisecond

// Close removes the block, keeps the printed items, and releases the terminal.
func (v *View) Close() { v.program.Close() }

func (v *View) Show(f Frame) {
	v.mu.Lock()
	v.frame, v.keys.names = f, f.Names
	v.mu.Unlock()
	v.program.requestPaint()
}

// Print prints an item. Items keep the order of calls.
func (v *View) Print(it Item) {
	v.mu.Lock()
	if v.items = append(v.items, it); len(v.items) > maxItems {
		v.items, v.droppedItems = v.items[1:], v.droppedItems+1
	}
	v.mu.Unlock()
	v.program.requestPaint()
}

// renderFoot requires v.mu.
func (v *View) renderFoot(width int) (Footer, cursorPos) {
	if len(v.keys.Controls) == 0 {
		return Footer{Keys: v.options.Style.paint(faintStyle(), v.options.Style.truncateCells(v.options.NoKeys, width))}, cursorPos{0, -1}
	}
	return v.keys.renderFoot(width, v.options.Style)
}

func (v *View) takePrinted(size Size) (rows []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.droppedItems > 0 {
		v.items = append([]Item{{At: -1, Kind: "note", Text: fmt.Sprint(v.droppedItems, " lines are left out: the terminal did not take them"), Tone: Quiet}}, v.items...)
	}
	for _, it := range v.items {
		rows = append(rows, strings.Split(RenderItem(it, size.innerWidth(), v.options.Style), "\n")...)
	}
	v.items, v.droppedItems = nil, 0
	return rows
}

func (v *View) renderBlock(size Size) ([]string, cursorPos) {
	v.mu.Lock()
	defer v.mu.Unlock()
	foot, at := v.renderFoot(size.innerWidth())
	rows, maxScroll := Render(v.frame, foot, size, v.options.Style)
	v.keys.from = min(v.keys.from, maxScroll)
	return rows, cursorPos{max(0, len(rows)-1-at.row), at.column}
}

func (v *View) handleMsg(msg tea.Msg) *Press {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.keys.handleMsg(msg)
}
