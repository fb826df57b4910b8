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

	mu     sync.Mutex
	desk   desk
	frame  Frame
	items  []Item
	missed int // dropped items
}

type Options struct {
	Out   *os.File
	In    *os.File // keys; may be nil
	Style Style
	Desk  Desk
	// Pressed receives key presses. It must not block or call the view.
	Pressed func(Press)
	NoKeys  string // replaces the list of keys without In
}

const maxItems = 2000

// CanShow reports whether f is a terminal that the process may draw on. In the background it is
// not.
func CanShow(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && foreground(f)
}

// Open shows an empty view until Close, without echo of keys.
func Open(o Options) *View {
	v := newView(o)
	v.program = openProgram(v, o.Pressed, o.Out, o.In, paintEvery)
	if v.program.in == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.desk.Controls = nil
	}
	return v
}

func newView(o Options) *View { return &View{options: o, desk: newDesk(o.Desk, o.Style)} }

// paintEvery is the minimal time between paints, except for input.
const paintEvery = 100 * time.Millisecond

// Close removes the block, keeps the printed items, and releases the terminal.
func (v *View) Close() { v.program.Close() }

func (v *View) Show(f Frame) {
	v.mu.Lock()
	v.frame, v.desk.names = f, f.Names
	v.mu.Unlock()
	v.program.stir()
}

// Print prints an item. Items keep the order of calls.
func (v *View) Print(it Item) {
	v.mu.Lock()
	if v.items = append(v.items, it); len(v.items) > maxItems {
		v.items, v.missed = v.items[1:], v.missed+1
	}
	v.mu.Unlock()
	v.program.stir()
}

// foot requires v.mu.
func (v *View) foot(width int) (Foot, spot) {
	if len(v.desk.Controls) == 0 {
		return Foot{Keys: v.options.Style.paint(faint(), v.options.Style.clip(v.options.NoKeys, width))}, spot{0, -1}
	}
	return v.desk.foot(width, v.options.Style)
}

func (v *View) printed(size Size) (rows []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.missed > 0 {
		v.items = append([]Item{{At: -1, Kind: "note", Text: fmt.Sprint(v.missed, " lines are left out: the terminal did not take them"), Tone: Quiet}}, v.items...)
	}
	for _, it := range v.items {
		rows = append(rows, strings.Split(RenderItem(it, size.inner(), v.options.Style), "\n")...)
	}
	v.items, v.missed = nil, 0
	return rows
}

func (v *View) block(size Size) ([]string, spot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	foot, at := v.foot(size.inner())
	rows := Render(v.frame, foot, size, v.options.Style)
	return rows, spot{max(0, len(rows)-1-at.row), at.column}
}

func (v *View) typed(msg tea.Msg) *Press {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.desk.press(msg)
}
