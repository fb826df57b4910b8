package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"ponder"
)

var followChecks = []check{
	{"Watch", checkWatch},
	{"WatchStop", checkWatchStop},
	{"FollowOneThread", checkFollowOne},
	{"FollowManyThreads", checkFollowMany},
}

// waitTimeout limits the wait of a check.
const waitTimeout = 30 * time.Second

// waitHint waits for a hint of head.
func waitHint(t *testing.T, heads <-chan ponder.Seq, head ponder.Seq) {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		select {
		case got := <-heads:
			if got == head {
				return
			}
		case <-late:
			t.Fatalf("no hint that the head is %d", head)
		}
	}
}

// checkNoHint checks that no hint waits.
func checkNoHint(t *testing.T, heads <-chan ponder.Seq) {
	t.Helper()
	select {
	case head := <-heads:
		t.Errorf("hint %d without a reason", head)
	default:
	}
}

func checkWatch(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, userMessage("1"))
	createThread(t, s, "thr_b")
	one, stop := s.Watch(thr)
	defer stop()
	two, stop := s.Watch(thr)
	defer stop()
	other, stop := s.Watch("thr_b")
	defer stop()
	later, stop := s.Watch("thr_later")
	defer stop()
	appendEvents(t, s, thr, 0, userMessage("2"), userMessage("3"))
	waitHint(t, one, 3)
	appendEvents(t, s, thr, 0, userMessage("4"))
	waitHint(t, one, 4)
	waitHint(t, two, 4)
	checkNoHint(t, other)
	createThread(t, s, "thr_later", userMessage("1"))
	waitHint(t, later, 1)
	if err := s.Remove(t.Context(), thr); err != nil {
		t.Fatal(err)
	}
	waitHint(t, one, 0)
	waitHint(t, two, 0)
}

func checkWatchStop(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	heads, stop := s.Watch(thr)
	stop()
	stop()
	appendEvents(t, s, thr, 0, userMessage("1"))
	select {
	case head, ok := <-heads:
		t.Errorf("after stop: got %d, %v", head, ok)
	default:
	}
	heads, stop = s.Watch(thr)
	defer stop()
	appendEvents(t, s, thr, 0, userMessage("2"))
	waitHint(t, heads, 2)
}

// follow reads a thread as it grows until it has n events, and checks that it gets each
// once.
func follow(ctx context.Context, s ponder.Store, id ponder.ThreadID, n int) error {
	heads, stop := s.Watch(id)
	defer stop()
	seen := ponder.Seq(0)
	for {
		for ev, err := range s.Events(ctx, id, seen) {
			if err != nil {
				return err
			}
			if ev.Seq != seen+1 || ev.Thread != id {
				return fmt.Errorf("event %d of %s came after %d of %s", ev.Seq, ev.Thread, seen, id)
			}
			seen = ev.Seq
		}
		if int(seen) >= n {
			return nil
		}
		select {
		case <-heads:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w after event %d of %d", id, ctx.Err(), seen, n)
		}
	}
}

// A crew writes and follows concurrently.
type crew struct {
	t  *testing.T
	wg sync.WaitGroup
}

func (c *crew) write(s ponder.Store, id ponder.ThreadID, appends int) {
	c.wg.Go(func() {
		for i := range appends {
			events := []ponder.Event{userMessage("a"), userMessage("b"), userMessage("c")}
			if _, err := s.Append(c.t.Context(), id, 0, events[:i%3+1]...); err != nil {
				c.t.Error(err)
			}
		}
	})
}

func (c *crew) follow(s ponder.Store, id ponder.ThreadID, n int) {
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.t.Context(), waitTimeout)
		defer cancel()
		if err := follow(ctx, s, id, n); err != nil {
			c.t.Error(err)
		}
	})
}

func checkFollowOne(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	c := crew{t: t}
	const writers, appends, followers = 16, 60, 8
	for range writers {
		c.write(s, thr, appends)
	}
	for range followers {
		c.follow(s, thr, writers*appends*2)
	}
	c.wg.Wait()
}

func checkFollowMany(t *testing.T, s ponder.Store) {
	c := crew{t: t}
	const threads, writers, appends = 40, 3, 15
	for i := range threads {
		id := ponder.ThreadID(fmt.Sprint("thr_", i))
		createThread(t, s, id)
		c.follow(s, id, writers*appends*2)
		for range writers {
			c.write(s, id, appends)
		}
	}
	c.wg.Wait()
}

// checkOutOfOrder delays the commit of an append until a later one commits. A follower by a
// global number must not miss the first one.
func checkOutOfOrder(t *testing.T, open opener) {
	s := open(t)
	d, ok := s.(Delayer)
	if !ok {
		return // the checks FollowManyThreads and Twin cover such a store
	}
	createThread(t, s, "thr_slow")
	createThread(t, s, "thr_fast")
	c := crew{t: t}
	c.follow(s, "thr_slow", 2)
	c.follow(s, "thr_fast", 1)
	begun, release := d.DelayCommit(t)
	c.wg.Go(func() { s.Append(t.Context(), "thr_slow", 0, userMessage("held back")) })
	<-begun
	heads, stop := s.Watch("thr_fast")
	defer stop()
	appendEvents(t, s, "thr_fast", 0, userMessage("overtakes"))
	waitHint(t, heads, 1)
	c.wg.Go(func() { s.Append(t.Context(), "thr_slow", 0, userMessage("behind it")) })
	release()
	c.wg.Wait()
}

// checkTwins runs checks with two stores on the same data.
func checkTwins(t *testing.T, open opener) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, a, b ponder.Store)
	}{
		{"Hint", checkTwinHint},
		{"Follow", checkTwinFollow},
		{"Keys", checkTwinKeys},
		{"Leases", checkTwinLeases},
		{"Remove", checkTwinRemove},
		{"Standing", checkTwinStatus},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := open(t)
			b := a
			if twin, ok := a.(SharedStore); ok {
				b = twin.Twin(t)
			}
			c.do(t, a, b)
		})
	}
}

func checkTwinHint(t *testing.T, a, b ponder.Store) {
	createThread(t, a, thr)
	heads, stop := b.Watch(thr)
	defer stop()
	for seq := ponder.Seq(1); seq <= 5; seq++ {
		appendEvents(t, a, thr, 0, userMessage("x"))
		waitHint(t, heads, seq)
	}
}

func checkTwinFollow(t *testing.T, a, b ponder.Store) {
	c := crew{t: t}
	const threads, appends = 8, 40
	for i := range threads {
		id := ponder.ThreadID(fmt.Sprint("thr_", i))
		createThread(t, a, id)
		for _, s := range []ponder.Store{a, b} {
			c.follow(s, id, 2*appends*2-2)
			c.write(s, id, appends)
		}
	}
	c.wg.Wait()
}

func checkTwinKeys(t *testing.T, a, b ponder.Store) {
	createThread(t, a, thr)
	const keys = 30
	wins := [2]int{}
	var wg sync.WaitGroup
	for i, s := range []ponder.Store{a, b} {
		wg.Go(func() {
			for k := range keys {
				if _, err := s.Append(t.Context(), thr, 0, sayOnce(fmt.Sprint(k), "won"), userMessage("beside")); err == nil {
					wins[i]++
				}
			}
		})
	}
	wg.Wait()
	checkEqual(t, "keys taken", wins[0]+wins[1], keys)
	checkEqual(t, "events", seqsOf(readEvents(t, b, thr, 0)), seqs(1, 2*keys))
}

func checkTwinLeases(t *testing.T, a, b ponder.Store) {
	createThread(t, a, thr)
	first := takeLease(t, a, thr, joinNode(t, a, "nod_a"))
	joinNode(t, b, "nod_b")
	_, err := b.Take(t.Context(), thr, "nod_b")
	checkError(t, "take what another has", err, ponder.ErrHeld)
	appendEvents(t, a, thr, first.Fence, runEvent(root, "k", ponder.Thought{Content: "1"}))
	appendEvents(t, b, thr, 0, userMessage("2"))
	checkError(t, "release what has grown", a.Release(t.Context(), thr, first.Fence, 1, 0), ponder.ErrStale)
	if err := b.MarkDead(t.Context(), "nod_a"); err != nil {
		t.Fatal(err)
	}
	checkRefused(t, a, thr, first.Fence, ponder.ErrFenced, runEvent(root, "l", ponder.Thought{Content: "zombie"}))
	second := takeLease(t, b, thr, "nod_b")
	checkEqual(t, "lease", second, ponder.Lease{Fence: first.Fence + 1, Head: 2})
	checkRefused(t, a, thr, first.Fence, ponder.ErrFenced, runEvent(root, "l", ponder.Thought{Content: "zombie"}))
	appendEvents(t, b, thr, second.Fence, runEvent(root, "l", ponder.Thought{Content: "3"}))
	checkEqual(t, "seqs", seqsOf(readEvents(t, a, thr, 0)), seqs(1, 3))
}

func checkTwinRemove(t *testing.T, a, b ponder.Store) {
	createThread(t, a, thr)
	fence := leaseThread(t, a, thr)
	heads, stop := a.Watch(thr)
	defer stop()
	if err := b.Remove(t.Context(), thr); err != nil {
		t.Fatal(err)
	}
	waitHint(t, heads, 0)
	_, err := a.Append(t.Context(), thr, fence, userMessage("x"))
	checkError(t, "append of the holder", err, ponder.ErrFenced)
	createThread(t, a, "thr_b")
	heads, stop = b.Watch("thr_b")
	defer stop()
	appendEvents(t, a, "thr_b", 0, userMessage("numbers are not used again"))
	waitHint(t, heads, 1)
}
