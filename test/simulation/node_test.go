package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/placement"
)

// A node is one process. A killed node stays in memory, but nothing that it does has an
// effect: its operations block until the end of the seed.
type node struct {
	*world
	slot, life int
	name       string
	engine     *engine.Engine
	place      *placement.Placement
	ctx        context.Context // ends with the seed, or when the node is killed: for clients
	cancel     context.CancelFunc
	dead       chan struct{}
	leaving    chan struct{} // closed when the process has to stop
	left       sync.Once
	killed     sync.Once
	skew       atomic.Int64 // of the wall clock

	freezeMu    sync.Mutex
	frozenUntil time.Time
	deafUntil   time.Time // heartbeats are lost until then
	stalled     bool      // it was frozen or lost heartbeats
}

var errKilled = errors.New("the process was killed")

// startNode starts a process in a slot.
func (w *world) startNode(slot int) {
	life := w.countOf(fmt.Sprint("life of ", slot))
	n := &node{world: w, slot: slot, life: life, name: fmt.Sprintf("%c%d", 'A'+slot, life), dead: make(chan struct{}), leaving: make(chan struct{})}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	logger := slog.New(slog.DiscardHandler)
	disk := &disk{node: n, Store: w.base}
	id := ponder.Node{ID: ponder.NodeID("nod_" + n.name), Host: "h", Boot: "b"}
	var err error
	n.engine, err = engine.New(engine.Config{
		Store: disk, Modes: modes(), Tools: n.tools(), Models: n.models(), Logger: logger, Node: id, Now: n.now,
	})
	if err != nil {
		panic(err)
	}
	n.place = placement.Memory(placement.Config{Store: disk, Node: id, Work: n.engine.Work, Logger: logger, Ended: n.engine.ReturnUnclaimed})
	w.record("start %s", n.name)
	w.wg.Go(func() {
		for n.engine.Open(n.ctx) != nil {
			if n.isOver() {
				return
			}
			time.Sleep(w.duration(50*time.Millisecond, 100*time.Millisecond, "open "+n.name))
		}
		w.mu.Lock()
		w.nodes[slot] = n
		w.mu.Unlock()
		n.sweep(disk)
		n.place.Close(context.Background())
		n.engine.Close(context.Background())
		if !n.isOver() {
			n.record("end of %s", n.name)
			n.killed.Do(n.replace)
		}
	})
}

// stop ends the process as SIGTERM does: it drains its work and closes.
func (n *node) stop() {
	n.record("stop %s", n.name)
	n.left.Do(func() { close(n.leaving) })
}

// isOver reports whether the node was killed or the seed has ended.
func (n *node) isOver() bool {
	select {
	case <-n.closed:
		return true
	case <-n.dead:
		return true
	default:
		return false
	}
}

// now is the wall clock of the node.
func (n *node) now() time.Time { return time.Now().Add(time.Duration(n.skew.Load())) }

// sweep starts abandoned threads, as a serving process does, until the end of the seed.
func (n *node) sweep(disk *disk) {
	for i := 0; ; i++ {
		select {
		case <-n.closed:
			return
		case <-n.leaving:
			return
		case <-time.After(n.duration(1500*time.Millisecond, 2500*time.Millisecond, fmt.Sprint("sweep ", n.name, i))):
		}
		if n.isOver() {
			<-n.closed
			return
		}
		threads, err := disk.Abandoned(n.ctx)
		if err != nil {
			continue
		}
		for _, thread := range threads {
			_ = n.place.Start(n.ctx, thread)
		}
	}
}

// kill kills the node, and starts the next process in its slot after a while.
func (n *node) kill(why string) { n.killed.Do(func() { n.die(why) }) }

func (n *node) die(why string) {
	n.record("kill %s: %s", n.name, why)
	n.countOf("kill")
	n.replace()
}

// replace ends all operations of the node, and starts the next process in its slot after a while.
func (n *node) replace() {
	close(n.dead)
	n.cancel()
	n.mu.Lock()
	if n.nodes[n.slot] == n {
		n.nodes[n.slot] = nil
	}
	n.mu.Unlock()
	n.wg.Go(func() {
		time.Sleep(n.duration(100*time.Millisecond, 8*time.Second, "restart "+n.name))
		select {
		case <-n.closed:
			return
		default:
		}
		if n.number(2, "same machine "+n.name) == 0 { // the next process sees that this one has ended
			n.checker.noteDead(n.nodeID())
			_ = n.base.MarkDead(context.Background(), n.nodeID())
		}
		n.startNode(n.slot)
	})
}

func (n *node) nodeID() ponder.NodeID { return ponder.NodeID("nod_" + n.name) }

// freeze stops the process for a while, as SIGSTOP does.
func (n *node) freeze(d time.Duration) {
	n.record("freeze %s for %v", n.name, d)
	n.freezeMu.Lock()
	defer n.freezeMu.Unlock()
	n.frozenUntil, n.stalled = time.Now().Add(d), true
}

// loseHeartbeats loses the heartbeats of the node for a while.
func (n *node) loseHeartbeats(d time.Duration) {
	n.record("lose heartbeats of %s for %v", n.name, d)
	n.freezeMu.Lock()
	defer n.freezeMu.Unlock()
	n.deafUntil, n.stalled = time.Now().Add(d), true
}

// wasStalled reports whether other nodes may have taken the threads of the node.
func (n *node) wasStalled() bool {
	n.freezeMu.Lock()
	defer n.freezeMu.Unlock()
	return n.stalled
}

func (n *node) frozenFor() time.Duration {
	n.freezeMu.Lock()
	defer n.freezeMu.Unlock()
	return time.Until(n.frozenUntil)
}

func (n *node) losesHeartbeats() bool {
	n.freezeMu.Lock()
	defer n.freezeMu.Unlock()
	return time.Now().Before(n.deafUntil)
}

// pass lets an operation with a name take its time. It blocks while the node is frozen, and
// for ever if the node is dead.
func (n *node) pass(name string) error {
	name = n.name + " " + name
	count := n.countOf(name)
	time.Sleep(n.duration(20*time.Microsecond, 1500*time.Microsecond, fmt.Sprint(name, count)))
	for {
		if n.isOver() {
			<-n.closed
			return errKilled
		}
		left := n.frozenFor()
		if left <= 0 {
			return nil
		}
		time.Sleep(left + n.duration(time.Microsecond, time.Millisecond, fmt.Sprint("thaw ", name, count)))
	}
}

// close stops the node at the end of the seed.
func (n *node) close() { n.cancel() }
