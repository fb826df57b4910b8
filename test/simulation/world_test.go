package simulation

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"sync"
	"time"

	"ponder"
	"ponder/store/memory"
)

// A world is one simulated system: a disk, two nodes, their clients, and the faults that a
// seed chooses. It must run in a bubble of testing/synctest.
//
// Every choice is a hash of the seed and the name of the choice, so that it does not depend on
// the order in which goroutines ask. Every operation takes its own time, so that no two
// happen at once. A seed therefore always gives the same trace.
type world struct {
	seed   uint64
	base   *memory.Store // the disk
	began  time.Time
	closed chan struct{} // closed at the end of the seed
	calm   chan struct{} // closed when no further fault happens

	mu       sync.Mutex
	nodes    [2]*node
	checker  *checker
	faults   []*fault
	counts   map[string]int // operations by name
	trace    uint64
	lines    io.Writer // receives the trace, if set
	problems []string
	skewed   bool // a clock has jumped
	wg       sync.WaitGroup
}

func newWorld(seed uint64, lines io.Writer) *world {
	w := &world{
		seed: seed, base: memory.New(), began: time.Now(), closed: make(chan struct{}), calm: make(chan struct{}),
		counts: make(map[string]int), lines: lines,
	}
	w.checker = newChecker(w)
	return w
}

// number returns the choice with a name: a number below n.
func (w *world) number(n int, name string) int {
	h := w.seed*0x9e3779b97f4a7c15 + 0xcbf29ce484222325
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	h ^= h >> 31
	return int(h % uint64(n))
}

// duration returns the choice with a name: a time between two others.
func (w *world) duration(low, high time.Duration, name string) time.Duration {
	return low + time.Duration(w.number(int(high-low), name))
}

// countOf returns how often it was called with a name before.
func (w *world) countOf(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.counts[name]
	w.counts[name] = n + 1
	return n
}

// readCount returns how often countOf was called with a name.
func (w *world) readCount(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[name]
}

func (w *world) isCalm() bool {
	select {
	case <-w.calm:
		return true
	default:
		return false
	}
}

// record adds a line to the trace.
func (w *world) record(format string, args ...any) {
	line := fmt.Sprintf("%11.6f %s\n", time.Since(w.began).Seconds(), fmt.Sprintf(format, args...))
	w.mu.Lock()
	defer w.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprintf(h, "%x %s", w.trace, line)
	w.trace = h.Sum64()
	if w.lines != nil {
		io.WriteString(w.lines, line)
	}
}

// report records that an invariant does not hold.
func (w *world) report(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.record("PROBLEM %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, text)
}

// A result is the result of a seed.
type result struct {
	trace    uint64
	problems []string
	threads  int
	events   int
	calls    int // requests that the provider received
	repeated int // of which repetitions after a lost lease
	kills    int
	virtual  time.Duration
}

// Times of a seed.
const (
	faultTime = 90 * time.Second // in which faults happen
	settleMax = 30 * time.Minute // in which all runs must end afterwards
)

// run simulates the seed.
func (w *world) run() result {
	ctx, cancel := context.WithCancel(context.Background())
	w.planFaults()
	for slot := range w.nodes {
		w.startNode(slot)
	}
	scripts := w.planScripts()
	var clients sync.WaitGroup
	for _, s := range scripts {
		clients.Go(func() { s.play(ctx) })
	}
	played := make(chan struct{})
	go func() {
		clients.Wait()
		close(played)
	}()
	w.playFaults()
	time.Sleep(faultTime - time.Since(w.began))
	close(w.calm)
	w.record("calm")
	settled := w.awaitSettled(played)
	if !settled {
		w.report("not settled after %v: %s", settleMax, w.checker.describeOpen(w.base))
	}
	r := result{virtual: time.Since(w.began), kills: w.readCount("kill")}
	w.stop(cancel)
	<-played
	if settled {
		w.checker.checkLogs(w.base)
	}
	w.checker.summarize(&r)
	r.trace, r.problems = w.trace, w.problems
	return r
}

// awaitSettled waits until all inputs are acknowledged and no thread has work.
func (w *world) awaitSettled(played <-chan struct{}) bool {
	end := time.Now().Add(settleMax)
	for time.Now().Before(end) {
		time.Sleep(3 * time.Second)
		select {
		case <-played:
			if w.checker.isSettled(w.base) {
				return true
			}
		default:
		}
	}
	return false
}

// stop ends all goroutines.
func (w *world) stop(cancel func()) {
	cancel()
	close(w.closed)
	w.mu.Lock()
	nodes := w.nodes
	w.mu.Unlock()
	for _, n := range nodes {
		if n != nil {
			n.close()
		}
	}
	w.wg.Wait()
}

// nodeAt returns the node in a slot, or nil while the slot has none.
func (w *world) nodeAt(slot int) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[slot]
}

// threadInfo returns the info of a thread on the disk.
func (w *world) threadInfo(id ponder.ThreadID) (ponder.Info, bool) {
	info, err := w.base.Thread(context.Background(), id)
	return info, err == nil
}
