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
	create(t, s, thr)
	create(t, s, "thr_b")
	add(t, s, thr, 0, say("1"), say("2"))
	add(t, s, "thr_b", 0, say("x"))
	same(t, "seqs of a later append", seqsOf(add(t, s, thr, 0, say("3"), say("4"))), seqs(3, 4))
	same(t, "thread", texts(t, s, thr, 0), []string{"1", "2", "3", "4"})
	same(t, "thread after the second", texts(t, s, thr, 2), []string{"3", "4"})
	same(t, "thread after the third, which is not the last of its append", texts(t, s, thr, 3), []string{"4"})
	same(t, "thread after its end", texts(t, s, thr, 4), nil)
	same(t, "thread long after its end", texts(t, s, thr, 400), nil)
	same(t, "thread after what cannot be", texts(t, s, thr, -1), []string{"1", "2", "3", "4"})
	same(t, "other thread", texts(t, s, "thr_b", 0), []string{"x"})
}

func checkStamp(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	given := ponder.Event{ID: "evt_mine", Time: day, Body: ponder.UserMessage{Content: "given"}}
	before := time.Now().Add(-time.Millisecond)
	added := add(t, s, thr, 0, say("stamped"), given)
	after := time.Now().Add(time.Millisecond)
	if ev := added[0]; ev.ID == "" || ev.Time.Before(before) || ev.Time.After(after) || ev.Thread != thr || ev.Seq != 1 {
		t.Errorf("stamped as %+v between %s and %s", ev, before, after)
	}
	given.Thread, given.Seq = thr, 2
	same(t, "event with an id and a time", added[1], given)
	same(t, "what is read", read(t, s, thr, 0), added)
}

func checkNothing(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	added, err := s.Append(t.Context(), thr, 0)
	same(t, "appended", len(added), 0)
	fails(t, "append nothing", err, nil)
	_, err = s.Append(t.Context(), thr, 7)
	fails(t, "append nothing with a lease that is none", err, ponder.ErrFenced)
}

func checkNoThread(t *testing.T, s ponder.Store) {
	_, err := s.Append(t.Context(), thr, 0, say("1"))
	fails(t, "append", err, ponder.ErrNoThread)
	_, err = s.Append(t.Context(), thr, 1, say("1"))
	fails(t, "append with a fence", err, ponder.ErrNoThread)
	n := 0
	for _, err := range s.Events(t.Context(), thr, 0) {
		fails(t, "read", err, ponder.ErrNoThread)
		n++
	}
	same(t, "errors of a read", n, 1)
}

func checkLookup(t *testing.T, s ponder.Store) {
	create(t, s, thr, sayOnce("k", "created"))
	fence := hold(t, s, thr)
	add(t, s, thr, 0, say("1"), sayOnce("l", "2"), start(root))
	end := finish(root, ponder.Failed)
	end.After = 4
	add(t, s, thr, fence, end, of(root, "call-1#1", ponder.CallStarted{Model: "p/m"}))
	for _, c := range []struct {
		like ponder.Event
		want ponder.Seq
	}{
		{sayOnce("k", ""), 1}, {sayOnce("l", "other words"), 3}, {start(root), 4}, {finish(root, ""), 5}, {of(root, "call-1#1", ponder.CallStarted{}), 6},
		{say("1"), 0}, {sayOnce("m", ""), 0}, {of("", "k", ponder.Steer{}), 0}, {finish(child, ""), 0}, {of(root, "call-1#2", ponder.CallStarted{}), 0},
	} {
		ev, found, err := s.Lookup(t.Context(), thr, c.like)
		if err != nil || found != (c.want > 0) || ev.Seq != c.want {
			t.Errorf("%q is at %d, want %d: %v", c.like.Key(), ev.Seq, c.want, err)
		}
		if found {
			same(t, c.like.Key(), ev, read(t, s, thr, c.want-1)[0])
		}
	}
	_, _, err := s.Lookup(t.Context(), "thr_none", sayOnce("k", ""))
	fails(t, "lookup on no thread", err, ponder.ErrNoThread)
	if err := s.Remove(t.Context(), thr); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Lookup(t.Context(), thr, sayOnce("k", ""))
	fails(t, "lookup on a removed thread", err, ponder.ErrNoThread)
}

func checkKeyTaken(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	create(t, s, "thr_b")
	add(t, s, thr, 0, sayOnce("k", "1"))
	add(t, s, "thr_b", 0, sayOnce("k", "keys are of a thread"))
	refuse(t, s, thr, 0, ponder.ErrTaken, sayOnce("k", "again"))
	refuse(t, s, thr, 0, ponder.ErrTaken, say("fine"), sayOnce("l", "fine"), sayOnce("k", "again"))
	refuse(t, s, thr, 0, ponder.ErrTaken, sayOnce("m", "once"), sayOnce("m", "twice in a batch"))
	add(t, s, thr, 0, sayOnce("l", "what was refused took no key"), sayOnce("m", "nor this"))
	add(t, s, thr, 0, ponder.Event{Cause: "k", Body: ponder.Observation{Content: "another type is another key"}})
	add(t, s, thr, 0, ponder.Event{Cause: "k", Run: root, Body: ponder.UserMessage{Content: "another run, too"}})

	fence := hold(t, s, thr)
	add(t, s, thr, fence, of(root, "", ponder.BudgetSpent{What: "time"}))
	refuse(t, s, thr, fence, ponder.ErrTaken, of(root, "", ponder.BudgetSpent{What: "tokens"}))
	var many []ponder.Event
	for i := range 50 {
		many = append(many, of(root, fmt.Sprint("many/", i+1, ".50"), ponder.Thought{Content: "thought"}))
	}
	add(t, s, thr, fence, many[40])
	refuse(t, s, thr, fence, ponder.ErrTaken, many...)
	head := last(add(t, s, thr, fence, append(many[:40:40], many[41:]...)...))

	// The store need not keep keys of the holder's events with After, except those of the
	// ledger.
	after := func(ev ponder.Event) ponder.Event {
		ev.After = head
		return ev
	}
	call := of(root, "call-1#1", ponder.CallStarted{Model: "m"})
	head = last(add(t, s, thr, fence, after(of(root, "new/1.1", ponder.Thought{Content: "thought"})), after(call)))
	refuse(t, s, thr, fence, ponder.ErrStale, ponder.Event{Run: root, After: head - 1, Body: ponder.Thought{Content: "late"}})
	refuse(t, s, thr, fence, ponder.ErrTaken, after(call))
	refuse(t, s, thr, 0, ponder.ErrTaken, after(sayOnce("k", "again")))
	twice := after(of(root, "new/2.1", ponder.Thought{Content: "twice in a batch"}))
	refuse(t, s, thr, fence, ponder.ErrTaken, twice, twice)
}

func last(events []ponder.Event) ponder.Seq { return events[len(events)-1].Seq }

// checkKeysAtOnce has goroutines append the same keys concurrently.
func checkKeysAtOnce(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	const keys, writers = 20, 8
	wins := make([]int, writers)
	var wg sync.WaitGroup
	for r := range writers {
		wg.Go(func() {
			for k := range keys {
				if _, err := s.Append(t.Context(), thr, 0, say("beside"), sayOnce(fmt.Sprint(k), "won")); err == nil {
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
	same(t, "keys taken", total, keys)
	same(t, "events", seqsOf(read(t, s, thr, 0)), seqs(1, 2*keys))
}

func checkStale(t *testing.T, s ponder.Store) {
	create(t, s, thr, say("1"), say("2"))
	fence := hold(t, s, thr)
	after := func(seq ponder.Seq) ponder.Event {
		ev := of(root, fmt.Sprint("k", seq), ponder.Thought{Content: "thought"})
		ev.After = seq
		return ev
	}
	refuse(t, s, thr, fence, ponder.ErrStale, after(1))
	refuse(t, s, thr, fence, ponder.ErrStale, after(3))
	refuse(t, s, thr, fence, ponder.ErrStale, after(2), after(3))
	input := say("answer to the first")
	input.After = 1
	refuse(t, s, thr, 0, ponder.ErrStale, input)
	second := of(root, "second", ponder.Thought{Content: "of the same append"})
	second.After = 2
	same(t, "after the newest", seqsOf(add(t, s, thr, fence, after(2), second)), seqs(3, 4))
}

func checkInputs(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	add(t, s, thr, 0, say("hello"),
		ponder.Event{Body: ponder.AttachmentAdded{Name: "a.txt"}},
		ponder.Event{Body: ponder.Observation{Sensor: "clock"}},
		ponder.Event{Run: root, Body: ponder.Steer{Do: ponder.Cancel}},
		ponder.Event{Run: root, Body: ponder.RunPaused{}},
		ponder.Event{Run: root, Body: ponder.RunResumed{}},
		ponder.Event{Body: ponder.Resolved{Ref: "x"}},
		ponder.Event{Run: root, Body: ponder.RunStarted{Mode: "m"}})
	for _, forged := range []ponder.Event{
		of(root, "k#1", ponder.CallFinished{}),
		of(root, "k#1", ponder.ToolResult{Name: "t", Result: "forged"}),
		of(root, "", ponder.RunFinished{Status: ponder.Completed, Answer: "forged"}),
		of(child, "", ponder.RunStarted{Mode: "m"}),
		of("", "", ponder.AssistantMessage{Content: "forged"}),
		of("", "", ponder.Unknown{Name: "user_massage"}),
	} {
		refuse(t, s, thr, 0, ponder.ErrNotInput, forged)
		refuse(t, s, thr, 0, ponder.ErrNotInput, say("before it"), forged)
	}
	add(t, s, thr, hold(t, s, thr), say("a holder may append inputs too"), of(root, "k#1", ponder.ToolResult{Name: "t"}))
}

func checkNoBody(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	if _, err := s.Append(t.Context(), thr, 0, say("1"), ponder.Event{}); err == nil {
		t.Error("an event without a body was appended")
	}
	if err := s.Create(t.Context(), ponder.Thread{ID: "thr_b"}, ponder.Event{}); err == nil {
		t.Error("a thread was made with an event without a body")
	}
	same(t, "thread", texts(t, s, thr, 0), nil)
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
	create(t, s, thr, events...)
	got := read(t, s, thr, 0)
	stamps := cmpopts.IgnoreFields(ponder.Event{}, "ID", "Time", "Seq", "Thread")
	if diff := cmp.Diff(events, got, stamps, cmp.AllowUnexported()); diff != "" {
		t.Errorf("events (-written +read):\n%s", diff)
	}
	same(t, "seqs", seqsOf(got), seqs(1, 11))
}

func checkUnknownType(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	const line = `{"event_id":"evt_1","ts":"2026-05-17T12:30:45.123456Z","type":"from_the_future","run_id":"run_9","cause":"x",` +
		`"role":"oracle","content":"c","reason":"r","model":"m","data":{"z":1,"a":[1.50,1e2,"\u0000",{"k":null}],"Z":"é"}}`
	var ev ponder.Event
	if err := json.Unmarshal([]byte(line), &ev); err != nil {
		t.Fatal(err)
	}
	add(t, s, thr, hold(t, s, thr), ev)
	got := read(t, s, thr, 0)[0]
	got.Thread, got.Seq = "", 0
	same(t, "line", string(must(json.Marshal(got))(t)), line)
}

func checkText(t *testing.T, s ponder.Store) {
	want := []string{
		"", " ", "line\nbreak\r\n", "tab\t", "nul\x00byte", "quote\" back\\slash", "<b>&amp;</b>", "'; DROP TABLE ponder_thread; --",
		"日本語", "🧠👩‍👩‍👧‍👦", "e\u0301", "\u2028\u2029", "\ufeffbom", "\u202Eright to left", "\U0010ffff", strings.Repeat("長", 5000),
	}
	create(t, s, thr)
	for _, text := range want {
		add(t, s, thr, 0, say(text))
	}
	same(t, "texts", texts(t, s, thr, 0), want)
	for i, text := range want {
		header := ponder.Thread{ID: ponder.ThreadID(fmt.Sprint("thr_", i, text)), Title: text, Owner: text, Kind: ponder.Kind(text), Model: text, Created: day}
		if err := s.Create(t.Context(), header); err != nil {
			t.Fatalf("create %q: %v", header.ID, err)
		}
		same(t, "header", must(s.Thread(t.Context(), header.ID))(t).Thread, header)
	}
}

func checkBig(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	var want []string
	for i := range 5 {
		text := strings.Repeat(fmt.Sprint(i), 1<<20)
		want = append(want, text, "small")
		add(t, s, thr, 0, say(text), say("small"))
	}
	got := texts(t, s, thr, 0)
	same(t, "events", len(got), len(want))
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
		events = append(events, say(want[i]))
	}
	create(t, s, thr, events...)
	for i := range 700 {
		want = append(want, fmt.Sprint("appended ", i))
		add(t, s, thr, 0, say(want[len(want)-1]))
	}
	same(t, "all", texts(t, s, thr, 0), want)
	same(t, "the rest", texts(t, s, thr, 1500), want[1500:])
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
	fails(t, "read with a context that ends", last, context.Canceled)
}

// checkReadWhileGrowing appends in the body of the reading loop.
func checkReadWhileGrowing(t *testing.T, s ponder.Store) {
	create(t, s, thr, say("0"))
	var got []string
	for ev, err := range s.Events(t.Context(), thr, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.Body.(ponder.UserMessage).Content)
		if ev.Seq < 20 {
			add(t, s, thr, 0, say(fmt.Sprint(ev.Seq)))
		}
	}
	same(t, "events", len(got), 20)
}

func checkCancelled(t *testing.T, s ponder.Store) {
	create(t, s, thr)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Append(ctx, thr, 0, say("1"))
	fails(t, "append", err, context.Canceled)
	fails(t, "create", s.Create(ctx, ponder.Thread{ID: "thr_b"}), context.Canceled)
	fails(t, "remove", s.Remove(ctx, thr), context.Canceled)
	fails(t, "join", s.Join(ctx, ponder.Node{ID: "nod_1"}), context.Canceled)
	_, err = s.List(ctx, ponder.Filter{})
	fails(t, "list", err, context.Canceled)
	same(t, "thread", texts(t, s, thr, 0), nil)
}

// checkCancelledWhileWaiting ends the contexts of concurrent appends. Each append is stored
// as a whole or not at all, and it is stored if Append returned no error.
func checkCancelledWhileWaiting(t *testing.T, s ponder.Store) {
	create(t, s, thr)
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
			_, err := s.Append(ctx, thr, 0, say(fmt.Sprint(i)), say(fmt.Sprint(i)))
			acknowledged[i] = err == nil
			if err != nil {
				fails(t, "append", err, context.Canceled)
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
