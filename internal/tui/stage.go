package tui

import (
	"os"
	"sync"
	"time"
)

// A stage is a terminal with a block of lines at its bottom, that is painted when
// something has changed, and gives the terminal back when the process is to stop for
// a while, or for good. What plays on it is a scene.
type stage struct {
	tty   *terminal
	size  func() Size
	undo  func() // what attends to signals
	scene scene

	wake   chan bool     // there is something to paint; true if at once
	stops  chan struct{} // the process is to stop for a while
	backs  chan struct{} // it goes on
	ending chan struct{} // closed by Close
	ended  chan struct{} // closed when the terminal is given back
	once   sync.Once

	painter painter // of run alone
}

// A scene says what is on a stage. Its methods are called from several goroutines.
type scene interface {
	// printed returns rows that are to scroll by, once.
	printed(size Size) []string
	// block returns what stands at the bottom, and where the cursor is.
	block(size Size) ([]string, spot)
	// typed takes a key.
	typed(k key)
}

func newStage(tty *terminal, size func() Size, s scene) *stage {
	return &stage{
		tty: tty, size: size, scene: s, undo: func() {}, wake: make(chan bool, 1), stops: make(chan struct{}, 1),
		backs: make(chan struct{}, 1), ending: make(chan struct{}), ended: make(chan struct{}), painter: painter{out: tty.out},
	}
}

// open takes the terminal, and gives it back after close.
func (v *stage) open() {
	v.tty.take()
	if v.tty.keys() {
		go v.listen()
	}
	v.undo = attend(func() { v.stir(true) }, func() { ring(v.backs) }, func() { ring(v.stops) })
	go v.run()
}

// How often is painted: what was typed is seen sooner.
const (
	paintEvery = 100 * time.Millisecond
	typedEvery = 30 * time.Millisecond
)

// closeTime is how long a terminal that does not take anything is waited for.
const closeTime = time.Second

// ring sends to who listens, unless that is to be told already.
func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// stir asks for a paint.
func (v *stage) stir(atOnce bool) {
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

// run paints until the stage is closed, and then gives the terminal back.
func (v *stage) run() {
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
func (v *stage) suspend() {
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
func (v *stage) retake() {
	for !v.mine() {
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

// mine reports whether the terminal is that of the process now.
func (v *stage) mine() bool {
	f, ok := v.tty.out.(*os.File)
	return !ok || foreground(f)
}

// listen takes keys until the stage is closed.
func (v *stage) listen() {
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

// rest waits until it is time to paint again, and reports whether the stage was
// closed meanwhile.
func (v *stage) rest(last time.Time, atOnce bool) (closed bool) {
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
func (v *stage) paint() {
	size := v.size()
	above := v.scene.printed(size)
	block, at := v.scene.block(size)
	_ = v.painter.paintAt(above, block, size.Width, at)
}

// clear takes the block away, and leaves what was printed.
func (v *stage) clear() {
	size := v.size()
	_ = v.painter.paint(v.scene.printed(size), []string{""}, size.Width, 0)
	v.painter.forget()
}

// typed takes keys.
func (v *stage) typed(keys []key) {
	for _, k := range keys {
		if k.name == "ctrl+z" {
			askToStop()
			continue
		}
		v.scene.typed(k)
	}
	if len(keys) > 0 {
		v.stir(true)
	}
}

// Close takes the block away, leaves what was printed, and gives the terminal back. A
// terminal that does not take anything is left as it is after a second.
func (v *stage) Close() {
	v.once.Do(func() { close(v.ending) })
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-v.ended:
	case <-timer.C:
		v.tty.restore()
	}
}
