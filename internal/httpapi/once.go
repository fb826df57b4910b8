package httpapi

import (
	"context"
	"sync"
)

// A onceID names a request with an Idempotency-Key.
type onceID struct{ owner, route, key string }

// A onceLock is a lock for each request that is being answered. The zero value is ready.
type onceLock struct {
	mu   sync.Mutex
	held map[onceID]chan struct{} // closed when the request is answered
}

// lock waits until no other request has the same id.
func (o *onceLock) lock(ctx context.Context, id onceID) (unlock func(), err error) {
	for {
		o.mu.Lock()
		over, busy := o.held[id]
		if !busy {
			break
		}
		o.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer o.mu.Unlock()
	if o.held == nil {
		o.held = make(map[onceID]chan struct{})
	}
	over := make(chan struct{})
	o.held[id] = over
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.held, id)
		close(over)
	}, nil
}
