package placement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/store/memory"
)

// A scriptedWork is a Work with a scripted result for each call.
type scriptedWork struct {
	mu    sync.Mutex
	calls []string
	do    func(ctx context.Context, call int) error
}

func (s *scriptedWork) runCall(ctx context.Context, thread ponder.ThreadID) error {
	s.mu.Lock()
	s.calls = append(s.calls, string(thread))
	n := len(s.calls)
	s.mu.Unlock()
	return s.do(ctx, n)
}

func (s *scriptedWork) countCalls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

func newMemory(t *testing.T, do func(ctx context.Context, call int) error) (*Placement, *scriptedWork) {
	t.Helper()
	s := &scriptedWork{do: do}
	p := Memory(Config{Store: memory.New(), Node: ponder.Node{ID: "nod_self"}, Work: s.runCall, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { p.Close(context.Background()) })
	return p, s
}

// TestPeriod checks the outcome of a period for each result of Work.
func TestPeriod(t *testing.T) {
	broken := errors.New("disk is on fire")
	tests := []struct {
		name  string
		ends  []error // of calls of Work
		want  error
		calls int
		took  time.Duration
	}{
		{"nothing left to do", []error{nil}, nil, 1, 0},
		{"held by another", []error{fmt.Errorf("take: %w", ponder.ErrHeld)}, ponder.ErrHeld, 1, 0},
		{"broken", []error{broken}, broken, 1, 0},
		{"given up for dead, and a new node at once", []error{ponder.ErrFenced, nil}, nil, 2, 50 * time.Millisecond},
		{
			"given up for dead, and a new node after a while",
			[]error{ponder.ErrFenced, ponder.ErrFenced, ponder.ErrFenced, ponder.ErrHeld}, ponder.ErrHeld, 4, 350 * time.Millisecond,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, s := newMemory(t, func(_ context.Context, call int) error { return tt.ends[call-1] })
				begin := time.Now()
				if err := p.Start(t.Context(), "thr_a"); err != nil {
					t.Fatal(err)
				}
				if err := p.Wait(t.Context(), "thr_a"); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("ended with %v, want %v", err, tt.want)
				}
				if got := s.countCalls(); got != tt.calls || time.Since(begin) != tt.took {
					t.Errorf("%d calls in %v, want %d in %v", got, time.Since(begin), tt.calls, tt.took)
				}
				if err := p.Wait(t.Context(), "thr_a"); !errors.Is(err, tt.want) {
					t.Errorf("afterwards it has ended with %v, want %v", err, tt.want)
				}
			})
		})
	}
}

// TestStartAgain checks that a thread that is started while it runs gets another call of Work.
func TestStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newMemory(t, func(ctx context.Context, call int) error {
			sleepContext(ctx, time.Minute)
			return nil
		})
		for range 3 {
			if err := p.Start(t.Context(), "thr_a"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if got := s.countCalls(); got != 1 {
			t.Errorf("%d calls at once, want 1", got)
		}
		if err := p.Start(t.Context(), "thr_b"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := p.Wait(t.Context(), "thr_a"); err != nil {
			t.Error(err)
		}
		want := []string{"thr_a", "thr_b", "thr_a"}
		if took := time.Since(begin); took != 2*time.Minute || !slices.Equal(s.calls, want) {
			t.Errorf("calls %v in %v, want %v in 2m", s.calls, took, want)
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newMemory(t, func(ctx context.Context, call int) error {
			<-ctx.Done()
			time.Sleep(time.Second) // an orderly stop takes time
			return ctx.Err()
		})
		for _, thread := range []ponder.ThreadID{"thr_a", "thr_b"} {
			if err := p.Start(t.Context(), thread); err != nil {
				t.Fatal(err)
			}
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := p.Wait(impatient, "thr_a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waited, and got %v", err)
		}
		begin := time.Now()
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("closed in %v, want 1s", took)
		}
		if err := p.Wait(t.Context(), "thr_b"); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v of the ended work, want %v", err, context.Canceled)
		}
		if err := p.Start(t.Context(), "thr_c"); !errors.Is(err, errClosed) {
			t.Errorf("start: %v, want %v", err, errClosed)
		}
		if err := p.Schedule(t.Context(), "x", "* * * * *", func(context.Context, time.Time) error { return nil }); !errors.Is(err, errClosed) {
			t.Errorf("schedule: %v, want %v", err, errClosed)
		}
		if got := s.countCalls(); got != 2 {
			t.Errorf("%d calls, want 2", got)
		}
	})
}

// TestRecordOutcome checks the limit of stored failures.
func TestRecordOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newMemory(t, func(context.Context, int) error { return errors.New("no") })
		for i := range maxOutcomes + 50 {
			thread := ponder.ThreadID(fmt.Sprint("thr_", i))
			if err := p.Start(t.Context(), thread); err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(t.Context(), thread); err == nil {
				t.Fatal("it did not fail")
			}
		}
		if len(p.outcomes) != maxOutcomes || len(p.periods) != 0 {
			t.Errorf("%d ends and %d periods are remembered", len(p.outcomes), len(p.periods))
		}
	})
}

// TestIsRetryDue checks that the waits grow.
func TestIsRetryDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newMemory(t, func(context.Context, int) error { return errors.New("no") })
		for _, wait := range []time.Duration{failWait, 2 * failWait, 4 * failWait} {
			if err := p.Start(t.Context(), "thr_a"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if p.isRetryDue("thr_a") {
				t.Error("due at once")
			}
			time.Sleep(wait - 1)
			if p.isRetryDue("thr_a") {
				t.Errorf("due before %v", wait)
			}
			time.Sleep(time.Nanosecond)
			if !p.isRetryDue("thr_a") {
				t.Errorf("not due after %v", wait)
			}
		}
		if !p.isRetryDue("thr_b") {
			t.Error("a thread that did not fail is not due")
		}
	})
}

func TestRecoverInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := newMemory(t, func(context.Context, int) error { return nil })
		for _, id := range []ponder.ThreadID{"thr_a", "thr_b", "thr_idle"} {
			var evs []ponder.Event
			if id != "thr_idle" {
				evs = append(evs, ponder.Event{Run: "run_x", Body: ponder.RunStarted{Mode: "steps", Input: "?"}})
			}
			if err := p.Store.Create(t.Context(), ponder.Thread{ID: id, Created: time.Now()}, evs...); err != nil {
				t.Fatal(err)
			}
		}
		n, err := p.Recover(t.Context())
		if n != 2 || err != nil {
			t.Errorf("recovered %d, %v, want 2", n, err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		slices.Sort(s.calls)
		if want := []string{"thr_a", "thr_b"}; !slices.Equal(s.calls, want) {
			t.Errorf("worked on %v, want %v", s.calls, want)
		}
	})
}
