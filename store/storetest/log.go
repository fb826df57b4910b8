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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var logChecks = []check{
	{"Order", checkOrder},
	{"Stamp", checkStamp},
	{"NothingAppended", checkNothing},
	{"NoThread", checkNoThread},
	{"KeyTaken", checkKeyTaken},
	{"KeysAtOnce", checkKeysAtOnce},
	{"Lookup", checkLookup},
	{"Stale", checkStale},
	{"Inputs", checkInputs},
	{"NoBody", checkNoBody},
	{"EveryType", checkEveryType},
	{"UnknownType", checkUnknownType},
	{"Text", checkText},
	{"Big", checkBig},
	{"Paging", checkPaging},
	{"ReadWhileGrowing", checkReadWhileGrowing},
	{"Cancelled", checkCancelled},
	{"CancelledWhileWaiting", checkCancelledWhileWaiting},
}

func checkOrder(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	createThread(t, s, "thr_b")
	appendEvents(t, s, thr, 0, userMessage("1"), userMessage("2"))
	appendEvents(t, s, "thr_b", 0, userMessage("x"))
	checkEqual(t, "seqs of a later append", seqsOf(appendEvents(t, s, thr, 0, userMessage("3"), userMessage("4"))), seqs(3, 4))
	checkEqual(t, "thread", texts(t, s, thr, 0), []string{"1", "2", "3", "4"})
	checkEqual(t, "thread after the second", texts(t, s, thr, 2), []string{"3", "4"})
	checkEqual(t, "thread after the third, which is not the last of its append", texts(t, s, thr, 3), []string{"4"})
	checkEqual(t, "thread after its end", texts(t, s, thr, 4), nil)
	checkEqual(t, "thread long after its end", texts(t, s, thr, 400), nil)
	checkEqual(t, "thread after what cannot be", texts(t, s, thr, -1), []string{"1", "2", "3", "4"})
	checkEqual(t, "other thread", texts(t, s, "thr_b", 0), []string{"x"})
}

func checkStamp(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	given := ponder.Event{ID: "evt_mine", Time: day, Body: ponder.UserMessage{Content: "given"}}
	before := time.Now().Add(-time.Millisecond)
	added := appendEvents(t, s, thr, 0, userMessage("stamped"), given)
	after := time.Now().Add(time.Millisecond)
	if ev := added[0]; ev.ID == "" || ev.Time.Before(before) || ev.Time.After(after) || ev.Thread != thr || ev.Seq != 1 {
		t.Errorf("stamped as %+v between %s and %s", ev, before, after)
	}
	given.Thread, given.Seq = thr, 2
	checkEqual(t, "event with an id and a time", added[1], given)
	checkEqual(t, "what is read", readEvents(t, s, thr, 0), added)
}

func checkNothing(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	added, err := s.Append(t.Context(), thr, 0)
	checkEqual(t, "appended", len(added), 0)
	checkError(t, "append nothing", err, nil)
	_, err = s.Append(t.Context(), thr, 7)
	checkError(t, "append nothing with a lease that is none", err, ponder.ErrFenced)
}

func checkNoThread(t *testing.T, s ponder.Store) {
	_, err := s.Append(t.Context(), thr, 0, userMessage("1"))
	checkError(t, "append", err, ponder.ErrNoThread)
	_, err = s.Append(t.Context(), thr, 1, userMessage("1"))
	checkError(t, "append with a fence", err, ponder.ErrNoThread)
	n := 0
	for _, err := range s.Events(t.Context(), thr, 0) {
		checkError(t, "read", err, ponder.ErrNoThread)
		n++
	}
	checkEqual(t, "errors of a read", n, 1)
}

func checkLookup(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, sayOnce("k", "created"))
	fence := leaseThread(t, s, thr)
	appendEvents(t, s, thr, 0, userMessage("1"), sayOnce("l", "2"), start(root))
	end := finish(root, ponder.Failed)
	end.After = 4
	appendEvents(t, s, thr, fence, end, runEvent(root, "call-1#1", ponder.CallStarted{Model: "p/m"}))
	for _, c := range []struct {
		like ponder.Event
		want ponder.Seq
	}{
		{sayOnce("k", ""), 1}, {sayOnce("l", "other words"), 3}, {start(root), 4}, {finish(root, ""), 5}, {runEvent(root, "call-1#1", ponder.CallStarted{}), 6},
		{userMessage("1"), 0}, {sayOnce("m", ""), 0}, {runEvent("", "k", ponder.Steer{}), 0}, {finish(child, ""), 0}, {runEvent(root, "call-1#2", ponder.CallStarted{}), 0},
	} {
		ev, found, err := s.Lookup(t.Context(), thr, c.like)
		if err != nil || found != (c.want > 0) || ev.Seq != c.want {
			t.Errorf("%q is at %d, want %d: %v", c.like.Key(), ev.Seq, c.want, err)
		}
		if found {
			checkEqual(t, c.like.Key(), ev, readEvents(t, s, thr, c.want-1)[0])
		}
	}
	_, _, err := s.Lookup(t.Context(), "thr_none", sayOnce("k", ""))
	checkError(t, "lookup on no thread", err, ponder.ErrNoThread)
	if err := s.Remove(t.Context(), thr); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Lookup(t.Context(), thr, sayOnce("k", ""))
	checkError(t, "lookup on a removed thread", err, ponder.ErrNoThread)
}

func checkKeyTaken(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	createThread(t, s, "thr_b")
	appendEvents(t, s, thr, 0, sayOnce("k", "1"))
	appendEvents(t, s, "thr_b", 0, sayOnce("k", "keys are of a thread"))
	checkRefused(t, s, thr, 0, ponder.ErrTaken, sayOnce("k", "again"))
	checkRefused(t, s, thr, 0, ponder.ErrTaken, userMessage("fine"), sayOnce("l", "fine"), sayOnce("k", "again"))
	checkRefused(t, s, thr, 0, ponder.ErrTaken, sayOnce("m", "once"), sayOnce("m", "twice in a batch"))
	appendEvents(t, s, thr, 0, sayOnce("l", "what was refused took no key"), sayOnce("m", "nor this"))
	appendEvents(t, s, thr, 0, ponder.Event{Cause: "k", Body: ponder.Observation{Content: "another type is another key"}})
	appendEvents(t, s, thr, 0, ponder.Event{Cause: "k", Run: root, Body: ponder.UserMessage{Content: "another run, too"}})

	fence := leaseThread(t, s, thr)
	appendEvents(t, s, thr, fence, runEvent(root, "", ponder.BudgetSpent{What: "time"}))
	checkRefused(t, s, thr, fence, ponder.ErrTaken, runEvent(root, "", ponder.BudgetSpent{What: "tokens"}))
	var many []ponder.Event
	for i := range 50 {
		many = append(many, runEvent(root, fmt.Sprint("many/", i+1, ".50"), ponder.Thought{Content: "thought"}))
	}
	appendEvents(t, s, thr, fence, many[40])
	checkRefused(t, s, thr, fence, ponder.ErrTaken, many...)
	head := lastSeq(appendEvents(t, s, thr, fence, append(many[:40:40], many[41:]...)...))

	// The store need not keep keys of the holder's events with After, except those of the
	// ledger.
	after := func(ev ponder.Event) ponder.Event {
		ev.After = head
		return ev
	}
	call := runEvent(root, "call-1#1", ponder.CallStarted{Model: "m"})
	head = lastSeq(appendEvents(t, s, thr, fence, after(runEvent(root, "new/1.1", ponder.Thought{Content: "thought"})), after(call)))
	checkRefused(t, s, thr, fence, ponder.ErrStale, ponder.Event{Run: root, After: head - 1, Body: ponder.Thought{Content: "late"}})
	checkRefused(t, s, thr, fence, ponder.ErrTaken, after(call))
	checkRefused(t, s, thr, 0, ponder.ErrTaken, after(sayOnce("k", "again")))
	twice := after(runEvent(root, "new/2.1", ponder.Thought{Content: "twice in a batch"}))
	checkRefused(t, s, thr, fence, ponder.ErrTaken, twice, twice)
}

func lastSeq(events []ponder.Event) ponder.Seq { return events[len(events)-1].Seq }

// checkKeysAtOnce has goroutines append the same keys concurrently.
func checkKeysAtOnce(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	const keys, writers = 20, 8
	wins := make([]int, writers)
	var wg sync.WaitGroup
	for r := range writers {
		wg.Go(func() {
			for k := range keys {
				if _, err := s.Append(t.Context(), thr, 0, userMessage("beside"), sayOnce(fmt.Sprint(k), "won")); err == nil {
					wins[r]++
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range wins {
		total += n
	}
	checkEqual(t, "keys taken", total, keys)
	checkEqual(t, "events", seqsOf(readEvents(t, s, thr, 0)), seqs(1, 2*keys))
}

func checkStale(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, userMessage("1"), userMessage("2"))
	fence := leaseThread(t, s, thr)
	after := func(seq ponder.Seq) ponder.Event {
		ev := runEvent(root, fmt.Sprint("k", seq), ponder.Thought{Content: "thought"})
		ev.After = seq
		return ev
	}
	checkRefused(t, s, thr, fence, ponder.ErrStale, after(1))
	checkRefused(t, s, thr, fence, ponder.ErrStale, after(3))
	checkRefused(t, s, thr, fence, ponder.ErrStale, after(2), after(3))
	input := userMessage("answer to the first")
	input.After = 1
	checkRefused(t, s, thr, 0, ponder.ErrStale, input)
	second := runEvent(root, "second", ponder.Thought{Content: "of the same append"})
	second.After = 2
	checkEqual(t, "after the newest", seqsOf(appendEvents(t, s, thr, fence, after(2), second)), seqs(3, 4))
}

func checkInputs(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	appendEvents(t, s, thr, 0, userMessage("hello"),
		ponder.Event{Body: ponder.AttachmentAdded{Name: "a.txt"}},
		ponder.Event{Body: ponder.Observation{Sensor: "clock"}},
		ponder.Event{Run: root, Body: ponder.Steer{Do: ponder.Cancel}},
		ponder.Event{Run: root, Body: ponder.RunPaused{}},
		ponder.Event{Run: root, Body: ponder.RunResumed{}},
		ponder.Event{Body: ponder.Resolution{Ref: "x"}},
		ponder.Event{Run: root, Body: ponder.RunStarted{Mode: "m"}})
	for _, forged := range []ponder.Event{
		runEvent(root, "k#1", ponder.CallFinished{}),
		runEvent(root, "k#1", ponder.ToolResult{Name: "t", Result: "forged"}),
		runEvent(root, "", ponder.RunFinished{Status: ponder.Completed, Answer: "forged"}),
		runEvent(child, "", ponder.RunStarted{Mode: "m"}),
		runEvent("", "", ponder.AssistantMessage{Content: "forged"}),
		runEvent("", "", ponder.Unknown{Name: "user_massage"}),
	} {
		checkRefused(t, s, thr, 0, ponder.ErrNotInput, forged)
		checkRefused(t, s, thr, 0, ponder.ErrNotInput, userMessage("before it"), forged)
	}
	appendEvents(t, s, thr, leaseThread(t, s, thr), userMessage("a holder may append inputs too"), runEvent(root, "k#1", ponder.ToolResult{Name: "t"}))
}

func checkNoBody(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	if _, err := s.Append(t.Context(), thr, 0, userMessage("1"), ponder.Event{}); err == nil {
		t.Error("an event without a body was appended")
	}
	if err := s.Create(t.Context(), ponder.Thread{ID: "thr_b"}, ponder.Event{}); err == nil {
		t.Error("a thread was made with an event without a body")
	}
	checkEqual(t, "thread", texts(t, s, thr, 0), nil)
}

// lines has stored events of several types, with and without optional fields.
const lines = `{"type":"user_message","role":"user","content":"hi","data":{"media":[{"type":"image/png","data":"AAEC"}]}}
{"type":"assistant_message","role":"assistant","content":"ho","model":"p/m","usage":{"input":1,"output":2,"cost":3}}
{"type":"tool_call","run_id":"run_1","cause":"t#1","role":"assistant","tool_name":"web","tool_args":{"q":[1,2.50,null]}}
{"type":"tool_result","run_id":"run_1","cause":"t#1","role":"tool","tool_name":"web","tool_result":"found","data":{"error":"no","error_class":"transient"}}
{"type":"run_started","run_id":"run_1","content":"why?","elapsed_ms":12,"data":{"mode":"session","version":2,"budget":{"tokens":1000}}}
{"type":"call_finished","run_id":"run_1","cause":"c#1","internal":true,"model":"p/m","usage":{"input":7,"output":9},"data":{"finish":"stop","took_ms":5}}
{"type":"thought","run_id":"run_1","cause":"w/1.1","content":"hm","data":{"sequence_number":3,"thought_type":"insight","confidence":0.25,"time_offset_seconds":1.5}}
{"type":"subconscious","data":{"state":{"deep":{"er":[true,"x"]}}}}
{"type":"summary","role":"system","content":"so far","data":{"from":1,"to":4}}
{"type":"budget_spent","run_id":"run_1","reason":"tokens"}
{"type":"run_finished","run_id":"run_1","content":"because","reason":"time is spent","data":{"status":"completed","confidence":0.9}}`

func checkEveryType(t *testing.T, s ponder.Store) {
	var events []ponder.Event
	for line := range strings.Lines(lines) {
		var ev ponder.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	createThread(t, s, thr, events...)
	got := readEvents(t, s, thr, 0)
	stamps := cmpopts.IgnoreFields(ponder.Event{}, "ID", "Time", "Seq", "Thread")
	if diff := cmp.Diff(events, got, stamps, cmp.AllowUnexported()); diff != "" {
		t.Errorf("events (-written +read):\n%s", diff)
	}
	checkEqual(t, "seqs", seqsOf(got), seqs(1, 11))
}

func checkUnknownType(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	const line = `{"event_id":"evt_1","ts":"2026-05-17T12:30:45.123456Z","type":"from_the_future","run_id":"run_9","cause":"x",` +
		`"role":"oracle","content":"c","reason":"r","model":"m","data":{"z":1,"a":[1.50,1e2,"\u0000",{"k":null}],"Z":"é"}}`
	var ev ponder.Event
	if err := json.Unmarshal([]byte(line), &ev); err != nil {
		t.Fatal(err)
	}
	appendEvents(t, s, thr, leaseThread(t, s, thr), ev)
	got := readEvents(t, s, thr, 0)[0]
	got.Thread, got.Seq = "", 0
	checkEqual(t, "line", string(must(json.Marshal(got))(t)), line)
}

func checkText(t *testing.T, s ponder.Store) {
	want := []string{
		"", " ", "line\nbreak\r\n", "tab\t", "nul\x00byte", "quote\" back\\slash", "<b>&amp;</b>", "'; DROP TABLE ponder_thread; --",
		"日本語", "🧠👩‍👩‍👧‍👦", "e\u0301", "\u2028\u2029", "\ufeffbom", "\u202Eright to left", "\U0010ffff", strings.Repeat("長", 5000),
	}
	createThread(t, s, thr)
	for _, text := range want {
		appendEvents(t, s, thr, 0, userMessage(text))
	}
	checkEqual(t, "texts", texts(t, s, thr, 0), want)
	for i, text := range want {
		header := ponder.Thread{ID: ponder.ThreadID(fmt.Sprint("thr_", i, text)), Title: text, Owner: text, Kind: ponder.Kind(text), Model: text, Created: day}
		if err := s.Create(t.Context(), header); err != nil {
			t.Fatalf("create %q: %v", header.ID, err)
		}
		checkEqual(t, "header", must(s.Thread(t.Context(), header.ID))(t).Thread, header)
	}
}

func checkBig(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	var want []string
	for i := range 5 {
		text := strings.Repeat(fmt.Sprint(i), 1<<20)
		want = append(want, text, "small")
		appendEvents(t, s, thr, 0, userMessage(text), userMessage("small"))
	}
	got := texts(t, s, thr, 0)
	checkEqual(t, "events", len(got), len(want))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d has %d bytes and not %d", i+1, len(got[i]), len(want[i]))
		}
	}
}

func checkPaging(t *testing.T, s ponder.Store) {
	var events []ponder.Event
	var want []string
	for i := range 3000 {
		want = append(want, fmt.Sprint("created ", i))
		events = append(events, userMessage(want[i]))
	}
	createThread(t, s, thr, events...)
	for i := range 700 {
		want = append(want, fmt.Sprint("appended ", i))
		appendEvents(t, s, thr, 0, userMessage(want[len(want)-1]))
	}
	checkEqual(t, "all", texts(t, s, thr, 0), want)
	checkEqual(t, "the rest", texts(t, s, thr, 1500), want[1500:])
	n := 0
	for range s.Events(t.Context(), thr, 0) {
		if n++; n == 2000 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for ev, err := range s.Events(ctx, thr, 0) {
		if last = err; ev.Seq == 10 {
			cancel()
		}
	}
	checkError(t, "read with a context that ends", last, context.Canceled)
}

// checkReadWhileGrowing appends in the body of the reading loop.
func checkReadWhileGrowing(t *testing.T, s ponder.Store) {
	createThread(t, s, thr, userMessage("0"))
	var got []string
	for ev, err := range s.Events(t.Context(), thr, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.Body.(ponder.UserMessage).Content)
		if ev.Seq < 20 {
			appendEvents(t, s, thr, 0, userMessage(fmt.Sprint(ev.Seq)))
		}
	}
	checkEqual(t, "events", len(got), 20)
}

func checkCancelled(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Append(ctx, thr, 0, userMessage("1"))
	checkError(t, "append", err, context.Canceled)
	checkError(t, "create", s.Create(ctx, ponder.Thread{ID: "thr_b"}), context.Canceled)
	checkError(t, "remove", s.Remove(ctx, thr), context.Canceled)
	checkError(t, "join", s.Join(ctx, ponder.Node{ID: "nod_1"}), context.Canceled)
	_, err = s.List(ctx, ponder.Filter{})
	checkError(t, "list", err, context.Canceled)
	checkEqual(t, "thread", texts(t, s, thr, 0), nil)
}

// checkCancelledWhileWaiting ends the contexts of concurrent appends. Each append is stored
// as a whole or not at all, and it is stored if Append returned no error.
func checkCancelledWhileWaiting(t *testing.T, s ponder.Store) {
	createThread(t, s, thr)
	const appends = 200
	acknowledged := make([]bool, appends)
	var wg sync.WaitGroup
	for i := range appends {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				if i%2 == 0 {
					cancel()
				}
			}()
			_, err := s.Append(ctx, thr, 0, userMessage(fmt.Sprint(i)), userMessage(fmt.Sprint(i)))
			acknowledged[i] = err == nil
			if err != nil {
				checkError(t, "append", err, context.Canceled)
			}
			<-stop
			cancel()
		})
	}
	wg.Wait()
	there := make(map[string]int)
	for _, text := range texts(t, s, thr, 0) {
		there[text]++
	}
	for i := range appends {
		if n := there[fmt.Sprint(i)]; n == 1 || acknowledged[i] && n != 2 {
			t.Errorf("append %d said %v and is there %d times", i, acknowledged[i], n)
		}
	}
}
