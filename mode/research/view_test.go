package research

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder"
	"ponder/llm"
)

const viewed ponder.RunID = "run_view"

var morning = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// courseOf makes events of a thread, one per second, after ten seconds of earlier work. The first
// starts the run.
func courseOf(bodies ...ponder.Body) []ponder.Event {
	evs := make([]ponder.Event, len(bodies))
	calls := 0
	for i, b := range bodies {
		ev := ponder.Event{Run: viewed, Cause: "told-" + string(rune('a'+i)) + "/1.1", Elapsed: time.Duration(10+i) * time.Second, Body: b}
		switch b.(type) {
		case ponder.RunStarted, ponder.Steer, ponder.RunPaused, ponder.RunResumed:
			ev.Cause, ev.Elapsed = "", 0
		case ponder.ToolCall:
			calls++
			ev.Cause = numberedKey("look", calls) + "#1"
		case ponder.ToolResult:
			ev.Cause = numberedKey("look", calls) + "#1"
		}
		ev.ID = "evt_" + string(rune('a'+i))
		evs[i] = ev.Stamp("thr_view", ponder.Seq(i+1), morning.Add(time.Duration(i)*time.Second))
	}
	return evs
}

func viewOf(evs []ponder.Event) View {
	v := NewView()
	for _, ev := range evs {
		v = v.Apply(ev)
	}
	return v
}

func newToolCall(name, query string) ponder.ToolCall {
	js, _ := json.Marshal(map[string]string{"query": query})
	return ponder.ToolCall{Name: name, Args: js}
}

func newPassage(id, source, by, query string, score float64) ponder.Evidence {
	return ponder.Evidence{
		Content: "Text of " + id + ".", ID: id, Source: source, End: len(id) + 9, Score: score, Tool: by,
		Found: ponder.Found{Tool: by, Query: query},
	}
}

func completeRun() []ponder.Event {
	return courseOf(
		ponder.RunStarted{Mode: Name, Input: "Why is it so?", Budget: ponder.Budget{Time: 100 * time.Second, Cost: ponder.Cost{Calls: 10}}, Options: json.RawMessage(`{"web":true,"docs":["/docs"],"persona":{"name":"Ada"}}`)},
		ponder.Plan{Content: "First", Web: []string{"so"}, Memory: []string{"it"}, Round: 1, Effort: "normal", WithoutModel: true},
		newToolCall(WebSearchTool, "so"),
		ponder.ToolResult{Name: WebSearchTool, Result: "{}"},
		newPassage("e1", "https://a.example/1", WebSearchTool, "so", 0.5),
		newPassage("e2", "https://a.example/1#x", WebFetchTool, "so", 0.8),
		newToolCall(SearchTool, "it"),
		ponder.ToolResult{Name: SearchTool, Outcome: ponder.Outcome{Error: "no such\x1b[31m folder"}},
		ponder.Progress{Content: "1 new passage.", Stage: stageResearch, Label: "Found", Iteration: 2, Meta: json.RawMessage(`{"tool":"web_search","query":"so","new":2,"referenceSummary":{"totalUnique":1,"totalSent":2,"toolExecutionNumber":2,"newInThisRound":1,"toolBreakdown":{"web_search":1}}}`)},
		ponder.SubQuestion{Content: "Is it?", ID: "q1", Priority: 5, By: "user"},
		ponder.CallFinished{Model: "m1", Usage: llm.Usage{Input: 100, Output: 20}, Spent: ponder.Cost{Calls: 1, Tokens: 120, Money: 1500}, Price: ponder.PriceTable},
		ponder.Plan{Web: []string{"so what"}, Round: 2, Model: "m1"},
		ponder.Steer{Do: ponder.BanSource, Args: json.RawMessage(`{"source":"e1"}`)},
		ponder.Progress{Content: "banned", Stage: ponder.StageSteered, Ref: "evt_m"},
		ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{"time_ns":50000000000}`)},
		ponder.Progress{Content: "50s", Stage: ponder.StageSteered, Ref: "evt_o"},
		ponder.QuestionUpdated{ID: "q1", Explored: true, Insights: "It is."},
		ponder.RunPaused{Reason: "lunch"},
		ponder.RunResumed{},
		ponder.SystemNote{Content: "big.pdf: too large"},
		ponder.BudgetSpent{What: "time"},
		ponder.Claim{Content: "It is so.", ID: "c1", Cites: []string{"e2"}, Verdict: "supported", Score: 0.9, Reason: "said by e2", Quotes: []ponder.Passage{{Evidence: "e2", End: 4}}},
		ponder.Synthesis{Content: "It is so [e2].", Confidence: 0.7, Cites: []string{"e2"}, Final: true, Removed: []string{"e9"}, Model: "m2", Remaining: []string{"When?"},
			Conflicts: []ponder.Conflict{{Subject: "it", Attribute: "is", Sides: []ponder.Side{{Value: "1"}, {Value: "2"}}}}},
		ponder.RunFinished{Status: ponder.Completed, Answer: "It is so [e2].", Reason: "done", Confidence: 0.7},
	)
}

func TestView(t *testing.T) {
	v := viewOf(completeRun())
	want := Research{
		ID: "thr_view", Run: viewed, Question: "Why is it so?", Status: ponder.Completed, Started: morning, Completed: morning.Add(23 * time.Second),
		Answer: "It is so [e2].", Confidence: 0.7, Insights: []string{}, Remaining: []string{"When?"}, StopReason: "done", Effort: "normal", Stage: stageResearch, Rounds: 2, Model: "m2",
		CutShort: "time", Persona: Persona{Name: "Ada"},
		Setup:  Setup{MaxRounds: 5, MaxItems: 10, Parallel: 3, Strategy: Auto, Docs: []string{"/docs"}, Web: true},
		Budget: Limits{Seconds: 50, Calls: 10}, Elapsed: 22, Percentage: 100,
		Usage: Usage{Calls: 1, Input: 100, Output: 20, Total: 120, USD: ponder.Money(1500).USD(), Models: []ModelUsage{{Model: "m1", Calls: 1, Input: 100, Output: 20, USD: ponder.Money(1500).USD()}}},
	}
	if diff := cmp.Diff(want, v.Research); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	queries := []Query{
		{Tool: WebSearchTool, Text: "so", Round: 1, At: 1, Took: 1, Found: 1, Done: true},
		{Tool: SearchTool, Text: "it", Round: 1, At: 5, Took: 1, Done: true, Error: "no such folder"},
	}
	if diff := cmp.Diff(queries, v.Queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	if len(v.Plans) != 2 || v.Plans[1].Model != "m1" || v.Plans[0].Memory[0] != "it" {
		t.Errorf("plans %+v", v.Plans)
	}
	for i, e := range v.Evidence {
		if diff := cmp.Diff([]string{WebSearchTool, WebFetchTool}, e.FoundBy); diff != "" || e.Best != 0.8 || !e.Banned || e.Cited != (i == 1) || e.Quote != e.Content {
			t.Errorf("evidence %d is %+v %s", i, e, diff)
		}
	}
	if len(v.Claims) != 1 || v.Claims[0].Text != "It is so." || v.Claims[0].Reason != "said by e2" || len(v.Conflicts) != 1 || v.Removed[0] != "e9" {
		t.Errorf("claims %+v, conflicts %+v, removed %q", v.Claims, v.Conflicts, v.Removed)
	}
	if q := v.Questions[0]; !q.Explored || q.Insights != "It is." || q.By != "user" {
		t.Errorf("question %+v", q)
	}
	steering := []SteerCommand{
		{ID: "evt_m", Order: ponder.BanSource, Target: "e1", At: 10, Seq: 14, Effect: "banned", Cancelled: []string{}, Effective: 12},
		{ID: "evt_o", Order: ponder.SetBudget, Target: "50s of thinking", At: 12, Seq: 16, Effect: "50s", Cancelled: []string{}, Effective: 14},
	}
	if diff := cmp.Diff(steering, v.Steering, cmpopts.IgnoreUnexported(SteerCommand{}), cmpopts.IgnoreFields(SteerCommand{}, "Created")); diff != "" {
		t.Errorf("steering (-want +got):\n%s", diff)
	}
	var stages []string
	for _, m := range v.Timeline {
		stages = append(stages, m.Stage)
	}
	if diff := cmp.Diff("research wish steered wish steered paused resumed budget finished", strings.Join(stages, " ")); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
	if m := v.Timeline[0]; m.Tool != WebSearchTool || m.Query != "so" || m.New != 2 || v.References.Unique != 1 {
		t.Errorf("progress %+v, references %+v", m, v.References)
	}
	if diff := cmp.Diff([]string{"big.pdf: too large"}, v.Notes); diff != "" {
		t.Errorf("notes: %s", diff)
	}
}

// Any prefix of a log gives a view without null lists; clones stay unchanged.
func TestViewAnywhere(t *testing.T) {
	v := NewView()
	var views []View
	var texts []string
	bare := courseOf(ponder.RunStarted{Mode: Name}, ponder.Evidence{ID: "e1"}, ponder.Plan{}, ponder.Synthesis{Final: true})
	for _, ev := range append(bare, completeRun()...) {
		if _, ok := ev.Body.(ponder.RunStarted); ok {
			v = NewView()
		}
		v = v.Apply(ev)
		js, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"plans", "queries", "evidence", "claims", "conflicts", "removed_citations", "timeline", "questions", "found_by_tools", "models", "steps", "terms", "web_queries", "memory_queries"} {
			if strings.Contains(string(js), `"`+name+`":null`) {
				t.Fatalf("%s is null: %s", name, js)
			}
		}
		views, texts = append(views, v.Clone()), append(texts, string(js))
	}
	for i := range views {
		if js, err := json.Marshal(views[i]); err != nil || string(js) != texts[i] {
			t.Fatalf("clone %d has changed: %v\n%s", i, err, cmp.Diff(texts[i], string(js)))
		}
	}
}

func TestViewEnds(t *testing.T) {
	start := ponder.RunStarted{Mode: Name, Input: "Why?"}
	for _, tt := range []struct {
		name   string
		bodies []ponder.Body
		check  func(Research) bool
	}{
		{"not yet", []ponder.Body{start}, func(r Research) bool {
			return r.Status == ponder.Thinking && r.Budget.Seconds == defaultDuration.Seconds() && r.Completed.IsZero()
		}},
		{"paused", []ponder.Body{start, ponder.RunPaused{}}, func(r Research) bool { return r.Status == ponder.Paused && !r.Paused.IsZero() }},
		{"failed", []ponder.Body{start, ponder.RunFinished{Status: ponder.Failed, Reason: "no model"}}, func(r Research) bool {
			return r.Status == ponder.Failed && r.Error == "no model" && r.Answer == ""
		}},
		{"cancelled", []ponder.Body{start, ponder.RunPaused{}, ponder.RunFinished{Status: ponder.Cancelled, Spent: ponder.Cost{Calls: 3}}}, func(r Research) bool {
			return r.Status == ponder.Cancelled && r.Paused.IsZero() && r.Usage.Calls == 3
		}},
		{"without a model", []ponder.Body{start, ponder.Synthesis{Content: "“So.” [e1]", Final: true, WithoutModel: true}, ponder.RunFinished{Status: ponder.Completed, Answer: "“So.” [e1]"}}, func(r Research) bool {
			return r.WithoutModel && r.Answer == "“So.” [e1]" && r.Percentage == 100
		}},
		{"forked", []ponder.Body{start, ponder.SystemNote{Content: "forked", Reason: "fork", From: "thr_old", At: 7}}, func(r Research) bool {
			return r.Fork != nil && *r.Fork == Fork{"thr_old", 7}
		}},
		{"options that are wrong", []ponder.Body{ponder.RunStarted{Mode: Name, Input: "Why?", Options: json.RawMessage(`{"maxRounds":"x"}`)}}, func(r Research) bool { return r.Status == ponder.Thinking }},
		{"of another mode", []ponder.Body{ponder.RunStarted{Mode: "session", Input: "Why?"}, ponder.Plan{Content: "x"}}, func(r Research) bool { return r.Run == "" && r.Rounds == 0 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := viewOf(courseOf(tt.bodies...)).Research; !tt.check(r) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// The newest or the requested run is shown, with the cost of its children.
func TestViewOfSeveralRuns(t *testing.T) {
	evs := completeRun()
	for i, b := range []ponder.Body{
		ponder.RunStarted{Mode: Name, Input: "And?"}, ponder.CallFinished{Model: "judge", Spent: ponder.Cost{Calls: 1}}, ponder.Plan{Round: 4},
	} {
		run := []ponder.RunID{"run_2", "run_2/x", "run_2/x"}[i]
		evs = append(evs, ponder.Event{Run: run, Cause: "k#1", Elapsed: time.Minute, Body: b}.Stamp("thr_view", ponder.Seq(len(evs)+1), morning.Add(time.Hour)))
	}
	newest := viewOf(evs)
	if r := newest.Research; r.Question != "And?" || r.Usage.Calls != 1 || r.Rounds != 0 || len(newest.Evidence) != 0 {
		t.Errorf("newest is %+v", r)
	}
}

// Time advances between events, except while paused.
func TestViewAt(t *testing.T) {
	evs := completeRun()[:3]
	if r := viewOf(evs).WithElapsed(24 * time.Second).Research; r.Elapsed != 25 || r.Percentage != 25 {
		t.Errorf("%v s, %v %%", r.Elapsed, r.Percentage)
	}
	v := viewOf(evs).Apply(ponder.Event{Run: viewed, Body: ponder.RunPaused{}})
	if r := v.WithElapsed(24 * time.Second).Research; r.Elapsed != 1 {
		t.Errorf("%v s while it is paused", r.Elapsed)
	}
}

// Views contain nothing internal, and no control characters outside quotes.
func TestViewIsClean(t *testing.T) {
	const marker, escape = "MARKER", "\x1b[31m"
	evs := courseOf(
		ponder.RunStarted{Mode: Name, Input: escape}, ponder.Plan{Content: escape, Steps: []string{escape}, Web: []string{escape}}, ponder.Progress{Content: escape, Label: escape, Stage: escape},
		newToolCall(escape, escape), ponder.ToolResult{Outcome: ponder.Outcome{Error: escape}}, ponder.SubQuestion{Content: escape, ID: "q1"}, ponder.Steer{Content: escape},
		ponder.SystemNote{Content: escape}, ponder.CallFinished{Message: llm.Say(llm.Assistant, marker), Model: escape}, ponder.CallStarted{Model: marker},
		ponder.Synthesis{Content: escape, Final: true}, ponder.RunFinished{Status: ponder.Completed, Answer: escape, Reason: escape},
	)
	secret := ponder.Event{Run: viewed, Internal: true, Body: ponder.SystemNote{Content: marker}}
	js, err := json.Marshal(viewOf(append(evs, secret)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(js), marker) || strings.Contains(string(js), `\u001b`) {
		t.Errorf("shown: %s", js)
	}
}

func FuzzView(f *testing.F) {
	for _, ev := range completeRun() {
		js, _ := json.Marshal(ev)
		f.Add(js)
	}
	f.Fuzz(func(t *testing.T, js []byte) {
		var ev ponder.Event
		if json.Unmarshal(js, &ev) != nil {
			return
		}
		var r References
		v := NewView()
		for _, ev := range append(append(completeRun()[:12], ev), completeRun()[12:]...) {
			v = v.Apply(ev)
			r.Apply(ev)
		}
		if v.Research.Percentage < 0 || v.Research.Percentage > 100 || v.Research.Elapsed < 0 {
			t.Errorf("%v %%, %v s", v.Research.Percentage, v.Research.Elapsed)
		}
	})
}
