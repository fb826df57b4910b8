package engine

import (
	"slices"
	"sync"

	"ponder"
)

// A stateCache keeps the states of idle threads whose next run takes over the state of the
// last one, such as conversations. The next run then starts without reading the thread. The
// cache is disposable and safe for concurrent use.
type stateCache struct {
	mu     sync.Mutex
	states map[ponder.ThreadID]cachedState
	order  []ponder.ThreadID // oldest first
}

// A cachedState is the state of a thread when its holder released the lease.
type cachedState struct {
	state *threadState
	saved ponder.Seq   // the place of the newest checkpoint
	lease ponder.Lease // as it was released
}

// maxCached limits the states in the cache. The size of a state is the part of a
// conversation that the mode sends to its model.
const maxCached = 256

// put caches the state of a thread if a run can take it over.
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

// take removes the state of a thread and returns it with the place of its checkpoint and the
// expected next lease. The state is valid if the next lease has that fence: then no process
// has held the thread or erased events since. A newer head only means new inputs.
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
