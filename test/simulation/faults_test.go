package simulation

import (
	"fmt"
	"slices"
	"time"
)

// A fault is something that the seed does to a node: at a time, or at the nth operation of a kind.
type fault struct {
	kind  faultKind
	slot  int
	at    time.Duration // of the faults of times
	on    string        // the operation of the others
	count int           // operations before it
}

type faultKind int

const (
	noFault faultKind = iota
	killBefore
	killAfter
	diskFull
	diskBusy
	syncError
	killNow
	stopNow
	freezes
	losesBeats
	jumpsClock
	faultKinds
)

// planFaults chooses the faults.
func (w *world) planFaults() {
	for i := range 2 + w.number(7, "faults") {
		name := fmt.Sprint("fault ", i)
		f := &fault{kind: faultKind(1 + w.number(int(faultKinds)-1, name)), slot: w.number(2, name+" slot")}
		switch f.kind {
		case killNow, stopNow, freezes, losesBeats, jumpsClock:
			f.at = w.duration(time.Second, faultTime, name+" at")
		case killBefore, killAfter:
			f.on = []string{"append", "append", "answer", "take"}[w.number(4, name+" on")]
			if f.on == "answer" {
				f.kind = killBefore
			} else if f.on == "take" {
				f.kind = killAfter
			}
			f.count = w.number(40, name+" count")
			if f.on != "append" {
				f.count /= 4
			}
		default:
			f.on, f.count = "append", w.number(50, name+" count")
		}
		w.faults = append(w.faults, f)
	}
	slices.SortStableFunc(w.faults, func(a, b *fault) int { return int(a.at - b.at) })
}

// faultAt returns the fault of an operation of the node, if it has one now.
func (n *node) faultAt(on string) faultKind {
	if n.isCalm() {
		return noFault
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, f := range n.faults {
		if f.slot != n.slot || f.on != on {
			continue
		}
		if f.count--; f.count < 0 {
			n.faults = slices.Delete(n.faults, i, i+1)
			return f.kind
		}
	}
	return noFault
}

// playFaults performs the faults of times.
func (w *world) playFaults() {
	w.mu.Lock()
	timed := slices.DeleteFunc(slices.Clone(w.faults), func(f *fault) bool { return f.on != "" })
	w.mu.Unlock()
	for i, f := range timed {
		name := fmt.Sprint("timed ", i)
		time.Sleep(f.at + w.duration(0, time.Millisecond, name) - time.Since(w.began))
		n := w.nodeAt(f.slot)
		if n == nil {
			continue
		}
		switch f.kind {
		case killNow:
			n.kill("at its time")
		case stopNow:
			n.stop()
		case freezes:
			n.freeze(w.duration(time.Second, 40*time.Second, name+" for"))
		case losesBeats:
			n.loseHeartbeats(w.duration(3*time.Second, 30*time.Second, name+" for"))
		case jumpsClock:
			d := w.duration(-6*time.Hour, 6*time.Hour, name+" by")
			w.record("clock of %s jumps to %v", n.name, d)
			w.mu.Lock()
			w.skewed = true
			w.mu.Unlock()
			n.skew.Store(int64(d))
		}
	}
}
