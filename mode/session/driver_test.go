package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

const testRun ponder.RunID = "run_test"

// driver performs the actions of a session sequentially under a simulated clock. It checks that
// states are immutable and storable.
type driver struct {
	t      testing.TB
	mode   ponder.Mode
	run    ponder.Run
	answer func(ponder.Action) ponder.Body // result of a Call or Do
	takes  time.Duration                   // duration of a call; a look takes a hundredth
	inputs map[int]ponder.Body             // by number of events before them
	quick  bool                            // without checks
	order  func([]ponder.Action)           // order in which concurrent actions end, if not theirs

	state   ponder.State
	log     []ponder.Event
	done    map[string]int
	types   map[string]int
	elapsed time.Duration
	told    bool
	paused  bool // until the immediate repair
	actions []ponder.Action
	fin     *ponder.RunFinished
}

func newDriver(t testing.TB, question string, o Options, budget time.Duration, answer func(ponder.Action) ponder.Body) *driver {
	t.Helper()
	js, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{t: t, mode: New(), answer: answer, takes: 10 * time.Second, done: make(map[string]int), types: make(map[string]int)}
	d.run = ponder.Run{ID: testRun, Mode: Name, Input: question, Options: js, Budget: ponder.Budget{Time: budget}}
	d.state = d.mode.Start(d.run)
	return d
}

func (d *driver) wallTime() time.Time { return epoch.Add(d.elapsed) }

func (d *driver) appendEvent(key string, b ponder.Body) {
	d.t.Helper()
	ev := ponder.Event{Run: testRun, Cause: key, Elapsed: d.elapsed, Time: d.wallTime(), Body: b, Seq: ponder.Seq(len(d.log) + 1)}
	d.applyEvent(ev)
	if b, ok := d.inputs[len(d.log)]; ok {
		delete(d.inputs, len(d.log))
		d.appendEvent("", b)
	}
}

func (d *driver) applyEvent(ev ponder.Event) {
	d.t.Helper()
	d.log = append(d.log, ev)
	d.elapsed = max(d.elapsed, ev.Elapsed)
	key, _, _ := strings.Cut(ev.Cause, "/")
	key, _, _ = strings.Cut(key, "#")
	d.done[key]++
	switch b := ev.Body.(type) {
	case ponder.BudgetSpent:
		d.told = true
	case ponder.RunPaused:
		d.paused = d.paused || isSelfPaused(ev)
	case ponder.RunResumed:
		d.paused = false
	case ponder.RunFinished:
		d.fin = &b
		return
	}
	if d.types[ev.Body.Type()]++; !d.isChecked(d.types[ev.Body.Type()]) {
		d.state = d.state.Apply(ev)
		return
	}
	before := mustEncode(d.t, d.state)
	held := d.state
	next := d.state.Apply(ev)
	if after := mustEncode(d.t, held); !bytes.Equal(before, after) {
		d.t.Fatalf("Apply(%s) changed its receiver:\n%s", ev.Body.Type(), cmp.Diff(string(before), string(after)))
	}
	d.state = next
	again, err := d.mode.Load(d.run, mustEncode(d.t, next))
	if err != nil {
		d.t.Fatal(err)
	}
	if !reflect.DeepEqual(next, again) {
		d.t.Fatalf("state after %s does not come back as it was:\n%s", ev.Body.Type(), cmp.Diff(string(mustEncode(d.t, next)), string(mustEncode(d.t, again))))
	}
}

// isChecked reports whether the driver checks the n-th event of a type or decision: each of the first
// ones, and then some, because a check takes longer than the rest, and as long as the state is.
func (d *driver) isChecked(n int) bool { return !d.quick && (n <= 4 || n%16 == 0) }

func mustEncode(t testing.TB, v any) []byte {
	t.Helper()
	js, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func (d *driver) runToEnd() *driver {
	d.t.Helper()
	for n := 0; d.fin == nil; n++ {
		if n > 5000 {
			d.t.Fatal("the session does not end")
		}
		d.doNext()
	}
	return d
}

func (d *driver) doNext() {
	d.t.Helper()
	if !d.told && d.run.Budget.Time > 0 && d.elapsed >= d.run.Budget.Time {
		d.appendEvent("", d.run.Budget.SpentOf("time"))
		return
	}
	now := ponder.Moment{Spent: d.elapsed, Wall: d.wallTime()}
	want := d.state.Next(now)
	if d.isChecked(len(d.log)) {
		if again := d.state.Next(now); !reflect.DeepEqual(want, again) {
			d.t.Fatalf("Next twice:\n%s", cmp.Diff(want, again))
		}
	}
	if d.paused {
		if want = slices.DeleteFunc(want, func(a ponder.Action) bool { return !d.isUnwritten(a) }); len(want) == 0 {
			d.appendEvent("", ponder.RunResumed{})
		}
	} else if len(want) == 0 {
		d.t.Fatal("the session sleeps")
	}
	if d.order != nil {
		d.order(want[slices.IndexFunc(want, func(a ponder.Action) bool { _, ok := a.(ponder.Write); return !ok }):])
	}
	for _, a := range want {
		inputs := len(d.inputs)
		if !d.doAction(a) || len(d.inputs) < inputs { // decide again on new input
			break
		}
	}
}

func (d *driver) isUnwritten(a ponder.Action) bool {
	w, ok := a.(ponder.Write)
	return ok && d.done[w.Key] < len(w.Bodies)
}

// doAction performs an action and reports whether the state's next actions cannot have changed.
func (d *driver) doAction(a ponder.Action) bool {
	d.t.Helper()
	switch a := a.(type) {
	case ponder.Write:
		for i := d.done[a.Key]; i < len(a.Bodies); i++ {
			d.appendEvent(fmt.Sprintf("%s/%d.%d", a.Key, i+1, len(a.Bodies)), a.Bodies[i])
		}
		return true
	case ponder.Finish:
		d.appendEvent("", ponder.RunFinished{Answer: a.Answer, Status: a.Status, Reason: a.Reason, End: a.End, Confidence: a.Confidence})
		return false
	case ponder.Wait:
		d.elapsed += a.Until.Sub(d.wallTime())
	case ponder.Call:
		d.performAction(a, a.Key, d.takes)
	case ponder.Do:
		d.performAction(a, a.Key, d.takes/100)
	}
	return false
}

func (d *driver) performAction(a ponder.Action, key string, takes time.Duration) {
	d.t.Helper()
	if d.done[key] > 0 {
		d.t.Fatalf("%s is wanted again", key)
	}
	if d.paused {
		d.t.Fatalf("%s is wanted while it pauses", key)
	}
	d.actions = append(d.actions, a)
	d.elapsed += takes
	d.appendEvent(key+"#1", d.answer(a))
}

func (d *driver) actionKeys() (keys []string) {
	for _, a := range d.actions {
		keys = append(keys, keyOf(a))
	}
	return keys
}

func keyOf(a ponder.Action) string {
	switch a := a.(type) {
	case ponder.Call:
		return a.Key
	case ponder.Do:
		return a.Key
	}
	return ""
}

func bodiesOf[B ponder.Body](d *driver) (list []B) {
	for _, ev := range d.log {
		if b, ok := ev.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

func textAnswer(text string) ponder.Body {
	return ponder.CallFinished{Message: llm.Say(llm.Assistant, text), Model: "test/model", Finish: llm.FinishStop}
}

// loopAnswer is an answer that the engine cut where it repeated itself.
func loopAnswer(text string) ponder.Body {
	return ponder.CallFinished{Message: llm.Say(llm.Assistant, text), Model: "test/model", Finish: llm.FinishLoop}
}

func failedCall(class llm.Class, text string) ponder.Body {
	return ponder.CallFinished{Outcome: ponder.Outcome{Error: text, Class: class}}
}

func stepOf(key string) (what string, n int) {
	what, num, _ := strings.Cut(key, "-")
	fmt.Sscanf(num, "%d", &n)
	return what, n
}

func defaultAnswer(a ponder.Action) ponder.Body {
	what, n := stepOf(keyOf(a))
	what, _, _ = strings.Cut(what, "~")
	switch what {
	case lookupStep:
		return ponder.ToolResult{Name: SearchTool, Result: `{"hits":[]}`}
	case questions:
		return textAnswer(fmt.Sprintf(`{"questions":[{"question":"What of side %d?","priority":%d,"why":"It is open."}]}`, n, 3+n%7))
	case synthesis:
		return textAnswer(fmt.Sprintf(`{"synthesis":"Understanding %d.","insights":["Insight %d"],"confidence":0.%d,"remaining":["Rest %d"]}`, n, n, min(9, 3+n), n))
	case final:
		return textAnswer(`{"answer":"The answer, because of reasons.","insights":["All in all"],"confidence":0.8,"remaining":["Why at all?"]}`)
	}
	return textAnswer(fmt.Sprintf(`{"thoughts":[{"thought":"Thought %da.","type":"exploration","confidence":0.5},{"thought":"Thought %db.","type":"critique","confidence":0.6},{"thought":"Thought %dc.","type":"insight","confidence":0.7}]}`, n, n, n))
}
