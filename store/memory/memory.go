// Package memory stores everything in memory, for tests and for temporary sessions. It
// keeps the contract of [ponder.Store], except that nothing survives the process. It starts
// no goroutines and uses [time.Now], so that it works in a bubble of testing/synctest.
//
// The store encodes events as a database would, and readers get decoded copies. A reader
// therefore shares no memory with a writer.
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
	results []result // the ledger of finished attempts, oldest first
}

var _ ponder.Store = (*Store)(nil)

type thread struct {
	info     ponder.Info
	removed  bool           // only the fence is left
	events   []ponder.Event // events[i].Seq == i+1
	keys     map[string]ponder.Seq
	lease    storerules.Lease
	attempts map[attemptID]attempt
	folds    map[string]checkpoint
	tainted  ponder.Fence // the lease whose holder has read content that was erased since
}

// isTainted reports whether the holder of the newest lease has read content that was erased
// since.
func (t *thread) isTainted() bool { return t.tainted != 0 && t.tainted == t.lease.Fence }

type node struct {
	ponder.Node
	clock  time.Duration
	buried bool
}

// An attempt is the start of a call, with its request as JSON, if known.
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

// Close does nothing.
func (s *Store) Close() error { return nil }

// findThread returns an existing thread, or nil. The caller holds s.mu.
func (s *Store) findThread(id ponder.ThreadID) *thread {
	if t := s.threads[id]; t != nil && !t.removed {
		return t
	}
	return nil
}

// The caller holds s.mu.
func (s *Store) isAlive(id ponder.NodeID) bool {
	n := s.nodes[id]
	return n != nil && !n.buried && storerules.Alive(n.Beat, time.Now())
}

// isReplaceable reports whether other nodes may take the threads of a node. The caller holds s.mu.
func (s *Store) isReplaceable(id ponder.NodeID) bool {
	n := s.nodes[id]
	return n == nil || n.buried || storerules.Replaceable(n.Beat, time.Now())
}

// inForce reports whether the lease with the fence is in force. The caller holds s.mu.
func (s *Store) inForce(t *thread, fence ponder.Fence) bool {
	return fence != 0 && fence == t.lease.Fence && s.isAlive(t.lease.Node)
}
