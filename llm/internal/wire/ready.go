package wire

import (
	"sync"

	"ponder/llm"
)

// mostReady is how much is kept that nobody has asked for: of requests that are not made
// after all.
const mostReady = 16

// Ready keeps what was made ready for requests that may be made soon. It is safe for
// concurrent use; its zero value has nothing.
type Ready[T any] struct {
	mu  sync.Mutex
	all map[*llm.Request]T
}

// Put keeps v for a request, in the place of any other if there are too many.
func (r *Ready[T]) Put(req *llm.Request, v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[*llm.Request]T)
	}
	for other := range r.all {
		if len(r.all) < mostReady {
			break
		}
		delete(r.all, other)
	}
	r.all[req] = v
}

// Take returns what is ready for a request, once.
func (r *Ready[T]) Take(req *llm.Request) (v T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok = r.all[req]
	delete(r.all, req)
	return v, ok
}
