package storetest_test

import (
	"context"
	"sync"
	"testing"

	"ponder"
	"ponder/store/memory"
	"ponder/store/storetest"
)

// A slow store implements all optional interfaces of the suite.
type slow struct {
	*memory.Store

	mu   sync.Mutex
	held *delay // delays the next append
}

type delay struct{ begun, release chan struct{} }

// DelayCommit implements [storetest.Delayer].
func (s *slow) DelayCommit(*testing.T) (begun <-chan struct{}, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &delay{begun: make(chan struct{}), release: make(chan struct{})}
	s.held = d
	return d.begun, sync.OnceFunc(func() { close(d.release) })
}

// Twin implements [storetest.SharedStore].
func (s *slow) Twin(*testing.T) ponder.Store { return s.Store }

func (s *slow) Append(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) ([]ponder.Event, error) {
	s.mu.Lock()
	d := s.held
	s.held = nil
	s.mu.Unlock()
	if d != nil {
		close(d.begun)
		<-d.release
	}
	return s.Store.Append(ctx, id, fence, events...)
}

func TestRun(t *testing.T) {
	storetest.Run(t, func(*testing.T) ponder.Store { return &slow{Store: memory.New()} })
}
