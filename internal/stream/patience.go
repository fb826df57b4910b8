package stream

import (
	"sync"
	"time"
)

// Times of a reader.
const (
	patience = 10 * time.Second // that a reader may take for pieceSize bytes
	lateness = time.Second      // of a timer, which says that it was this process that stood still
)

// pieceSize is how many bytes are written at a time, at most: a reader on a slow line that
// takes so many in time is not given up, however long an event is.
const pieceSize = 16 << 10

// A watchdog gives up a reader that takes nothing. It is for one goroutine.
type watchdog struct {
	giveUp func() // ends a write that is going on

	mu     sync.Mutex
	timer  *time.Timer
	due    time.Time
	writes bool
}

// begin says that a write begins.
func (d *watchdog) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes, d.due = true, time.Now().Add(patience)
	if d.timer == nil {
		d.timer = time.AfterFunc(patience, d.look)
		return
	}
	d.timer.Reset(patience)
}

// end says that a write has ended.
func (d *watchdog) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes = false
	d.timer.Stop()
}

// look gives the reader up, if its time is over. A process that could not run for a while
// can't say that its readers did not read, and gives them their time again.
func (d *watchdog) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	switch {
	case !d.writes || now.Before(d.due): // of the write before
	case now.Sub(d.due) > lateness:
		d.due = now.Add(patience)
		d.timer.Reset(patience)
	default:
		d.giveUp()
	}
}
