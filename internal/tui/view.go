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

// A View is a terminal on which work is shown. Its methods are safe for
// concurrent use, and do not wait for the terminal: it is painted beside, at most
// ten times a second, and where it is slow, more seldom.
type View struct {
	program *program
	options Options

	mu     sync.Mutex
	desk   desk
	frame  Frame
	items  []Item // not printed yet
	missed int    // items that there was no room to keep
}

// Options say how a [View] uses its terminal.
type Options struct {
	Out   *os.File // the terminal
	In    *os.File // where keys come from; nil if they do not
	Style Style
	Desk  Desk
	// Pressed is told of what was pressed. It must return at once, and not call
	// the view.
	Pressed func(Press)
	NoKeys  string // stands in the place of the keys where there are none
}

// maxItems is how many items wait for a terminal that does not take them.
const maxItems = 2000

// CanShow reports whether a file is a terminal that the process may draw on: it
// is not one if the process runs in the background.
func CanShow(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && foreground(f)
}

// Open shows an empty view until Close. Keys are not echoed meanwhile.
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

// paintEvery is the least time between two paints, save of typed text.
const paintEvery = 100 * time.Millisecond

// Close removes the block, leaves the printed items, and gives the terminal back.
func (v *View) Close() { v.program.Close() }

// Show replaces the frame.
func (v *View) Show(f Frame) {
	v.mu.Lock()
	v.frame, v.desk.names = f, f.Names
	v.mu.Unlock()
	v.program.stir()
}

// Print lets an item scroll by. Items come in the order of the calls.
func (v *View) Print(it Item) {
	v.mu.Lock()
	if v.items = append(v.items, it); len(v.items) > maxItems {
		v.items, v.missed = v.items[1:], v.missed+1
	}
	v.mu.Unlock()
	v.program.stir()
}

// foot is called with mu held.
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
