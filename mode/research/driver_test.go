package research

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

// driver performs the actions of research sequentially under a simulated clock. It checks that
// states are immutable and storable.
type driver struct {
	t      testing.TB
	mode   ponder.Mode
	run    ponder.Run
	answer func(ponder.Action) ponder.Body // result of a Call or Do; nil hangs
	takes  time.Duration                   // duration of a call; a look takes a hundredth
	inputs map[int]ponder.Body             // by number of events before them
	quick  bool                            // without checks

	state   ponder.State
	log     []ponder.Event
	done    map[string]int
	types   map[string]int
	elapsed time.Duration
	told    bool
	paused  bool
	actions []ponder.Action
	fin     *ponder.RunFinished
}

func newDriver(t testing.TB, question string, o Options, budget time.Duration, answer func(ponder.Action) ponder.Body) *driver {
	t.Helper()
	d := &driver{t: t, mode: New(), answer: answer, takes: 4 * time.Second, done: make(map[string]int), types: make(map[string]int)}
	d.run = ponder.Run{ID: testRun, Mode: Name, Input: question, Options: mustEncode(t, o), Budget: ponder.Budget{Time: budget}}
	d.state = d.mode.Start(d.run)
	return d
}

func (d *driver) appendEvent(key string, b ponder.Body) {
	d.t.Helper()
	seq := ponder.Seq(len(d.log) + 1)
	d.applyEvent(ponder.Event{ID: fmt.Sprintf("evt_%d", seq), Run: testRun, Cause: key, Elapsed: d.elapsed, Body: b, Seq: seq})
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
		d.paused = true
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
	if got, want := mustEncode(d.t, again), mustEncode(d.t, next); !bytes.Equal(got, want) {
		d.t.Fatalf("state after %s does not come back as it was:\n%s", ev.Body.Type(), cmp.Diff(string(want), string(got)))
	}
	now := ponder.Moment{Spent: d.elapsed}
	if got, want := again.Next(now), next.Next(now); !reflect.DeepEqual(got, want) {
		d.t.Fatalf("a state that was stored wants something else after %s:\n%s", ev.Body.Type(), cmp.Diff(want, got))
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
		if n > 2000 {
			d.t.Fatal("the research does not end")
		}
		if d.paused {
			d.appendEvent("", ponder.RunResumed{})
			continue
		}
		if !d.told && d.run.Budget.Time > 0 && d.elapsed >= d.run.Budget.Time {
			d.appendEvent("", ponder.BudgetSpent{What: "time"})
			continue
		}
		now := ponder.Moment{Wall: time.Unix(0, 0).Add(d.elapsed), Spent: d.elapsed}
		want := d.state.Next(now)
		if d.isChecked(len(d.log)) {
			if again := d.state.Next(now); !reflect.DeepEqual(want, again) {
				d.t.Fatalf("Next twice:\n%s", cmp.Diff(want, again))
			}
		}
		if !d.doFirst(want) {
			d.advanceClock(want)
		}
	}
	return d
}

// doFirst performs the first possible action and reports whether there was one.
func (d *driver) doFirst(want []ponder.Action) bool {
	for _, a := range want {
		switch a := a.(type) {
		case ponder.Write:
			if d.done[a.Key] >= len(a.Bodies) {
				d.t.Fatalf("%s is written again", a.Key)
			}
			i := d.done[a.Key]
			d.appendEvent(fmt.Sprintf("%s/%d.%d", a.Key, i+1, len(a.Bodies)), a.Bodies[i])
			return true
		case ponder.Finish:
			d.appendEvent("", ponder.RunFinished{Answer: a.Answer, Status: a.Status, Reason: a.Reason, Confidence: a.Confidence})
			return true
		case ponder.Call:
			if d.performAction(a, a.Key, d.takes) {
				return true
			}
		case ponder.Do:
			if d.performAction(a, a.Key, d.takes/100) {
				return true
			}
		}
	}
	return false
}

func (d *driver) advanceClock(want []ponder.Action) {
	d.t.Helper()
	next := time.Hour
	if limit := d.run.Budget.Time; limit > 0 && !d.told {
		next = limit
	}
	waits := false
	for _, a := range want {
		if w, ok := a.(ponder.Wait); ok {
			next, waits = min(next, w.Until.Sub(time.Unix(0, 0))), true
		}
	}
	if !waits && d.told || next <= d.elapsed {
		d.t.Fatalf("the research sleeps: %v", want)
	}
	d.elapsed = next
}

func (d *driver) performAction(a ponder.Action, key string, takes time.Duration) bool {
	d.t.Helper()
	if d.done[key] > 0 {
		d.t.Fatalf("%s is wanted again", key)
	}
	before := len(d.log)
	b := d.answer(a)
	if b == nil {
		return len(d.log) > before // an input arrived
	}
	d.actions = append(d.actions, a)
	d.elapsed += takes
	d.appendEvent(key+"#1", b)
	return true
}

func (d *driver) actionKeys() (keys []string) {
	for _, a := range d.actions {
		keys = append(keys, keyOf(a))
	}
	return keys
}

func (d *driver) modelCalls() (list []ponder.Call) {
	for _, a := range d.actions {
		if c, ok := a.(ponder.Call); ok {
			list = append(list, c)
		}
	}
	return list
}

func (d *driver) toolActions(tool string) (list []ponder.Do) {
	for _, a := range d.actions {
		if do, ok := a.(ponder.Do); ok && do.Tool == tool {
			list = append(list, do)
		}
	}
	return list
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

// callsTools returns a call that was answered with tool calls, given as pairs of name and input.
func callsTools(id string, pairs ...string) ponder.Body {
	m := llm.Message{Role: llm.Assistant}
	for i := 0; i < len(pairs); i += 2 {
		m.Parts = append(m.Parts, llm.Part{Call: &llm.ToolCall{ID: fmt.Sprintf("%s-%d", id, i), Name: pairs[i], Input: json.RawMessage(pairs[i+1])}})
	}
	return ponder.CallFinished{Message: m, Model: "test/model", Finish: llm.FinishTools}
}

func failedCall(class llm.Class, text string) ponder.Body {
	return ponder.CallFinished{Outcome: ponder.Outcome{Error: text, Class: class}}
}

func failedTool(tool, text string) ponder.Body {
	return ponder.ToolResult{Name: tool, Outcome: ponder.Outcome{Error: text}}
}

type fake struct {
	pages map[string]string // text by URL
	docs  []string
	model func(a ponder.Call) ponder.Body // nil: sensible
	tool  func(a ponder.Do) ponder.Body   // nil or a nil result: the simulation
}

func (f fake) answerAction(a ponder.Action) ponder.Body {
	switch a := a.(type) {
	case ponder.Call:
		if f.model != nil {
			return f.model(a)
		}
		return defaultAnswer(a)
	case ponder.Do:
		if f.tool != nil {
			if b := f.tool(a); b != nil {
				return b
			}
		}
		return f.useTool(a)
	}
	return nil
}

func whatOf(key string) string {
	what, _, _ := strings.Cut(strings.TrimSuffix(key, "~2"), "-")
	return what
}

func defaultAnswer(a ponder.Call) ponder.Body {
	switch whatOf(a.Key) {
	case planKey:
		return textAnswer(`{"plan":["Find the depth.","Find who measured it."],"importantTerms":["trench"],"webQueries":["trench depth survey"],"memoryQueries":["trench depth notes"]}`)
	case "reflect":
		return textAnswer(`{"enough":true,"why":"All is there."}`)
	case "judge":
		return textAnswer(`{"verdicts":[]}`)
	}
	return textAnswer("The trench is 10,935 metres deep [e1].")
}

func (f fake) useTool(a ponder.Do) ponder.Body {
	var in struct {
		Query, URL string
		Limit      int
	}
	if err := json.Unmarshal(a.Args, &in); err != nil {
		return failedTool(a.Tool, err.Error())
	}
	switch a.Tool {
	case WebSearchTool:
		return ponder.ToolResult{Name: a.Tool, Result: f.searchResults(in.Query, in.Limit), Untrusted: true}
	case WebFetchTool:
		return f.fetchPage(a.Tool, in.URL)
	case PersonaTool:
		return ponder.ToolResult{Name: a.Tool, Result: `{"sources":[{"id":"m1","place":"m1#0","kind":"memory","memory":"I dived near the trench in 2019.","relevanceScore":0.7,"metadata":{"source":"journal"}}]}`}
	}
	var hits []string
	for i, s := range f.docs {
		if len(hits) < in.Limit {
			hits = append(hits, fmt.Sprintf(`{"id":"d%d","kind":"file","source":"/docs/%d.md","title":"Doc %d","quote":%s,"start":%d,"end":%d,"hash":"abc","score":0.8,"terms":["trench"]}`, i, i, i, quoteJSON(s), 10*i, 10*i+len(s)))
		}
	}
	return ponder.ToolResult{Name: a.Tool, Result: `{"hits":[` + strings.Join(hits, ",") + `],"skipped":[]}`}
}

func (f fake) searchResults(query string, limit int) string {
	var results []string
	for _, url := range f.sortedURLs() {
		if len(results) < limit {
			snippet, _, _ := strings.Cut(f.pages[url], "\n")
			results = append(results, fmt.Sprintf(`{"url":%q,"title":"Page of %s","snippet":%s,"score":0.7,"quality":[{"name":"standing","value":0.8,"says":"known"}],"published":"2024-03-01T00:00:00Z"}`, url, url, quoteJSON(snippet)))
		}
	}
	return `{"untrusted":true,"results":[` + strings.Join(results, ",") + `]}`
}

func (f fake) sortedURLs() (list []string) {
	for url := range f.pages {
		list = append(list, url)
	}
	slices.Sort(list)
	return list
}

func (f fake) fetchPage(tool, url string) ponder.Body {
	text, ok := f.pages[url]
	if !ok {
		return failedTool(tool, "404")
	}
	var hits []string
	at := 0
	for _, line := range strings.Split(text, "\n") {
		hits = append(hits, fmt.Sprintf(`{"id":"%s-%d","source":%q,"quote":%s,"start":%d,"end":%d,"hash":"aa","score":0.8}`, url, at, url, quoteJSON(line), at, at+len(line)))
		at += len(line) + 1
	}
	return ponder.ToolResult{Name: tool, Result: `{"url":` + quoteJSON(url) + `,"title":"A page","fetched":"2025-01-01T00:00:00Z","original":"ff","hits":[` + strings.Join(hits, ",") + `]}`, Untrusted: true}
}

func quoteJSON(s string) string {
	js, _ := json.Marshal(s)
	return string(js)
}
