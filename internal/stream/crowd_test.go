package stream

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

// A countingSource source counts its calls, which take a while.
type countingSource struct {
	Source
	threads, events atomic.Int64
}

func (c *countingSource) Thread(ctx context.Context, id ponder.ThreadID) (ponder.Info, error) {
	c.threads.Add(1)
	time.Sleep(10 * time.Millisecond)
	return c.Source.Thread(ctx, id)
}

func (c *countingSource) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		time.Sleep(10 * time.Millisecond)
		for ev, err := range c.Source.Events(ctx, id, after) {
			c.events.Add(1)
			if !yield(ev, err) {
				return
			}
		}
	}
}

// Many watchers that start at the same time read the log once, and all get the new events.
func TestManyWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const before, during, crowd = 3 * pageSize, 100, 500
		store := &countingSource{Source: makeThread(t, before)}
		log := store.Source.(ponder.Store)
		hub := New(store)
		var all sync.WaitGroup
		for i := range crowd {
			all.Go(func() {
				w := hub.WatchEvents(thread, 0)
				defer w.Close()
				got, err := collectSeqs(t.Context(), w, before+during)
				if err != nil || len(got) != before+during {
					t.Errorf("watcher %d saw %d events: %v", i, len(got), err)
				}
				if info, err := w.Thread(t.Context()); err != nil || info.Head < w.Seen() {
					t.Errorf("the thread is at %d: %v", info.Head, err)
				}
			})
		}
		synctest.Wait()
		for range during {
			time.Sleep(time.Millisecond)
			appendMessages(t, log, 1)
		}
		all.Wait()
		synctest.Wait()
		if n := store.events.Load(); n > 2*(before+during) {
			t.Errorf("%d events were read for %d", n, before+during)
		}
		if n := store.threads.Load(); n > 3 {
			t.Errorf("the thread was asked for %d times", n)
		}
		time.Sleep(pageLife)
		synctest.Wait()
		if len(hub.feeds)+len(hub.watchers)+len(hub.pages.list) > 0 {
			t.Error("something is left of them")
		}
	})
}

// New watchers fill the groups of those that left.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := New(makeThread(t, 1))
		keep := hub.Watch(thread, 0)
		defer keep.Close()
		for range 5 {
			var list []*Watcher
			for range 3*groupSize - 1 {
				list = append(list, hub.Watch(thread, 0))
			}
			if n := len(keep.feed.groups); n != 3 {
				t.Fatalf("%d groups", n)
			}
			for _, w := range list {
				w.Close()
			}
		}
	})
}

// A watcher of events alone gets no pieces, and they do not wake it.
func TestEventsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := New(makeThread(t, 1))
		for _, other := range []bool{false, true} { // whether another watcher wants pieces
			w := hub.WatchEvents(thread, 1)
			if other {
				defer hub.Watch(thread, 1).Close()
			}
			synctest.Wait()
			hub.Delta(newPiece("nobody listens"))
			if other != (w.feed.piece > 0) {
				t.Errorf("%d pieces are kept", w.feed.piece)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if frames, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v (%v)", frames, err)
			}
			cancel()
			w.Close()
		}
	})
}
