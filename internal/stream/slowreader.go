package stream

import (
	"sync"
	"time"
)

// Time limits of a reader.
const (
	writeTimeout = 10 * time.Second // for a piece of pieceSize bytes
	lateness     = time.Second      // of a timer; a greater one means that this process stood still
)

// pieceSize limits a single write. A reader on a slow line thereby has patience for each
// piece, however long an event is.
const pieceSize = 16 << 10

// A watchdog ends the connection of a stalled reader. It is for one goroutine.
type watchdog struct {
	giveUp func() // ends a write in progress

	mu      sync.Mutex
	timer   *time.Timer
	due     time.Time
	writing bool
}

// startWrite marks the start of a write.
func (d *watchdog) startWrite() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing, d.due = true, time.Now().Add(writeTimeout)
	if d.timer == nil {
		d.timer = time.AfterFunc(writeTimeout, d.checkStalled)
		return
	}
	d.timer.Reset(writeTimeout)
}

// endWrite marks the end of a write.
func (d *watchdog) endWrite() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writing = false
	d.timer.Stop()
}

// checkStalled ends the connection if the write is due. If the timer itself is late, this process
// could not run, so the reader gets its time again.
func (d *watchdog) checkStalled() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	switch {
	case !d.writing || now.Before(d.due): // the timer belongs to an earlier write
	case now.Sub(d.due) > lateness:
		d.due = now.Add(writeTimeout)
		d.timer.Reset(writeTimeout)
	default:
		d.giveUp()
	}
}
