package engine

import (
	"slices"
	"sync"

	"ponder"
)

// A shelf keeps lines of threads that have come to rest and whose next run carries
// on what the last one knew, as those of a conversation do, so that it begins at
// once. What is on it is disposable. It is safe for concurrent use.
type stateCache struct {
	mu     sync.Mutex
	states map[ponder.ThreadID]cachedState
	order  []ponder.ThreadID // as they were put there
}

// A shelved line is as its holder left it when it released its lease.
type cachedState struct {
	state *threadState
	saved ponder.Seq   // of the newest checkpoint
	lease ponder.Lease // as it was released
}

// maxShelved is how many lines are kept. Each is as big as what a mode carries on:
// the part of a conversation that its model is shown.
const maxCached = 256

// put keeps a line if it is of use.
func (s *stateCache) put(thread ponder.ThreadID, l cachedState) {
	if len(l.state.carryOver) == 0 || len(l.state.openRuns) > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.states == nil {
		s.states = make(map[ponder.ThreadID]cachedState)
	}
	s.drop(thread)
	s.states[thread] = l
	s.order = append(s.order, thread)
	if len(s.order) > maxCached {
		delete(s.states, s.order[0])
		s.order = s.order[1:]
	}
}

// take returns the line of a thread, the seq of its checkpoint, and the next lease: the
// line is what the thread is if Take returns that, or one of its fence with a newer head.
// Nobody has held the thread then, or erased anything of it, since the line was put here.
// It is not on the shelf any more.
func (s *stateCache) take(thread ponder.ThreadID) (*threadState, ponder.Seq, ponder.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.states[thread]
	if !ok {
		return nil, 0, ponder.Lease{}
	}
	s.drop(thread)
	return l.state, l.saved, ponder.Lease{Fence: l.lease.Fence + 1, Head: l.state.head, Elapsed: l.lease.Elapsed}
}

func (s *stateCache) drop(thread ponder.ThreadID) {
	if _, ok := s.states[thread]; ok {
		delete(s.states, thread)
		s.order = slices.DeleteFunc(s.order, func(id ponder.ThreadID) bool { return id == thread })
	}
}
