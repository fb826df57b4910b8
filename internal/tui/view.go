package tui

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// A View is a terminal on which work is shown. Its methods are safe for
// concurrent use, and do not wait for the terminal: it is painted beside, at most
// ten times a second, and where it is slow, more seldom.
type View struct {
	*stage
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
	if o.In != nil && !CanShow(o.In) {
		o.In = nil
	}
	v := newView(o, &terminal{out: o.Out, in: o.In}, func() Size { return sizeOf(o.Out) })
	v.open()
	if !v.tty.keys() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.desk = desk{}
	}
	return v
}

func newView(o Options, tty *terminal, size func() Size) *View {
	v := &View{options: o, desk: desk{Desk: o.Desk}}
	v.stage = newStage(tty, size, scenery{v})
	return v
}

// sizeOf returns the size of a terminal, or what it most likely is.
func sizeOf(f *os.File) Size {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return Size{80, 24}
	}
	return Size{max(width, least+1), max(height, 2)}
}

// Show replaces the frame.
func (v *View) Show(f Frame) {
	v.mu.Lock()
	v.frame, v.desk.names = f, f.Names
	v.mu.Unlock()
	v.stir(false)
}

// Print lets an item scroll by. Items come in the order of the calls.
func (v *View) Print(it Item) {
	v.mu.Lock()
	if v.items = append(v.items, it); len(v.items) > maxItems {
		v.items, v.missed = v.items[1:], v.missed+1
	}
	v.mu.Unlock()
	v.stir(false)
}

// foot is called with mu held.
func (v *View) foot(width int) (Foot, int) {
	if len(v.desk.Controls) == 0 {
		return Foot{Keys: faint().on(v.options.Style.clip(v.options.NoKeys, width), v.options.Style)}, -1
	}
	return v.desk.foot(width, v.options.Style)
}

// scenery is a view as its stage sees it.
type scenery struct{ view *View }

func (s scenery) printed(size Size) (rows []string) {
	v := s.view
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.missed > 0 {
		v.items = append([]Item{{At: -1, Kind: "note", Text: itoa(v.missed) + " lines are left out: the terminal did not take them", Tone: Quiet}}, v.items...)
	}
	for _, it := range v.items {
		rows = append(rows, strings.Split(RenderItem(it, size.inner(), v.options.Style), "\n")...)
	}
	v.items, v.missed = nil, 0
	return rows
}

func (s scenery) block(size Size) ([]string, spot) {
	v := s.view
	v.mu.Lock()
	defer v.mu.Unlock()
	foot, column := v.foot(size.inner())
	rows := Render(v.frame, foot, size, v.options.Style)
	return rows, spot{len(rows) - 1, column}
}

func (s scenery) typed(k key) {
	v := s.view
	v.mu.Lock()
	next, press := v.desk.press(k)
	v.desk = next
	v.mu.Unlock()
	if press != nil && v.options.Pressed != nil {
		v.options.Pressed(*press)
	}
}
