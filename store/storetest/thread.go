package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ponder"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var threadChecks = []check{
	{"Create", checkCreate},
	{"Info", checkInfo},
	{"Standing", checkStatus},
	{"List", checkList},
	{"Pages", checkPages},
	{"Idle", checkIdle},
	{"Remove", checkRemove},
	{"Checkpoint", checkCheckpoint},
}

func checkCreate(t *testing.T, s ponder.Store) {
	header := ponder.Thread{ID: thr, Kind: ponder.KindSession, Title: "why", Owner: "ann", Created: day, Model: "p/m"}
	started := runEvent(root, "", ponder.RunStarted{Input: "why?", Mode: "session"})
	call := runEvent(root, "k#1", ponder.CallFinished{Model: "p/m"})
	checkError(t, "create", s.Create(t.Context(), header, userMessage("1"), started, call), nil)
	want := ponder.Info{Thread: header, Head: 3, Status: ponder.Thinking, Open: 1, Roots: []ponder.Root{{ID: root}}}
	got := must(s.Thread(t.Context(), thr))(t)
	if got.Updated.Before(day) {
		t.Errorf("updated %s, before it was created", got.Updated)
	}
	got.Updated = time.Time{}
	checkEqual(t, "info", got, want)
	checkEqual(t, "seqs", seqsOf(readEvents(t, s, thr, 0)), seqs(1, 3))

	other := header
	other.Title = "how"
	checkError(t, "create again", s.Create(t.Context(), other, userMessage("x")), ponder.ErrTaken)
	checkEqual(t, "title", must(s.Thread(t.Context(), thr))(t).Title, "why")
	checkEqual(t, "seqs", seqsOf(readEvents(t, s, thr, 0)), seqs(1, 3))
	checkRefused(t, s, thr, leaseThread(t, s, thr), ponder.ErrTaken, call)

	other.ID = "thr_b"
	checkError(t, "create with one key twice", s.Create(t.Context(), other, userMessage("x"), started, started), ponder.ErrTaken)
	_, err := s.Thread(t.Context(), "thr_b")
	checkError(t, "a thread that was not made", err, ponder.ErrNoThread)
	if err := s.Create(t.Context(), ponder.Thread{}); err == nil {
		t.Error("a thread was made without an id")
	}
	checkError(t, "create without a time", s.Create(t.Context(), ponder.Thread{ID: "thr_c"}), nil)
	if made := must(s.Thread(t.Context(), "thr_c"))(t).Created; time.Since(made) > time.Hour {
		t.Errorf("a thread without a time was made at %s", made)
	}
}

func checkInfo(t *testing.T, s ponder.Store) {
	_, err := s.Thread(t.Context(), thr)
	checkError(t, "thread that is not there", err, ponder.ErrNoThread)
	createThread(t, s, thr)
	fence := leaseThread(t, s, thr)
	for i, c := range []struct {
		ev   ponder.Event
		want ponder.Status
	}{
		{userMessage("hi"), ponder.Thinking}, // it waits for an answer
		{runEvent(root, "", ponder.RunStarted{Mode: "m"}), ponder.Thinking},
		{runEvent(root, "", ponder.RunPaused{}), ponder.Paused},
		{runEvent(root, "", ponder.RunResumed{}), ponder.Thinking},
		{runEvent(child, "", ponder.RunStarted{Mode: "m"}), ponder.Thinking},
		{runEvent(child, "", ponder.RunPaused{}), ponder.Thinking},
		{runEvent(child, "", ponder.RunFinished{Status: ponder.Failed}), ponder.Thinking},
		{runEvent(root, "", ponder.RunFinished{Status: ponder.Completed, Answer: "a"}), ponder.Completed},
		{userMessage("and?"), ponder.Thinking},
		{runEvent(second, "", ponder.RunStarted{Mode: "m"}), ponder.Thinking},
		{runEvent(third, "", ponder.RunStarted{Mode: "m"}), ponder.Thinking},
		{runEvent(second, "", ponder.RunFinished{Status: ponder.Cancelled}), ponder.Thinking}, // the third is open
		{userMessage("so?"), ponder.Thinking},
		{runEvent(third, "", ponder.RunFinished{Status: ponder.Failed}), ponder.Failed},
	} {
		c.ev.Time = day.Add(time.Duration(i) * time.Second)
		appendEvents(t, s, thr, fence, c.ev)
		info := must(s.Thread(t.Context(), thr))(t)
		if info.Status != c.want || info.Head != ponder.Seq(i+1) || !info.Updated.Equal(c.ev.Time) {
			t.Errorf("after %s: %s, head %d, updated %s", c.ev.Body.Type(), info.Status, info.Head, info.Updated)
		}
	}
	appendEvents(t, s, thr, fence, runEvent("", "title", ponder.TitleGenerated{Content: "a talk"}))
	checkEqual(t, "title", must(s.Thread(t.Context(), thr))(t).Title, "a talk")
}

func checkList(t *testing.T, s ponder.Store) {
	none := must(s.List(t.Context(), ponder.Filter{}))(t)
	checkEqual(t, "threads of an empty store", len(none), 0)
	for i, header := range []ponder.Thread{
		{ID: "thr_01A", Kind: ponder.KindConversation, Owner: "ann", Created: day.Add(3 * time.Hour)},
		{ID: "thr_01AB", Kind: ponder.KindSession, Owner: "ann", Created: day.Add(time.Hour)},
		{ID: "thr_01AC", Kind: ponder.KindSession, Owner: "bob", Created: day.Add(2 * time.Hour)},
		{ID: "thr_01a%", Kind: ponder.KindSession, Owner: "bob", Created: day},
		{ID: "thr_02", Kind: ponder.KindResearch, Owner: "", Created: day},
	} {
		var events []ponder.Event
		if i%2 == 1 {
			events = []ponder.Event{runEvent(root, "", ponder.RunStarted{Mode: "m"})}
		}
		if err := s.Create(t.Context(), header, events...); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		filter ponder.Filter
		want   []ponder.ThreadID
	}{
		{"all, the newest first", ponder.Filter{}, []ponder.ThreadID{"thr_01A", "thr_01AC", "thr_01AB", "thr_02", "thr_01a%"}},
		{"limit", ponder.Filter{Limit: 2}, []ponder.ThreadID{"thr_01A", "thr_01AC"}},
		{"large limit", ponder.Filter{Limit: 100}, []ponder.ThreadID{"thr_01A", "thr_01AC", "thr_01AB", "thr_02", "thr_01a%"}},
		{"kind", ponder.Filter{Kind: ponder.KindSession}, []ponder.ThreadID{"thr_01AC", "thr_01AB", "thr_01a%"}},
		{"without a kind", ponder.Filter{Without: ponder.KindSession}, []ponder.ThreadID{"thr_01A", "thr_02"}},
		{"owner", ponder.Filter{Owner: "bob"}, []ponder.ThreadID{"thr_01AC", "thr_01a%"}},
		{"status", ponder.Filter{Status: ponder.Thinking}, []ponder.ThreadID{"thr_01AB", "thr_01a%"}},
		{"prefix", ponder.Filter{Prefix: "thr_01A"}, []ponder.ThreadID{"thr_01A", "thr_01AC", "thr_01AB"}},
		{"prefix with a sign that LIKE has", ponder.Filter{Prefix: "thr_01a%"}, []ponder.ThreadID{"thr_01a%"}},
		{"whole id", ponder.Filter{Prefix: "thr_01AB"}, []ponder.ThreadID{"thr_01AB"}},
		{"no such prefix", ponder.Filter{Prefix: "thr_03"}, nil},
		{"several", ponder.Filter{Kind: ponder.KindSession, Owner: "ann", Status: ponder.Thinking, Prefix: "thr_01", Limit: 5}, []ponder.ThreadID{"thr_01AB"}},
	} {
		var got []ponder.ThreadID
		for _, info := range must(s.List(t.Context(), c.filter))(t) {
			got = append(got, info.ID)
			checkEqual(t, "info of "+string(info.ID), info, must(s.Thread(t.Context(), info.ID))(t))
		}
		checkEqual(t, c.name, got, c.want)
	}
}

func checkRemove(t *testing.T, s ponder.Store) {
	checkError(t, "remove what is not there", s.Remove(t.Context(), thr), ponder.ErrNoThread)
	createThread(t, s, thr)
	createThread(t, s, "thr_b", userMessage("stays"))
	fence := leaseThread(t, s, thr)
	appendEvents(t, s, thr, fence, sayOnce("k", "secret"), runEvent(root, "c#1", callStarted("slow", "m", "p/m")), runEvent(root, "c#1", callFinished("p/m", 5)))
	checkError(t, "save", s.SaveCheckpoint(t.Context(), thr, "fold", "1", 1, []byte("secret")), nil)
	before := must(s.Usage(t.Context(), ponder.ByThread, time.Time{}))(t)

	checkError(t, "remove", s.Remove(t.Context(), thr), nil)
	_, err := s.Thread(t.Context(), thr)
	checkError(t, "thread", err, ponder.ErrNoThread)
	checkError(t, "thread that there was", err, ponder.ErrRemoved)
	if _, err := s.Thread(t.Context(), "thr_never"); errors.Is(err, ponder.ErrRemoved) {
		t.Error("a thread that there never was counts as removed")
	}
	for _, err := range s.Events(t.Context(), thr, 0) {
		checkError(t, "events", err, ponder.ErrNoThread)
	}
	_, err = s.Append(t.Context(), thr, fence, userMessage("x"))
	checkError(t, "append of the holder", err, ponder.ErrFenced)
	_, err = s.Append(t.Context(), thr, 0, userMessage("x"))
	checkError(t, "append", err, ponder.ErrNoThread)
	checkError(t, "release", s.Release(t.Context(), thr, fence, 3, 0), ponder.ErrFenced)
	_, err = s.Take(t.Context(), thr, joinNode(t, s, "nod_other"))
	checkError(t, "take", err, ponder.ErrNoThread)
	checkError(t, "save a checkpoint", s.SaveCheckpoint(t.Context(), thr, "fold", "1", 1, []byte("secret")), ponder.ErrNoThread)
	checkError(t, "remove again", s.Remove(t.Context(), thr), ponder.ErrNoThread)
	checkEqual(t, "threads listed", len(must(s.List(t.Context(), ponder.Filter{}))(t)), 1)
	checkEqual(t, "usage", must(s.Usage(t.Context(), ponder.ByThread, time.Time{}))(t), before)
	checkGone(t, s)
	checkEqual(t, "other thread", texts(t, s, "thr_b", 0), []string{"stays"})

	createThread(t, s, thr, sayOnce("k", "a new one with the old id"))
	checkGone(t, s)
	checkEqual(t, "new thread", texts(t, s, thr, 0), []string{"a new one with the old id"})
	_, err = s.Append(t.Context(), thr, fence, userMessage("x"))
	checkError(t, "append of the old holder", err, ponder.ErrFenced)
	if lease := takeLease(t, s, thr, "nod_other"); lease.Fence <= fence || lease.Elapsed != 0 {
		t.Errorf("lease of the new thread: %+v; of the old: %d", lease, fence)
	}
	checkEqual(t, "usage", must(s.Usage(t.Context(), ponder.ByThread, time.Time{}))(t), before)
}

func checkGone(t *testing.T, s ponder.Store) {
	t.Helper()
	req, err := s.Request(t.Context(), thr, root, "c#1")
	if req != nil || err != nil {
		t.Errorf("request: %+v, %v", req, err)
	}
	seq, state, err := s.LoadCheckpoint(t.Context(), thr, "fold", "1")
	if seq != 0 || state != nil || err != nil {
		t.Errorf("checkpoint: %d, %q, %v", seq, state, err)
	}
}

func checkCheckpoint(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, userMessage("1"), userMessage("2"))
	load := func(what string, id ponder.ThreadID, fold, version string, wantSeq ponder.Seq, want []byte) {
		t.Helper()
		seq, state, err := s.LoadCheckpoint(t.Context(), id, fold, version)
		if seq != wantSeq || !cmp.Equal(state, want, cmpopts.EquateEmpty()) || err != nil {
			t.Errorf("%s: got %d, %q, %v", what, seq, state, err)
		}
	}
	save := func(fold, version string, seq ponder.Seq, state string) {
		t.Helper()
		if err := s.SaveCheckpoint(t.Context(), thr, fold, version, seq, []byte(state)); err != nil {
			t.Fatal(err)
		}
	}
	load("none", thr, "line", "1", 0, nil)
	load("no thread", "thr_none", "line", "1", 0, nil)
	save("line", "1", 1, "one\x00\xff")
	save("other", "7", 2, "other")
	load("saved", thr, "line", "1", 1, []byte("one\x00\xff"))
	load("another version", thr, "line", "2", 0, nil)
	save("line", "1", 2, "two")
	load("newer", thr, "line", "1", 2, []byte("two"))
	save("line", "1", 1, "late")
	load("an older one does not replace it", thr, "line", "1", 2, []byte("two"))
	save("line", "2", 1, "new version")
	load("a new version does", thr, "line", "2", 1, []byte("new version"))
	load("the old version", thr, "line", "1", 0, nil)
	load("another fold", thr, "other", "7", 2, []byte("other"))
	checkError(t, "save for no thread", s.SaveCheckpoint(t.Context(), "thr_none", "line", "1", 1, nil), ponder.ErrNoThread)
	for i := range 20 {
		save(fmt.Sprint("fold", i), "1", 1, fmt.Sprint(i))
	}
	load("one of many", thr, "fold13", "1", 1, []byte("13"))
}
