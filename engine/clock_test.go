package engine_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/store/memory"
)

// A wallClock is a clock that tests set.
type wallClock struct{ offset atomic.Int64 }

func (c *wallClock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// A wall clock that jumps by hours, while a run waits for its next attempt, changes nothing.
func TestClockJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -5 * time.Hour, "forth": 5 * time.Hour, "not": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, fails := new(wallClock), 0
				model := &fake{answer: func(*llm.Request) (string, error) {
					if fails++; fails == 2 {
						return "", &llm.Error{Class: llm.RateLimited, RetryAfter: 20 * time.Second}
					}
					return "so", nil
				}}
				c := newConfig(model)
				c.Now = clock.now
				e := enginetest.Start(t, c)
				began := time.Now()
				time.AfterFunc(15*time.Second, func() { clock.offset.Store(int64(jump)) })
				fin := runMode(t, e, "steps", ponder.Budget{})
				if took := time.Since(began); fin.Status != ponder.Completed || took > 2*time.Minute || took < 30*time.Second {
					t.Errorf("finished after %v: %+v", took, fin)
				}
			})
		})
	}
}

// The wait for the next attempt survives a checkpoint, a restart and a clock that was set back.
func TestClockJumpsWhileStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, calls := new(wallClock), 0
		model := &fake{answer: func(*llm.Request) (string, error) {
			if calls++; calls == 120 {
				return "", &llm.Error{Class: llm.RateLimited, RetryAfter: 20 * time.Second}
			}
			return "so", nil
		}, takes: func(*llm.Request) time.Duration { return time.Second }}
		c := newConfig(model)
		c.Modes[0], c.Now, c.Store = stepsMode(130), clock.now, memory.New()
		first := enginetest.Start(t, c)
		first.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		time.Sleep(155 * time.Second) // 120 calls, and some of the wait
		first.Stop()
		clock.offset.Store(-int64(5 * time.Hour))
		began := time.Now()
		if fin := enginetest.Start(t, c).Await(enginetest.Run); fin.Status != ponder.Completed || time.Since(began) > 2*time.Minute {
			t.Errorf("finished after %v: %+v", time.Since(began), fin)
		}
	})
}

// A wait that was over when a holder wrote it stays over for a holder whose clock is hours behind.
func TestClockBehindAfterWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, fails := new(wallClock), true
		clock.offset.Store(int64(9 * time.Hour))
		model := &fake{answer: func(*llm.Request) (string, error) {
			if fails {
				return "", &llm.Error{Class: llm.RateLimited, RetryAfter: time.Second}
			}
			return "so", nil
		}}
		c := newConfig(model)
		c.Now = clock.now
		first := enginetest.Start(t, c)
		first.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		var events []ponder.Event
		for len(events) == 0 || !isRetried(events[len(events)-1]) {
			time.Sleep(10 * time.Millisecond)
			events = first.Events()
		}
		first.Stop()
		events = first.Copy(events)
		events[len(events)-1].Time = events[len(events)-1].Time.Add(5 * time.Second) // the store failed for so long
		fails, c.Store = false, memory.New()
		clock.offset.Store(0)
		if err := c.Store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, events...); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if fin := enginetest.Start(t, c).Await(enginetest.Run); fin.Status != ponder.Completed || time.Since(began) > 2*time.Minute {
			t.Errorf("finished after %v: %+v", time.Since(began), fin)
		}
	})
}

// isRetried reports whether ev is the result of an attempt that is repeated.
func isRetried(ev ponder.Event) bool {
	b, ok := ev.Body.(ponder.CallFinished)
	return ok && !b.RetryAt.IsZero()
}

// A tool that must not be used twice is not used again after a pause has interrupted it.
func TestOnceToolAfterPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used atomic.Int32
		act := look
		act.Once = true
		act.Do = func(ctx context.Context, _ json.RawMessage) (string, error) {
			used.Add(1)
			select {
			case <-ctx.Done():
			case <-time.After(30 * time.Second):
			}
			return "", ctx.Err()
		}
		c := newConfig(new(fake))
		c.Tools = []ponder.Tool{act}
		e := enginetest.Start(t, c)
		e.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		for used.Load() == 0 {
			time.Sleep(time.Second)
		}
		e.Put(enginetest.Run, "p", ponder.RunPaused{})
		time.Sleep(time.Minute)
		e.Put(enginetest.Run, "p", ponder.RunResumed{})
		fin := e.Await(enginetest.Run)
		if n := used.Load(); n != 1 || fin.Status != ponder.Completed {
			t.Errorf("used %d times, %+v", n, fin)
		}
	})
}

// The end of a run has the cost of a call that an earlier holder began and a cancellation ends.
func TestSpentOfInterruptedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConfig(new(fake))
		c.Store = memory.New()
		first := enginetest.Start(t, c)
		first.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		time.Sleep(100 * time.Millisecond)
		first.Stop()
		first.Put(enginetest.Run, "c", ponder.Steer{Do: ponder.Cancel})
		e := enginetest.Start(t, c)
		fin := e.Await(enginetest.Run)
		if want := totalSpent(e.Events()); fin.Spent != want || want.Calls != 1 {
			t.Errorf("spent %+v, the calls cost %+v", fin.Spent, want)
		}
	})
}
