package engine_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/store/memory"
)

// failingStore is a store whose appends by holders fail until a time.
type failingStore struct {
	ponder.Store
	mu    sync.Mutex
	after int // appends that succeed
	err   error
	until time.Time // and then again
}

func (s *failingStore) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	s.mu.Lock()
	s.after--
	fails := f != 0 && s.after < 0 && (s.until.IsZero() || time.Now().Before(s.until))
	s.mu.Unlock()
	if fails {
		return nil, s.err
	}
	return s.Store.Append(ctx, id, f, evs...)
}

// workSteps creates the thread with a run of the mode steps and works on it once.
func workSteps(t *testing.T, store ponder.Store, m *fake) error {
	t.Helper()
	c := newConfig(m)
	c.Store = store
	err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, ponder.Event{Run: enginetest.Run, Body: ponder.RunStarted{Mode: "steps", Input: "?"}})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		t.Fatal(err)
	}
	return workOnce(t, c)
}

// workOnce works on the thread once as another process, for an hour at most.
func workOnce(t *testing.T, c engine.Config) error {
	t.Helper()
	eng, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer eng.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	return eng.Work(ctx, enginetest.Thread)
}

// A full disk stops the work. Acknowledged events stay, and the work continues when there
// is space.
func TestFullDisk(t *testing.T) {
	for _, full := range []error{ponder.ErrFull, ponder.ErrReadOnly, ponder.ErrDamaged} {
		for after := range 7 {
			synctest.Test(t, func(t *testing.T) {
				store, m := memory.New(), new(fake)
				if err := workSteps(t, &failingStore{Store: store, after: after, err: full}, m); !errors.Is(err, full) {
					t.Fatalf("full after %d appends: %v, want %v", after, err, full)
				}
				before := enginetest.Events(t, store)
				if err := workSteps(t, store, m); err != nil {
					t.Fatal(err)
				}
				evs := enginetest.Events(t, store)
				for i, ev := range before {
					if evs[i].ID != ev.ID {
						t.Errorf("event %d was lost", i+1)
					}
				}
				fin, ok := evs[len(evs)-1].Body.(ponder.RunFinished)
				if !ok || fin.Status != ponder.Completed {
					t.Errorf("ended with %+v", evs[len(evs)-1])
				}
				if over := int(m.begun.Load()) - 5; over < 0 || over > 1 {
					t.Errorf("%d calls, want 5 and at most one that was in flight", m.begun.Load())
				}
				if m.begun.Load() != m.ended.Load() {
					t.Errorf("%d calls began, %d ended", m.begun.Load(), m.ended.Load())
				}
			})
		}
	}
}

// A database failure that is shorter than the lease only costs time.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, m := memory.New(), new(fake)
		away := &failingStore{Store: store, after: 3, err: errors.New("connection refused"), until: time.Now().Add(20 * time.Second)}
		if err := workSteps(t, away, m); err != nil {
			t.Fatal(err)
		}
		if m.begun.Load() != 5 {
			t.Errorf("%d calls, want 5", m.begun.Load())
		}
	})
}

// Work returns an error if the database fails for long.
func TestLongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, m, gone, began := memory.New(), new(fake), errors.New("disk error"), time.Now()
		if err := workSteps(t, &failingStore{Store: store, after: 3, err: gone}, m); !errors.Is(err, gone) || time.Since(began) > 5*time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		if err := workSteps(t, store, m); err != nil {
			t.Fatal(err)
		}
		if m.begun.Load() > 6 {
			t.Errorf("%d calls, want 5 and at most one that was in flight", m.begun.Load())
		}
	})
}

// lostStore is a store that rejects writes after a time.
type lostStore struct {
	failingStore
	from time.Time
}

func (s *lostStore) Heartbeat(ctx context.Context, id ponder.NodeID, clock time.Duration) error {
	if time.Now().After(s.from) {
		return s.err
	}
	return s.Store.Heartbeat(ctx, id, clock)
}

func (s *lostStore) Join(ctx context.Context, n ponder.Node) error {
	if time.Now().After(s.from) {
		return s.err
	}
	return s.Store.Join(ctx, n)
}

// Work on a store that rejects writes returns the error of the store, and not ErrFenced. If
// the store is lost, it returns at once.
func TestLostStore(t *testing.T) {
	for _, tt := range []struct {
		err    error
		within time.Duration
	}{
		{ponder.ErrDisk, ponder.DeadAfter + ponder.HeartbeatInterval}, {ponder.ErrLost, 2 * ponder.HeartbeatInterval},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &fake{takes: func(*llm.Request) time.Duration { return time.Hour }}
			from := time.Now().Add(time.Second)
			store := &lostStore{failingStore{Store: memory.New(), after: 3, err: tt.err}, from}
			if err := workSteps(t, store, m); !errors.Is(err, tt.err) || errors.Is(err, ponder.ErrFenced) || time.Since(from) > tt.within {
				t.Errorf("got %v after %v, want %v", err, time.Since(from), tt.err)
			}
		})
	}
}

// uncertainStore is a store whose disk fails some times after an append is recorded.
type uncertainStore struct {
	ponder.Store
	mu    sync.Mutex
	after int // appends that succeed
	fails int // attempts after that
	empty int // attempts to append nothing
}

func (s *uncertainStore) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	stored, err := s.Store.Append(ctx, id, f, evs...)
	return s.failSync(ctx, f, stored, err, len(evs))
}

func (s *uncertainStore) Retake(ctx context.Context, id ponder.ThreadID, n ponder.NodeID, l ponder.Lease, evs ...ponder.Event) ([]ponder.Event, error) {
	stored, err := s.Store.Retake(ctx, id, n, l, evs...)
	return s.failSync(ctx, l.Fence, stored, err, len(evs))
}

func (s *uncertainStore) failSync(ctx context.Context, f ponder.Fence, stored []ponder.Event, err error, n int) ([]ponder.Event, error) {
	if err != nil || f == 0 {
		return stored, err
	}
	ponder.Recorded(ctx)()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 {
		s.empty++
	}
	if s.after--; s.after < 0 && s.after >= -s.fails {
		return nil, ponder.ErrFull
	}
	return stored, nil
}

// The engine does not repeat a recorded append, or its calls, after a disk failure.
func TestAppendAfterDiskFailure(t *testing.T) {
	for after := range 7 {
		synctest.Test(t, func(t *testing.T) {
			m := new(fake)
			store := &uncertainStore{Store: memory.New(), after: after, fails: 3}
			if err := workSteps(t, store, m); err != nil {
				t.Fatalf("after %d appends: %v", after, err)
			}
			if m.begun.Load() != 5 || m.ended.Load() != 5 || store.empty != 3 {
				t.Errorf("after %d appends: %d calls began, %d ended, want 5; %d empty appends, want 3", after, m.begun.Load(), m.ended.Load(), store.empty)
			}
			if evs := enginetest.Events(t, store); evs[len(evs)-1].Body.(ponder.RunFinished).Status != ponder.Completed {
				t.Errorf("after %d appends: ended with %+v", after, evs[len(evs)-1])
			}
		})
	}
}

// slowDisk is a store whose disk takes a second after an append is recorded.
type slowDisk struct {
	ponder.Store
	waiting atomic.Bool // for the disk
}

func (s *slowDisk) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	stored, err := s.Store.Append(ctx, id, f, evs...)
	if recorded := ponder.Recorded(ctx); err == nil && recorded != nil {
		s.waiting.Store(true)
		recorded()
		time.Sleep(time.Second)
		s.waiting.Store(false)
	}
	return stored, err
}

// The engine asks a model while it waits for the disk, and publishes the text after that.
func TestDeltasOnceDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowDisk{Store: memory.New()}
		var early, published, tooEarly atomic.Int32
		c := newConfig(&fake{takes: func(*llm.Request) time.Duration {
			if store.waiting.Load() {
				early.Add(1)
			}
			return time.Millisecond
		}})
		c.Store = store
		c.OnDelta = func(ponder.Delta) {
			published.Add(1)
			if store.waiting.Load() {
				tooEarly.Add(1)
			}
		}
		eng := enginetest.Start(t, c)
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		eng.Await(enginetest.Run)
		if early.Load() == 0 || published.Load() == 0 || tooEarly.Load() != 0 {
			t.Errorf("%d calls were made while the disk was waited for, %d deltas published, %d of them before it was through", early.Load(), published.Load(), tooEarly.Load())
		}
	})
}

// Calls in flight stay open for the next process when a process stops.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(fake)
		eng := enginetest.Start(t, newConfig(m))
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		time.Sleep(time.Second)
		eng.Stop()
		if open := openCalls(eng.Events()); len(open) != 1 || m.begun.Load() != m.ended.Load() {
			t.Errorf("open: %v; %d calls began, %d ended", open, m.begun.Load(), m.ended.Load())
		}
	})
}

// slowStore is a store whose appends by holders take a minute while it is slow.
type slowStore struct {
	ponder.Store
	mu   sync.Mutex
	slow bool
}

func (s *slowStore) set(slow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = slow
}

func (s *slowStore) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	s.mu.Lock()
	slow := s.slow && f != 0
	s.mu.Unlock()
	if slow {
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.Append(ctx, id, f, evs...)
}

// An answer that waits for the store when its process stops is stored, so that the call is
// not repeated.
func TestShutdownKeepsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mine atomic.Int32
		m := &fake{takes: func(r *llm.Request) time.Duration {
			if r.Messages[0].Text() == "mine" {
				mine.Add(1)
				return 3 * time.Second
			}
			return time.Minute
		}}
		store := &slowStore{Store: memory.New()}
		c := newConfig(m)
		c.Store = store
		eng := enginetest.Start(t, c)
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "panel", Input: "?"})
		time.Sleep(2 * time.Second)
		store.set(true)
		time.Sleep(2 * time.Second)
		store.set(false)
		eng.Stop()
		next := enginetest.Start(t, c)
		if fin := next.Await(enginetest.Run); fin.Status != ponder.Completed || mine.Load() != 1 {
			t.Errorf("finished %+v, and asked %d times", fin, mine.Load())
		}
	})
}
