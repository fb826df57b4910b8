// Package memory keeps everything in memory: for tests, and for thinking that
// nobody needs to find again. It keeps all promises of [ponder.Store] but the
// one that things last longer than the process. It starts no goroutines and
// reads the time with [time.Now], so that it can live in a bubble of
// testing/synctest.
//
// What is appended is encoded as it would be in a database, and read back from
// there, so that nothing passes from a writer to a reader that would not do so
// through any other store.
package memory

import (
	"sync"
	"time"

	"ponder"
	"ponder/store/internal/storerules"
	"ponder/store/internal/watch"
)

// A Store is a [ponder.Store] in memory.
type Store struct {
	hub watch.Hub

	mu      sync.Mutex
	threads map[ponder.ThreadID]*thread
	nodes   map[ponder.NodeID]*node
	results []result // the ledger of what has ended, oldest first
}

var _ ponder.Store = (*Store)(nil)

type thread struct {
	info     ponder.Info
	removed  bool           // nothing is left but the fence
	events   []ponder.Event // events[i].Seq == i+1
	keys     map[string]ponder.Seq
	lease    storerules.Lease
	attempts map[attemptID]attempt
	folds    map[string]checkpoint
	tainted  ponder.Fence // a lease whose holder has read what was erased since
}

// isTainted reports whether the holder of the newest lease of the thread has read
// what was erased since.
func (t *thread) isTainted() bool { return t.tainted != 0 && t.tainted == t.lease.Fence }

type node struct {
	ponder.Node
	clock  time.Duration
	buried bool
}

// An attempt is the beginning of a call, with its request as JSON, if that is
// known.
type attempt struct {
	storerules.Start
	request []byte
}

type attemptID struct {
	run   ponder.RunID
	cause string
}

type result struct {
	thread ponder.ThreadID
	storerules.Result
}

type checkpoint struct {
	version string
	seq     ponder.Seq
	state   []byte
}

// New returns an empty store.
func New() *Store {
	return &Store{
		threads: make(map[ponder.ThreadID]*thread),
		nodes:   make(map[ponder.NodeID]*node),
	}
}

// Close does nothing: what is in the store goes when the store does.
func (s *Store) Close() error { return nil }

// thread returns a thread that is there, or nil. The caller holds s.mu.
func (s *Store) thread(id ponder.ThreadID) *thread {
	if t := s.threads[id]; t != nil && !t.removed {
		return t
	}
	return nil
}

// alive reports whether a node is alive. The caller holds s.mu.
func (s *Store) alive(id ponder.NodeID) bool {
	n := s.nodes[id]
	return n != nil && !n.buried && storerules.Alive(n.Beat, time.Now())
}

// inForce reports whether fence is a lease in force. The caller holds s.mu.
func (s *Store) inForce(t *thread, fence ponder.Fence) bool {
	return fence != 0 && fence == t.lease.Fence && s.alive(t.lease.Node)
}
