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

// failing is a store whose appends by holders fail for a while.
type failing struct {
	ponder.Store
	mu    sync.Mutex
	after int // appends that succeed
	err   error
	until time.Time // and then again
}

func (s *failing) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	s.mu.Lock()
	s.after--
	fails := f != 0 && s.after < 0 && (s.until.IsZero() || time.Now().Before(s.until))
	s.mu.Unlock()
	if fails {
		return nil, s.err
	}
	return s.Store.Append(ctx, id, f, evs...)
}

// work creates the thread with a run of the mode steps and works on it once.
func work(t *testing.T, store ponder.Store, m *fake) error {
	t.Helper()
	c := config(m)
	c.Store = store
	err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, ponder.Event{Run: enginetest.Run, Body: ponder.RunStarted{Mode: "steps", Input: "?"}})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		t.Fatal(err)
	}
	return workOnce(t, c)
}

// workOnce works on the thread once, as a process of its own, for an hour at most.
func workOnce(t *testing.T, c engine.Config) error {
	t.Helper()
	mind, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := mind.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer mind.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	return mind.Work(ctx, enginetest.Thread)
}

// A full disk stops the work with what was acknowledged in place, and what was
// going on is gone on with once there is room.
func TestFullDisk(t *testing.T) {
	for _, full := range []error{ponder.ErrFull, ponder.ErrReadOnly, ponder.ErrDamaged} {
		for after := range 7 {
			synctest.Test(t, func(t *testing.T) {
				store, m := memory.New(), new(fake)
				if err := work(t, &failing{Store: store, after: after, err: full}, m); !errors.Is(err, full) {
					t.Fatalf("full after %d appends: %v, want %v", after, err, full)
				}
				before := enginetest.Events(t, store)
				if err := work(t, store, m); err != nil {
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

// A database that is away for less than the lease lasts costs nothing but time.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, m := memory.New(), new(fake)
		away := &failing{Store: store, after: 3, err: errors.New("connection refused"), until: time.Now().Add(20 * time.Second)}
		if err := work(t, away, m); err != nil {
			t.Fatal(err)
		}
		if m.begun.Load() != 5 {
			t.Errorf("%d calls, want 5", m.begun.Load())
		}
	})
}

// A database that fails for long is not tried for ever.
func TestLongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, m, gone, began := memory.New(), new(fake), errors.New("disk error"), time.Now()
		if err := work(t, &failing{Store: store, after: 3, err: gone}, m); !errors.Is(err, gone) || time.Since(began) > 5*time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		if err := work(t, store, m); err != nil {
			t.Fatal(err)
		}
		if m.begun.Load() > 6 {
			t.Errorf("%d calls, want 5 and at most one that was in flight", m.begun.Load())
		}
	})
}

// gone is a store that can't be written to any more after a while.
type gone struct {
	failing
	from time.Time
}

func (s *gone) Beat(ctx context.Context, id ponder.NodeID, clock time.Duration) error {
	if time.Now().After(s.from) {
		return s.err
	}
	return s.Store.Beat(ctx, id, clock)
}

func (s *gone) Join(ctx context.Context, n ponder.Node) error {
	if time.Now().After(s.from) {
		return s.err
	}
	return s.Store.Join(ctx, n)
}

// Work on a store that can't be written to ends with why, and not as if another process had
// the thread: at once, if the store is lost.
func TestGoneStore(t *testing.T) {
	for _, tt := range []struct {
		err    error
		within time.Duration
	}{
		{ponder.ErrDisk, ponder.DeadAfter + ponder.BeatEvery}, {ponder.ErrLost, 2 * ponder.BeatEvery},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &fake{takes: func(*llm.Request) time.Duration { return time.Hour }}
			from := time.Now().Add(time.Second)
			store := &gone{failing{Store: memory.New(), after: 3, err: tt.err}, from}
			if err := work(t, store, m); !errors.Is(err, tt.err) || errors.Is(err, ponder.ErrFenced) || time.Since(from) > tt.within {
				t.Errorf("got %v after %v, want %v", err, time.Since(from), tt.err)
			}
		})
	}
}

// doubtful is a store whose disk fails some times once an append is recorded.
type doubtful struct {
	ponder.Store
	mu    sync.Mutex
	after int // appends that succeed
	fails int // attempts after that
	empty int // attempts to append nothing
}

func (s *doubtful) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	stored, err := s.Store.Append(ctx, id, f, evs...)
	return s.settle(ctx, f, stored, err, len(evs))
}

func (s *doubtful) Retake(ctx context.Context, id ponder.ThreadID, n ponder.NodeID, l ponder.Lease, evs ...ponder.Event) ([]ponder.Event, error) {
	stored, err := s.Store.Retake(ctx, id, n, l, evs...)
	return s.settle(ctx, l.Fence, stored, err, len(evs))
}

func (s *doubtful) settle(ctx context.Context, f ponder.Fence, stored []ponder.Event, err error, n int) ([]ponder.Event, error) {
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

// What is recorded though the disk failed is not written again, nor a call of it made again.
func TestDoubtful(t *testing.T) {
	for after := range 7 {
		synctest.Test(t, func(t *testing.T) {
			m := new(fake)
			store := &doubtful{Store: memory.New(), after: after, fails: 3}
			if err := work(t, store, m); err != nil {
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

// slowDisk is a store whose disk takes a second once an append is recorded.
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

// A model is asked while the disk is waited for, and heard by others after that.
func TestHeardOnceDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowDisk{Store: memory.New()}
		var early, heard, tooEarly atomic.Int32
		c := config(&fake{takes: func(*llm.Request) time.Duration {
			if store.waiting.Load() {
				early.Add(1)
			}
			return time.Millisecond
		}})
		c.Store = store
		c.OnDelta = func(ponder.Delta) {
			heard.Add(1)
			if store.waiting.Load() {
				tooEarly.Add(1)
			}
		}
		mind := enginetest.Start(t, c)
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		mind.Await(enginetest.Run)
		if early.Load() == 0 || heard.Load() == 0 || tooEarly.Load() != 0 {
			t.Errorf("%d calls were made while the disk was waited for, %d words heard, %d of them before it was through", early.Load(), heard.Load(), tooEarly.Load())
		}
	})
}

// Calls in flight when a process is told to end are left open for the next one.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(fake)
		mind := enginetest.Start(t, config(m))
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		time.Sleep(time.Second)
		mind.Stop()
		if open := openCalls(mind.Events()); len(open) != 1 || m.begun.Load() != m.ended.Load() {
			t.Errorf("open: %v; %d calls began, %d ended", open, m.begun.Load(), m.ended.Load())
		}
	})
}

// busy is a store whose appends by holders take a minute, for a while.
type busy struct {
	ponder.Store
	mu   sync.Mutex
	slow bool
}

func (s *busy) set(slow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = slow
}

func (s *busy) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
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

// An answer that waited to be written when a process was told to end is not
// asked for again.
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
		store := &busy{Store: memory.New()}
		c := config(m)
		c.Store = store
		mind := enginetest.Start(t, c)
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "panel", Input: "?"})
		time.Sleep(2 * time.Second)
		store.set(true)
		time.Sleep(2 * time.Second)
		store.set(false)
		mind.Stop()
		next := enginetest.Start(t, c)
		if fin := next.Await(enginetest.Run); fin.Status != ponder.Completed || mine.Load() != 1 {
			t.Errorf("finished %+v, and asked %d times", fin, mine.Load())
		}
	})
}
