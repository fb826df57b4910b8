// Package heap has a program collect its garbage less often while its heap is
// small.
//
// By itself Go collects whenever the heap has doubled. A heap of ten megabytes
// that makes fifty a second is then collected several times a second, at up to a
// sixth of the CPU time, to save memory that no machine lacks. [Relax] lets the heap
// grow by a fixed amount first. A heap of more than twice that amount grows by half and is
// not doubled: a program that needs much memory, for thousands of sessions, needs less of it.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Room is how much a heap may grow before it is collected, in bytes.
const Room = 128 << 20

// How much Go lets a heap grow, in percent, and how much one that is large may.
const (
	usual = 100
	least = usual / 2
)

// Relax has the heap of this process grow by [Room] before it is collected, but not
// to more than nine times its size, from now on. It does nothing if the environment
// says in GOGC how often to collect. GOMEMLIMIT is kept to as ever.
func Relax() {
	if os.Getenv("GOGC") != "" {
		return
	}
	w := &watch{set: debug.SetGCPercent}
	w.look()
}

// A watch looks at the heap after each collection.
type watch struct {
	set     func(percent int) int
	percent int // the last that was set
}

// look sets when the next collection is, and comes again after it.
func (w *watch) look() {
	if p := percent(live()); p != w.percent {
		w.percent = p
		w.set(p)
	}
	runtime.AddCleanup(new(mark), (*watch).look, w)
}

// A mark is garbage: when it is collected, there was a collection. It has a pointer,
// for what has none may share its memory with what lives on.
type mark struct{ _ *mark }

// live returns what the last collection left, in bytes; zero before the first.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return Room // as usual, then
	}
	return s[0].Value.Uint64()
}

// Bounds and steps of what is set, in percent. The most bounds how large a heap can
// get that grows at once before it is looked at again; and setting it stops the
// program for a moment, so it is not set for little.
const (
	most = 8 * usual
	step = usual / 8
)

// percent returns by how much a heap is to grow, so that it grows by Room or by half;
// one of a few megabytes by less.
func percent(live uint64) int {
	p := int(min(most, usual*Room/max(live, 1)))
	return max(least, p-p%step)
}
