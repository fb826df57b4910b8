package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/llm"
)

var eraseChecks = []check{
	{"Erase", checkErase},
	{"EraseNone", checkEraseNone},
	{"EraseOverAppends", checkEraseOverAppends},
	{"EraseRequest", checkEraseRequest},
	{"EraseTitle", checkEraseTitle},
	{"EraseCheckpoints", checkEraseCheckpoints},
	{"EraseFence", checkEraseFence},
	{"EraseWhileGrowing", checkEraseWhileGrowing},
	{"EraseAtOnce", checkEraseAtOnce},
}

func erase(t *testing.T, s ponder.Store, seqs ...ponder.Seq) {
	t.Helper()
	checkError(t, fmt.Sprint("erase ", seqs), s.Erase(t.Context(), thr, seqs...), nil)
}

// withoutContent returns the events as they must be after an erasure.
func withoutContent(events []ponder.Event, seqs ...ponder.Seq) []ponder.Event {
	events = append([]ponder.Event(nil), events...)
	for _, seq := range seqs {
		events[seq-1] = events[seq-1].WithoutContent()
	}
	return events
}

// checkErase erases events of every type, one by one.
func checkErase(t *testing.T, s ponder.Store) {
	var events []ponder.Event
	for line := range strings.Lines(lines) {
		var ev ponder.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	createThread(t, s, thr, events...)
	createThread(t, s, "thr_b", events...)
	want := readEvents(t, s, thr, 0)
	other := readEvents(t, s, "thr_b", 0)
	info := must(s.Thread(t.Context(), thr))(t)
	for _, seq := range []ponder.Seq{3, 1, 11, 2, 10, 4, 9, 5, 8, 6, 7} {
		want = withoutContent(want, seq)
		for range 2 { // the second erasure changes nothing
			erase(t, s, seq)
			checkEqual(t, fmt.Sprint("after ", seq), readEvents(t, s, thr, 0), want)
		}
	}
	checkEqual(t, "read from the middle", readEvents(t, s, thr, 6), want[6:])
	checkEqual(t, "info", must(s.Thread(t.Context(), thr))(t), info)
	checkEqual(t, "the other thread", readEvents(t, s, "thr_b", 0), other)
	checkEqual(t, "seq of what comes then", seqsOf(appendEvents(t, s, thr, 0, userMessage("more"))), seqs(12, 12))
	checkEqual(t, "seqs", seqsOf(readEvents(t, s, thr, 0)), seqs(1, 12))
	checkRefused(t, s, thr, leaseThread(t, s, thr), ponder.ErrTaken, events[3])
}

func checkEraseNone(t *testing.T, s ponder.Store) {
	checkError(t, "no thread", s.Erase(t.Context(), thr, 1), ponder.ErrNoThread)
	createThread(t, s, thr, userMessage("1"), userMessage("2"))
	for _, seq := range []ponder.Seq{0, -1, 3, 1 << 60} {
		checkError(t, "no event", s.Erase(t.Context(), thr, 1, seq, 2), ponder.ErrNoEvent)
	}
	erase(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkError(t, "a context that is done", s.Erase(ctx, thr, 1), context.Canceled)
	checkEqual(t, "thread", texts(t, s, thr, 0), []string{"1", "2"})
	checkError(t, "remove", s.Remove(t.Context(), thr), nil)
	checkError(t, "a thread that was removed", s.Erase(t.Context(), thr, 1), ponder.ErrNoThread)
}

// checkEraseOverAppends erases events of many appends, in any order, some of them twice.
func checkEraseOverAppends(t *testing.T, s ponder.Store) {
	var first []ponder.Event
	for i := range 1500 {
		first = append(first, userMessage(fmt.Sprint("created ", i)))
	}
	createThread(t, s, thr, first...)
	for i := range 200 {
		appendEvents(t, s, thr, 0, userMessage(fmt.Sprint("a", i)), userMessage(strings.Repeat("long ", i*20)), sayOnce(fmt.Sprint(i), "c"))
	}
	want := readEvents(t, s, thr, 0)
	var gone []ponder.Seq
	for seq := ponder.Seq(len(want)); seq > 0; seq -= 7 {
		gone = append(gone, seq, max(1, seq-1), seq)
	}
	erase(t, s, gone...)
	checkEqual(t, "thread", readEvents(t, s, thr, 0), withoutContent(want, gone...))
}

func checkEraseRequest(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	fence := leaseThread(t, s, thr)
	appendEvents(t, s, thr, fence, runEvent(root, "a#1", callStarted("fast", "chat", "p/m")), runEvent(root, "b#1", callStarted("fast", "chat", "p/m")),
		runEvent(child, "a#1", callStarted("fast", "chat", "p/m")), runEvent(root, "c#1", callStarted("fast", "chat", "p/m")))
	appendEvents(t, s, thr, fence, runEvent(root, "a#1", callFinished("p/m", 5)), runEvent(root, "b#1", callFinished("p/m", 7)))
	before := must(s.Usage(t.Context(), ponder.ByModel, time.Time{}))(t)
	look := func(run ponder.RunID, cause string, want *llm.Request) {
		t.Helper()
		checkEqual(t, "request of "+string(run)+" "+cause, must(s.Request(t.Context(), thr, run, cause))(t), want)
	}
	erase(t, s, 5) // the end of a call that started in another append
	look(root, "a#1", nil)
	look(root, "b#1", request())
	look(child, "a#1", request())
	erase(t, s, 2, 6)
	look(root, "b#1", nil)
	erase(t, s, 4) // the start of one in flight
	look(root, "c#1", nil)
	look(child, "a#1", request())
	checkEqual(t, "usage", must(s.Usage(t.Context(), ponder.ByModel, time.Time{}))(t), before)
	appendEvents(t, s, thr, fence, runEvent(root, "c#1", callFinished("p/m", 1)))
	rows := must(s.Usage(t.Context(), ponder.ByRole, time.Time{}))(t)
	if len(rows) != 1 || rows[0].Key != "fast" || rows[0].Money != 13 {
		t.Errorf("usage of a call whose beginning was erased: %+v", rows)
	}
}

func checkEraseTitle(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	title := func(want string) {
		t.Helper()
		checkEqual(t, "title", must(s.Thread(t.Context(), thr))(t).Title, want)
	}
	fence := leaseThread(t, s, thr)
	appendEvents(t, s, thr, fence, runEvent("", "t1", ponder.TitleGenerated{Content: "the first"}), runEvent("", "t2", ponder.TitleGenerated{Content: "the second"}))
	erase(t, s, 1)
	title("the second")
	erase(t, s, 2)
	title("")
	appendEvents(t, s, thr, fence, userMessage("x"), runEvent("", "t3", ponder.TitleGenerated{Content: "the third"}))
	title("the third")
}

// checkEraseCheckpoints checks that an erasure drops checkpoints, and that the holder,
// which has read the content, cannot save one.
func checkEraseCheckpoints(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, userMessage("1"), userMessage("2"))
	save := func(fold, state string) {
		t.Helper()
		checkError(t, "save", s.SaveCheckpoint(t.Context(), thr, fold, "1", 2, []byte(state)), nil)
	}
	load := func(fold, want string) {
		t.Helper()
		_, state, err := s.LoadCheckpoint(t.Context(), thr, fold, "1")
		checkError(t, "load", err, nil)
		checkEqual(t, "checkpoint of "+fold, string(state), want)
	}
	save("line", "secret")
	save("other", "secret")
	erase(t, s, 1)
	load("line", "")
	load("other", "")
	save("line", "anew")
	load("line", "anew")

	node := joinNode(t, s, "nod_a")
	lease := takeLease(t, s, thr, node)
	erase(t, s, 2)
	load("line", "")
	save("line", "of the holder")
	load("line", "")
	checkError(t, "release", s.Release(t.Context(), thr, lease.Fence, lease.Head, 0), nil)
	save("line", "of the holder, late")
	load("line", "")
	takeLease(t, s, thr, node)
	save("line", "of the next")
	load("line", "of the next")
}

// checkEraseFence checks that the fence of the next lease shows an erasure since the last
// lease.
func checkEraseFence(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, userMessage("1"), userMessage("2"))
	node := joinNode(t, s, "nod_a")
	last := takeLease(t, s, thr, node)
	next := func(what string, erased bool) {
		t.Helper()
		lease := takeLease(t, s, thr, node)
		if step := lease.Fence - last.Fence; step < 1 || step > 1 != erased {
			t.Errorf("%s: the fence is %d after %d", what, lease.Fence, last.Fence)
		}
		last = lease
	}
	release := func() { checkError(t, "release", s.Release(t.Context(), thr, last.Fence, last.Head, 0), nil) }
	release()
	next("nothing erased", false)
	erase(t, s, 1)
	release()
	next("erased while it was held", true)
	release()
	next("nothing erased since", false)
	release()
	erase(t, s, 2)
	next("erased while nobody held it", true)
	release()
	next("nothing erased since that", false)
}

// checkEraseWhileGrowing erases in the body of a reading loop, while other goroutines
// append.
func checkEraseWhileGrowing(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, userMessage("0"), userMessage("0"))
	const appends = 100
	var wg sync.WaitGroup
	for i := range appends {
		wg.Go(func() {
			if _, err := s.Append(t.Context(), thr, 0, userMessage(fmt.Sprint(i)), sayOnce(fmt.Sprint(i), "kept")); err != nil {
				t.Error(err)
			}
		})
	}
	for ev, err := range s.Events(t.Context(), thr, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Cause == "" {
			erase(t, s, ev.Seq)
		}
	}
	wg.Wait()
	for _, ev := range readEvents(t, s, thr, 0) {
		if ev.Cause == "" {
			erase(t, s, ev.Seq)
		}
	}
	all := readEvents(t, s, thr, 0)
	checkEqual(t, "seqs", seqsOf(all), seqs(1, 2+2*appends))
	for _, ev := range all {
		if want := ev.Cause != ""; ev.Erased == want || (ev.Body.(ponder.UserMessage).Content == "kept") != want {
			t.Errorf("event %d: %+v", ev.Seq, ev)
		}
	}
}

// checkEraseAtOnce has goroutines erase adjacent events. No erasure restores another's
// event.
func checkEraseAtOnce(t *testing.T, s ponder.Store) {
	const events = 40
	var first []ponder.Event
	for i := range events {
		first = append(first, userMessage(fmt.Sprint(i)))
	}
	createThread(t, s, thr, first...)
	var wg sync.WaitGroup
	for seq := ponder.Seq(1); seq <= events; seq++ {
		wg.Go(func() {
			if err := s.Erase(t.Context(), thr, seq); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, ev := range readEvents(t, s, thr, 0) {
		if !ev.Erased {
			t.Errorf("event %d is there again", ev.Seq)
		}
	}
}
