package storetest

import (
	"testing"
	"time"

	"ponder"
)

var nodeChecks = []timedCheck{
	{"Beat", checkBeat},
	{"AllNodes", checkAllNodes},
}

var leaseChecks = []timedCheck{
	{"Take", checkTake},
	{"Zombie", checkZombie},
	{"Buried", checkBuried},
	{"Release", checkRelease},
	{"Retake", checkRetake},
	{"Elapsed", checkElapsed},
	{"ElapsedOfEvents", checkElapsedOfEvents},
	{"Abandoned", checkAbandoned},
	{"Held", checkHeld},
}

func beatNode(t *testing.T, s ponder.Store, id ponder.NodeID, clock time.Duration) {
	t.Helper()
	if err := s.Heartbeat(t.Context(), id, clock); err != nil {
		t.Fatal(err)
	}
}

func checkBeat(t *testing.T, s ponder.Store, pass func(time.Duration)) {
	checkError(t, "beat of a node that never joined", s.Heartbeat(t.Context(), "nod_1", 0), ponder.ErrFenced)
	joinNode(t, s, "nod_1")
	checkError(t, "join again", s.Join(t.Context(), ponder.Node{ID: "nod_1"}), ponder.ErrTaken)
	for range 5 {
		pass(ponder.DeadAfter / 2)
		beatNode(t, s, "nod_1", 0)
	}
	pass(ponder.DeadAfter)
	checkError(t, "beat after death", s.Heartbeat(t.Context(), "nod_1", 0), ponder.ErrFenced)
	checkError(t, "and once more", s.Heartbeat(t.Context(), "nod_1", 0), ponder.ErrFenced)
	joinNode(t, s, "nod_2")
	checkError(t, "bury", s.MarkDead(t.Context(), "nod_2"), nil)
	checkError(t, "beat of the buried", s.Heartbeat(t.Context(), "nod_2", 0), ponder.ErrFenced)
	checkError(t, "bury again", s.MarkDead(t.Context(), "nod_2"), nil)
	checkError(t, "bury nobody", s.MarkDead(t.Context(), "nod_3"), nil)
	checkError(t, "join after burial", s.Join(t.Context(), ponder.Node{ID: "nod_2"}), ponder.ErrTaken)
}

func checkAllNodes(t *testing.T, s ponder.Store, pass func(time.Duration)) {
	list := func(what string, want ...ponder.NodeID) []ponder.Node {
		t.Helper()
		nodes := must(s.AllNodes(t.Context()))(t)
		var got []ponder.NodeID
		for _, n := range nodes {
			got = append(got, n.ID)
		}
		checkEqual(t, what, got, want)
		return nodes
	}
	list("none")
	joinNode(t, s, "nod_1")
	n := ponder.Node{ID: "nod_2", Host: "host", Boot: "boot", PID: 1 << 30, Start: "noon"}
	checkError(t, "join", s.Join(t.Context(), n), nil)
	got := list("two", "nod_1", "nod_2")[1]
	if age := time.Since(got.Beat); age < -time.Minute || age > time.Minute {
		t.Errorf("beat at %s", got.Beat)
	}
	n.Beat = got.Beat
	checkEqual(t, "node", got, n)
	joinNode(t, s, "nod_3")
	checkError(t, "bury", s.MarkDead(t.Context(), "nod_3"), nil)
	list("without the buried", "nod_1", "nod_2")
	pass(2 * ponder.DeadAfter)
	joinNode(t, s, "nod_4")
	list("with the dead", "nod_1", "nod_2", "nod_4")
	pass(365 * 24 * time.Hour)
	joinNode(t, s, "nod_5")
	list("without those dead for long", "nod_5")
}

func checkTake(t *testing.T, s ponder.Store, pass func(time.Duration)) {
	createThread(t, s, thr, userMessage("1"), userMessage("2"))
	_, err := s.Take(t.Context(), thr, "nod_1")
	checkError(t, "take for a node that never joined", err, ponder.ErrFenced)
	joinNode(t, s, "nod_1")
	joinNode(t, s, "nod_2")
	_, err = s.Take(t.Context(), "thr_none", "nod_1")
	checkError(t, "take no thread", err, ponder.ErrNoThread)
	first := takeLease(t, s, thr, "nod_1")
	checkEqual(t, "head", first.Head, 2)
	if first.Fence <= 0 {
		t.Errorf("first fence is %d", first.Fence)
	}
	_, err = s.Take(t.Context(), thr, "nod_1")
	checkError(t, "take again", err, ponder.ErrHeld)
	_, err = s.Take(t.Context(), thr, "nod_2")
	checkError(t, "take from another", err, ponder.ErrHeld)

	pass(ponder.DeadAfter / 2)
	beatNode(t, s, "nod_2", 0)
	_, err = s.Take(t.Context(), thr, "nod_2")
	checkError(t, "take while it still lives", err, ponder.ErrHeld)
	pass(ponder.DeadAfter / 2)
	second := takeLease(t, s, thr, "nod_2")
	if second.Fence <= first.Fence {
		t.Errorf("fences %d, %d do not grow", first.Fence, second.Fence)
	}
	_, err = s.Take(t.Context(), thr, "nod_1")
	checkError(t, "take by the dead", err, ponder.ErrFenced)
	checkRefused(t, s, thr, first.Fence, ponder.ErrFenced, runEvent(root, "k", ponder.Thought{Content: "x"}))
	checkRefused(t, s, thr, second.Fence+1, ponder.ErrFenced, runEvent(root, "k", ponder.Thought{Content: "x"}))
	checkRefused(t, s, thr, -1, ponder.ErrFenced, runEvent(root, "k", ponder.Thought{Content: "x"}))
	appendEvents(t, s, thr, second.Fence, runEvent(root, "k", ponder.Thought{Content: "x"}))
}

// checkZombie has a holder miss its heartbeats while no other node takes over.
func checkZombie(t *testing.T, s ponder.Store, pass func(time.Duration)) {
	createThread(t, s, thr)
	joinNode(t, s, "nod_1")
	lease := takeLease(t, s, thr, "nod_1")
	pass(ponder.DeadAfter / 2)
	appendEvents(t, s, thr, lease.Fence, runEvent(root, "a", ponder.Thought{Content: "in time"}))
	pass(ponder.DeadAfter / 2)
	checkRefused(t, s, thr, lease.Fence, ponder.ErrFenced, runEvent(root, "b", ponder.Thought{Content: "late"}))
	checkError(t, "release", s.Release(t.Context(), thr, lease.Fence, 1, 0), ponder.ErrFenced)
	checkError(t, "beat", s.Heartbeat(t.Context(), "nod_1", 0), ponder.ErrFenced)
	checkRefused(t, s, thr, lease.Fence, ponder.ErrFenced, runEvent(root, "b", ponder.Thought{Content: "later"}))
	appendEvents(t, s, thr, 0, userMessage("anyone still may"))
}

func checkBuried(t *testing.T, s ponder.Store, _ func(time.Duration)) {
	createThread(t, s, thr)
	joinNode(t, s, "nod_1")
	joinNode(t, s, "nod_2")
	first := takeLease(t, s, thr, "nod_1")
	checkError(t, "bury", s.MarkDead(t.Context(), "nod_1"), nil)
	checkRefused(t, s, thr, first.Fence, ponder.ErrFenced, runEvent(root, "a", ponder.Thought{Content: "x"}))
	checkError(t, "release", s.Release(t.Context(), thr, first.Fence, 0, 0), ponder.ErrFenced)
	second := takeLease(t, s, thr, "nod_2")
	appendEvents(t, s, thr, second.Fence, runEvent(root, "a", ponder.Thought{Content: "x"}))
}

func checkRelease(t *testing.T, s ponder.Store, _ func(time.Duration)) {
	createThread(t, s, thr, userMessage("1"))
	joinNode(t, s, "nod_1")
	lease := takeLease(t, s, thr, "nod_1")
	release := func(fence ponder.Fence, head ponder.Seq) error {
		return s.Release(t.Context(), thr, fence, head, time.Second)
	}
	checkError(t, "release no thread", s.Release(t.Context(), "thr_none", 1, 0, 0), ponder.ErrNoThread)
	checkError(t, "release another lease", release(lease.Fence+1, 1), ponder.ErrFenced)
	checkError(t, "release no lease", release(0, 1), ponder.ErrFenced)
	appendEvents(t, s, thr, 0, userMessage("2"))
	checkError(t, "release a thread that has grown", release(lease.Fence, 1), ponder.ErrStale)
	appendEvents(t, s, thr, lease.Fence, runEvent(root, "a", ponder.Thought{Content: "the lease goes on"}))
	checkError(t, "release", release(lease.Fence, 3), nil)
	checkError(t, "release again", release(lease.Fence, 3), ponder.ErrFenced)
	checkRefused(t, s, thr, lease.Fence, ponder.ErrFenced, runEvent(root, "b", ponder.Thought{Content: "x"}))
	again := takeLease(t, s, thr, "nod_1")
	checkEqual(t, "next lease", again, ponder.Lease{Fence: lease.Fence + 1, Head: 3, Elapsed: time.Second})
}

// checkRetake has a holder return that knows the released thread.
func checkRetake(t *testing.T, s ponder.Store, _ func(time.Duration)) {
	createThread(t, s, thr, userMessage("1"))
	joinNode(t, s, "nod_1")
	first := takeLease(t, s, thr, "nod_1")
	want := ponder.Lease{Fence: first.Fence + 1, Head: 1}
	retake := func(what string, id ponder.ThreadID, node ponder.NodeID, want ponder.Lease, err error, events ...ponder.Event) {
		t.Helper()
		_, got := s.Retake(t.Context(), id, node, want, events...)
		checkError(t, what, got, err)
	}
	thought := runEvent(root, "a", ponder.Thought{Content: "x"})
	retake("of no thread", "thr_none", "nod_1", want, ponder.ErrNoThread, thought)
	retake("for a node that never joined", thr, "nod_2", want, ponder.ErrFenced, thought)
	retake("what is held", thr, "nod_1", want, ponder.ErrHeld, thought)
	checkError(t, "release", s.Release(t.Context(), thr, first.Fence, 1, time.Second), nil)
	retake("after another fence", thr, "nod_1", ponder.Lease{Fence: first.Fence, Head: 1}, ponder.ErrStale, thought)
	retake("after another head", thr, "nod_1", ponder.Lease{Fence: want.Fence}, ponder.ErrStale, thought)

	late := thought
	late.After = 7
	retake("with an event that comes too late", thr, "nod_1", want, ponder.ErrStale, late)
	retake("with a key twice", thr, "nod_1", want, ponder.ErrTaken, thought, thought)
	checkEqual(t, "held after what was refused", must(s.Thread(t.Context(), thr))(t).Held, false)

	heads, stop := s.Watch(thr)
	defer stop()
	got, err := s.Retake(t.Context(), thr, "nod_1", want, userMessage("2"), thought)
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "seqs", seqsOf(got), seqs(2, 3))
	checkEqual(t, "hint", <-heads, 3)
	checkEqual(t, "held", must(s.Thread(t.Context(), thr))(t).Held, true)
	retake("again", thr, "nod_1", ponder.Lease{Fence: want.Fence + 1, Head: 3}, ponder.ErrHeld, runEvent(root, "b", ponder.Thought{Content: "y"}))
	checkRefused(t, s, thr, first.Fence, ponder.ErrFenced, runEvent(root, "b", ponder.Thought{Content: "y"}))
	appendEvents(t, s, thr, want.Fence, runEvent(root, "b", ponder.Thought{Content: "y"}))
	checkError(t, "release", s.Release(t.Context(), thr, want.Fence, 4, 2*time.Second), nil)

	checkError(t, "erase", s.Erase(t.Context(), thr, 2), nil)
	next := ponder.Lease{Fence: want.Fence + 1, Head: 4}
	retake("after an erasure", thr, "nod_1", next, ponder.ErrStale, runEvent(root, "c", ponder.Thought{Content: "z"}))
	checkEqual(t, "elapsed", takeLease(t, s, thr, "nod_1").Elapsed, 2*time.Second)
	checkError(t, "remove", s.Remove(t.Context(), thr), nil)
	retake("of a thread that was removed", thr, "nod_1", next, ponder.ErrNoThread, thought)
}

// checkElapsed counts the thinking time of holders that released and that died.
func checkElapsed(t *testing.T, s ponder.Store, pass func(time.Duration)) {
	createThread(t, s, thr)
	joinNode(t, s, "nod_1")
	beatNode(t, s, "nod_1", 3*time.Second)
	lease := takeLease(t, s, thr, "nod_1")
	checkEqual(t, "elapsed at first", lease.Elapsed, 0)
	beatNode(t, s, "nod_1", 10*time.Second)
	checkError(t, "release", s.Release(t.Context(), thr, lease.Fence, 0, 5*time.Second), nil)
	beatNode(t, s, "nod_1", 15*time.Second)
	checkEqual(t, "elapsed as the holder counted it", takeLease(t, s, thr, "nod_1").Elapsed, 5*time.Second)
	beatNode(t, s, "nod_1", 22*time.Second)
	joinNode(t, s, "nod_2")
	beatNode(t, s, "nod_2", time.Hour)
	checkError(t, "bury", s.MarkDead(t.Context(), "nod_1"), nil)
	checkEqual(t, "elapsed up to the last beat of a buried holder", takeLease(t, s, thr, "nod_2").Elapsed, (5+7)*time.Second)
	pass(ponder.DeadAfter)
	joinNode(t, s, "nod_3")
	checkEqual(t, "elapsed of a holder that never beat", takeLease(t, s, thr, "nod_3").Elapsed, (5+7)*time.Second)
	beatNode(t, s, "nod_3", time.Minute)
	pass(365 * 24 * time.Hour)
	joinNode(t, s, "nod_4")
	last := takeLease(t, s, thr, "nod_4")
	checkEqual(t, "elapsed of a holder dead for long", last.Elapsed, (5+7+60)*time.Second)
	checkError(t, "release", s.Release(t.Context(), thr, last.Fence, 0, time.Second), nil)
	last = takeLease(t, s, thr, "nod_4")
	checkEqual(t, "elapsed never shrinks", last.Elapsed, (5+7+60)*time.Second)
	beatNode(t, s, "nod_4", time.Hour)
	checkError(t, "abandon", s.Abandon(t.Context(), thr, last.Fence, 80*time.Second), nil)
	beatNode(t, s, "nod_4", 2*time.Hour)
	checkEqual(t, "elapsed of an abandoned lease", takeLease(t, s, thr, "nod_4").Elapsed, 80*time.Second)
}

// checkElapsedOfEvents has an event of a holder report more thinking time than its
// heartbeats.
func checkElapsedOfEvents(t *testing.T, s ponder.Store, _ func(time.Duration)) {
	createThread(t, s, thr)
	joinNode(t, s, "nod_1")
	lease := takeLease(t, s, thr, "nod_1")
	thought := runEvent(root, "a", ponder.Thought{Content: "x"})
	thought.Elapsed = 1500 * time.Millisecond
	appendEvents(t, s, thr, lease.Fence, thought)
	boast := userMessage("input")
	boast.Elapsed = time.Hour
	appendEvents(t, s, thr, 0, boast)
	beatNode(t, s, "nod_1", time.Second)
	checkError(t, "bury", s.MarkDead(t.Context(), "nod_1"), nil)
	checkEqual(t, "elapsed", takeLease(t, s, thr, joinNode(t, s, "nod_2")).Elapsed, 1500*time.Millisecond)

	createThread(t, s, "thr_copy", thought, runEvent(root, "b", ponder.Thought{Content: "y"}))
	checkEqual(t, "elapsed of a copy", takeLease(t, s, "thr_copy", "nod_2").Elapsed, 1500*time.Millisecond)
}

func checkAbandoned(t *testing.T, s ponder.Store, pass func(time.Duration)) {
	list := func(what string, want ...ponder.ThreadID) {
		t.Helper()
		checkEqual(t, what, must(s.Abandoned(t.Context()))(t), want)
	}
	for i, id := range []ponder.ThreadID{"thr_3", "thr_2", "thr_1", "thr_idle"} {
		header := ponder.Thread{ID: id, Created: day.Add(time.Duration(i) * time.Second)}
		if err := s.Create(t.Context(), header); err != nil {
			t.Fatal(err)
		}
	}
	list("none is thinking")
	for _, id := range []ponder.ThreadID{"thr_1", "thr_2", "thr_3"} {
		appendEvents(t, s, id, 0, start(root))
	}
	list("oldest first", "thr_3", "thr_2", "thr_1")
	joinNode(t, s, "nod_1")
	lease := takeLease(t, s, "thr_2", "nod_1")
	list("one is held", "thr_3", "thr_1")
	appendEvents(t, s, "thr_3", 0, runEvent(root, "", ponder.RunPaused{}))
	list("one is paused", "thr_1")
	checkError(t, "remove", s.Remove(t.Context(), "thr_1"), nil)
	list("one is gone")
	checkError(t, "release", s.Release(t.Context(), "thr_2", lease.Fence, 1, 0), nil)
	list("released while it thinks", "thr_2")
	lease = takeLease(t, s, "thr_2", "nod_1")
	pass(ponder.DeadAfter)
	list("its holder is dead", "thr_2")
	joinNode(t, s, "nod_2")
	lease = takeLease(t, s, "thr_2", "nod_2")
	appendEvents(t, s, "thr_2", lease.Fence, runEvent(root, "", ponder.RunFinished{Status: ponder.Completed, Answer: "a"}))
	checkError(t, "bury", s.MarkDead(t.Context(), "nod_2"), nil)
	list("it is done, but its holder died before the release", "thr_2")
	checkError(t, "release by the dead", s.Release(t.Context(), "thr_2", lease.Fence, 2, 0), ponder.ErrFenced)
	lease = takeLease(t, s, "thr_2", joinNode(t, s, "nod_3"))
	list("the next holder has it")
	checkError(t, "release", s.Release(t.Context(), "thr_2", lease.Fence, 2, 0), nil)
	list("it is done and released")
	takeLease(t, s, "thr_3", "nod_3")
	list("one is paused and held")
	pass(ponder.DeadAfter)
	list("it is paused, and its holder is dead", "thr_3")
	lease = takeLease(t, s, "thr_3", joinNode(t, s, "nod_4"))
	checkError(t, "release", s.Release(t.Context(), "thr_3", lease.Fence, 2, 0), nil)
	list("it is paused and released")
	appendEvents(t, s, "thr_3", 0, runEvent(root, "", ponder.Steer{Do: ponder.Cancel}))
	list("what is paused is to be cancelled", "thr_3")
	lease = takeLease(t, s, "thr_3", "nod_4")
	list("it is held")
	abandon := func(fence ponder.Fence) error { return s.Abandon(t.Context(), "thr_3", fence, 0) }
	checkError(t, "abandon no lease", abandon(0), ponder.ErrFenced)
	checkError(t, "abandon an earlier lease", abandon(lease.Fence-1), ponder.ErrFenced)
	checkError(t, "abandon", abandon(lease.Fence), nil)
	checkError(t, "abandon again", abandon(lease.Fence), ponder.ErrFenced)
	checkRefused(t, s, "thr_3", lease.Fence, ponder.ErrFenced, runEvent(root, "b", ponder.Thought{Content: "x"}))
	lease = takeLease(t, s, "thr_3", "nod_4")
	appendEvents(t, s, "thr_3", lease.Fence, runEvent(root, "", ponder.RunFinished{Status: ponder.Cancelled}))
	checkError(t, "abandon after the end", abandon(lease.Fence), nil)
	list("it is done, but abandoned", "thr_3")
	checkEqual(t, "held", must(s.Thread(t.Context(), "thr_3"))(t).Held, false)
	takeLease(t, s, "thr_3", "nod_4")
	checkError(t, "remove", s.Remove(t.Context(), "thr_3"), nil)
	checkError(t, "bury", s.MarkDead(t.Context(), "nod_4"), nil)
	list("a removed thread has no holder")
}

func checkHeld(t *testing.T, s ponder.Store, pass func(time.Duration)) {
	createThread(t, s, thr)
	held := func(what string, want bool) {
		t.Helper()
		checkEqual(t, what, must(s.Thread(t.Context(), thr))(t).Held, want)
		checkEqual(t, what+", listed", must(s.List(t.Context(), ponder.Filter{}))(t)[0].Held, want)
	}
	held("never", false)
	joinNode(t, s, "nod_1")
	lease := takeLease(t, s, thr, "nod_1")
	held("taken", true)
	checkError(t, "release", s.Release(t.Context(), thr, lease.Fence, 0, 0), nil)
	held("released", false)
	takeLease(t, s, thr, "nod_1")
	pass(ponder.DeadAfter)
	held("by the dead", false)
}
