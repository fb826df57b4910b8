package web

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const patience = 30 * time.Second

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hs := newHosts(2)
		var under, most atomic.Int64
		var mu sync.Mutex
		var begins []time.Duration
		began := time.Now()
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				leave, err := hs.acquireTurn(t.Context(), "a.example", time.Second, patience)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				begins = append(begins, time.Since(began))
				mu.Unlock()
				n := under.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				<-time.After(10 * time.Second)
				under.Add(-1)
				leave()
			})
		}
		wg.Wait()
		if most.Load() != 2 {
			t.Errorf("%d at a time", most.Load())
		}
		if got, want := fmt.Sprint(begins), "[0s 1s 10s 11s 20s 21s]"; got != want {
			t.Errorf("they began at %s, not %s", got, want)
		}
		if began := time.Now(); true {
			leave, err := hs.acquireTurn(t.Context(), "b.example", time.Second, patience)
			if err != nil || time.Since(began) != 0 {
				t.Errorf("another host waits too: %v", err)
			}
			leave()
		}
	})
}

func TestTurnsThatTakeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hs := newHosts(1)
		leave, err := hs.acquireTurn(t.Context(), "a.example", 0, patience)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hs.acquireTurn(t.Context(), "a.example", 0, patience); !errors.Is(err, ErrBusy) {
			t.Errorf("a second turn: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := hs.acquireTurn(ctx, "a.example", 0, patience); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a turn that is given up: %v", err)
		}
		hs.delayHost("a.example", 20*time.Second)
		hs.delayHost("a.example", time.Second) // the longer one counts
		leave()
		began := time.Now()
		leave, err = hs.acquireTurn(t.Context(), "a.example", time.Minute, patience)
		if err != nil || time.Since(began) != 20*time.Second {
			t.Errorf("a turn after a rest: %v, %v", time.Since(began), err)
		}
		leave()
		began = time.Now()
		if _, err := hs.acquireTurn(t.Context(), "a.example", 0, patience); !errors.Is(err, ErrBusy) || time.Since(began) != 0 {
			t.Errorf("a turn that is too far off: %v, %v", time.Since(began), err)
		}
	})
}

func TestHostsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hs := newHosts(1)
		for i := range 3 * cleanupHosts {
			leave, err := hs.acquireTurn(t.Context(), fmt.Sprint(i), time.Second, patience)
			if err != nil {
				t.Fatal(err)
			}
			leave()
			if i%cleanupHosts == 0 {
				time.Sleep(time.Minute)
			}
		}
		if len(hs.byName) > 2*cleanupHosts {
			t.Errorf("%d hosts are remembered", len(hs.byName))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-1": 0, "1.5": 0, "0": time.Second, "7": 7 * time.Second, " 7 ": 7 * time.Second,
		"99999999999999999999999": maxRetryAfter, "18446744073709551615": maxRetryAfter, "9223372036854775807": maxRetryAfter, "86400": maxRetryAfter,
		"Sun, 01 Mar 2026 12:00:09 GMT": 9 * time.Second, "Sun, 01 Mar 2026 11:00:00 GMT": time.Second, "Mon, 01 Mar 9999 12:00:00 GMT": maxRetryAfter,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, not %v", value, got, want)
		}
	}
}
