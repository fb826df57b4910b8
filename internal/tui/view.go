package tui

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// A View is a terminal on which work is shown. Its methods are safe for
// concurrent use, and do not wait for the terminal: it is painted beside, at most
// ten times a second, and where it is slow, more seldom.
type View struct {
	options Options
	tty     *terminal
	size    func() Size
	undo    func() // what attends to signals

	wake   chan bool     // there is something to paint; true if at once
	stops  chan struct{} // the process is to stop for a while
	backs  chan struct{} // it goes on
	ending chan struct{} // closed by Close
	ended  chan struct{} // closed when the terminal is given back
	once   sync.Once

	mu      sync.Mutex
	desk    desk
	frame   Frame
	items   []Item  // not printed yet
	missed  int     // items that there was no room to keep
	painter painter // of run alone
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

// How often is painted: what was typed is seen sooner.
const (
	paintEvery = 100 * time.Millisecond
	typedEvery = 30 * time.Millisecond
)

// maxItems is how many items wait for a terminal that does not take them.
const maxItems = 2000

// closeTime is how long a terminal that does not take anything is waited for.
const closeTime = time.Second

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
	v.tty.take()
	if v.tty.keys() {
		go v.listen()
	} else {
		v.desk = desk{}
	}
	v.undo = attend(func() { v.stir(true) }, func() { ring(v.backs) }, func() { ring(v.stops) })
	go v.run()
	return v
}

func newView(o Options, tty *terminal, size func() Size) *View {
	return &View{
		options: o, tty: tty, size: size, undo: func() {}, wake: make(chan bool, 1), stops: make(chan struct{}, 1),
		backs: make(chan struct{}, 1), ending: make(chan struct{}), ended: make(chan struct{}), desk: desk{Desk: o.Desk},
		painter: painter{out: tty.out},
	}
}

// ring sends to who listens, unless that is to be told already.
func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
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
	v.frame = f
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

// stir asks for a paint.
func (v *View) stir(atOnce bool) {
	for {
		select {
		case v.wake <- atOnce:
			return
		default:
		}
		if !atOnce {
			return // one is asked for already
		}
		select { // that may not be as urgent
		case <-v.wake:
		default:
		}
	}
}

// run paints until the view is closed, and then gives the terminal back.
func (v *View) run() {
	defer close(v.ended)
	defer v.tty.giveBack()
	defer v.undo()
	last := time.Time{}
	for {
		select {
		case atOnce := <-v.wake:
			if !v.rest(last, atOnce) {
				v.paint()
				last = time.Now()
			}
		case <-v.stops:
			v.suspend()
		case <-v.backs:
			if !v.tty.taken() { // stopped without a word, so that nobody knows where the cursor is
				v.retake()
			}
		case <-v.ending:
			v.clear()
			return
		}
	}
}

// suspend stops the process, with the terminal as it was before, until it goes on
// in the foreground.
func (v *View) suspend() {
	v.clear()
	v.tty.giveBack()
	select { // of before
	case <-v.backs:
	default:
	}
	stopNow()
	select {
	case <-v.backs:
	case <-v.ending:
		return
	}
	v.retake()
}

// retake takes the terminal again, as soon as the process is in the foreground.
func (v *View) retake() {
	for !foreground(v.options.Out) {
		timer := time.NewTimer(lookEvery)
		select {
		case <-timer.C:
		case <-v.ending:
			timer.Stop()
			return
		}
	}
	v.tty.take()
	v.painter.forget()
	v.stir(true)
}

// listen takes keys until the view is closed.
func (v *View) listen() {
	defer func() {
		if p := recover(); p != nil {
			v.tty.giveBack()
			panic(p)
		}
	}()
	var d decoder
	feed := func(b []byte) time.Duration {
		v.typed(d.feed(b))
		return d.patience()
	}
	listen(v.tty.in, v.ending, feed, func() { v.typed(d.flush()) })
}

// rest waits until it is time to paint again, and reports whether the view was
// closed meanwhile.
func (v *View) rest(last time.Time, atOnce bool) (closed bool) {
	for {
		gap := paintEvery
		if atOnce {
			gap = typedEvery
		}
		wait := time.Until(last.Add(gap))
		if wait <= 0 {
			return false
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			return false
		case more := <-v.wake:
			timer.Stop()
			atOnce = atOnce || more
		case <-v.ending:
			timer.Stop()
			return true
		}
	}
}

// paint brings the terminal up to date. A terminal that has gone away is no reason
// to stop thinking, so its errors are not.
func (v *View) paint() {
	size := v.size()
	v.mu.Lock()
	above := v.printed(size)
	foot, cursor := v.foot(size.inner())
	block := Render(v.frame, foot, size, v.options.Style)
	v.mu.Unlock()
	_ = v.painter.paint(above, block, size.Width, cursor)
}

// foot is called with mu held.
func (v *View) foot(width int) (Foot, int) {
	if len(v.desk.Controls) == 0 {
		return Foot{Keys: faint().on(v.options.Style.clip(v.options.NoKeys, width), v.options.Style)}, -1
	}
	return v.desk.foot(width, v.options.Style)
}

// printed returns the rows of the items that wait. It is called with mu held.
func (v *View) printed(size Size) (rows []string) {
	if v.missed > 0 {
		v.items = append([]Item{{At: -1, Kind: "note", Text: itoa(v.missed) + " lines are left out: the terminal did not take them", Tone: Quiet}}, v.items...)
	}
	for _, it := range v.items {
		rows = append(rows, strings.Split(RenderItem(it, size.inner(), v.options.Style), "\n")...)
	}
	v.items, v.missed = nil, 0
	return rows
}

// clear takes the block away, and leaves the items.
func (v *View) clear() {
	size := v.size()
	v.mu.Lock()
	above := v.printed(size)
	v.mu.Unlock()
	_ = v.painter.paint(above, []string{""}, size.Width, 0)
	v.painter.forget()
}

// typed takes keys.
func (v *View) typed(keys []key) {
	for _, k := range keys {
		if k.name == "ctrl+z" {
			askToStop()
			continue
		}
		v.mu.Lock()
		next, press := v.desk.press(k)
		v.desk = next
		v.mu.Unlock()
		if press != nil && v.options.Pressed != nil {
			v.options.Pressed(*press)
		}
	}
	if len(keys) > 0 {
		v.stir(true)
	}
}

// Close takes the block away, leaves the items, and gives the terminal back. A
// terminal that does not take anything is left as it is after a second.
func (v *View) Close() {
	v.once.Do(func() { close(v.ending) })
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-v.ended:
	case <-timer.C:
		v.tty.restore()
	}
}
