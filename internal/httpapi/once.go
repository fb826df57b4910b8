package httpapi

import (
	"context"
	"sync"
)

// maxOnce is how many keys of requests that appended nothing are known; the oldest are
// forgotten first.
const maxOnce = 4096

// Onces know which requests were made with which keys, where no event of a thread does:
// as long as the process lives. The zero value knows none. They are safe for concurrent
// use.
type onces struct {
	mu    sync.Mutex
	done  map[onceID]*once
	order []onceID
}

// A onceID names a request.
type onceID struct{ owner, route, key string }

// A once is a request that was made.
type once struct {
	words string
	over  chan struct{} // closed when value and err are set
	value any
	err   error
}

// do does a request once, and returns what that came to: also whoever comes with the same
// key again, unless the request is in other words. What failed is done again. Without a
// key, it is done each time.
func (o *onces) do(ctx context.Context, id onceID, words string, what func() (any, error)) (any, error) {
	if id.key == "" {
		return what()
	}
	for {
		one, first := o.enter(id, words)
		switch {
		case one.words != words:
			return nil, otherWords()
		case first:
			defer close(one.over)
			if one.value, one.err = what(); one.err != nil {
				o.leave(id)
			}
			return one.value, one.err
		}
		select {
		case <-one.over:
			if one.err == nil {
				return one.value, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// enter returns the request of a key, and whether it is new.
func (o *onces) enter(id onceID, words string) (one *once, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if one = o.done[id]; one != nil {
		return one, false
	}
	if o.done == nil {
		o.done = make(map[onceID]*once)
	}
	if len(o.order) >= maxOnce {
		delete(o.done, o.order[0])
		o.order = o.order[1:]
	}
	one = &once{words: words, over: make(chan struct{})}
	o.done[id], o.order = one, append(o.order, id)
	return one, true
}

// leave forgets a request that failed.
func (o *onces) leave(id onceID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.done, id)
	for i, other := range o.order {
		if other == id {
			o.order = append(o.order[:i:i], o.order[i+1:]...)
			return
		}
	}
}
