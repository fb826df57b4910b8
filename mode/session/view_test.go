package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func threadEvents(d *driver, budget ponder.Budget) []ponder.Event {
	js := d.run.Options
	evs := []ponder.Event{{Run: testRun, Body: ponder.RunStarted{Input: d.run.Input, Mode: Name, Version: 1, Budget: budget, Options: js}}}
	evs = append(evs, d.log...)
	for i := range evs {
		ev := evs[i]
		if b, ok := ev.Body.(ponder.CallFinished); ok {
			b.Usage = llm.Usage{Input: 100, CacheRead: 20, Output: 50}
			b.Spent, b.Price = ponder.Cost{Calls: 1, Tokens: 170, Money: 1500}, ponder.PriceTable
			ev.Body = b
		}
		ev.ID = "evt_" + strings.Repeat("0", 3) + string(rune('A'+i%26)) + string(rune('A'+i/26))
		evs[i] = ev.Stamp("thr_test", ponder.Seq(i+1), epoch.Add(ev.Elapsed))
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

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestExports(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      Options
		answer func(ponder.Action) ponder.Body
	}{
		{"modelled", Options{SynthesisInterval: 30, Docs: []string{"/docs"}}, func(a ponder.Action) ponder.Body {
			switch key := keyOf(a); key {
			case "thoughts-1":
				return textAnswer("THOUGHT: It rests on <b>two</b> facts [e1, e2], or more [e77].\nTYPE: insight\nCONFIDENCE: 0.7")
			case "thoughts-2":
				return failedCall(llm.Transient, "test/model: overloaded")
			case "final":
				return textAnswer("SYNTHESIS: It is so [e1].\n# Why\nBecause of `x<y>`, not <script>.\nINSIGHTS:\n- One | two\nCONFIDENCE: 0.8\nREMAINING:\n- Why?")
			}
			return world{size: 9}.answerAction(a)
		}},
		{"unaided", Options{Docs: []string{"/docs"}, WithoutModel: true}, world{size: 9}.answerAction},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDriver(t, "What is the fact?", tt.o, 50*time.Second, tt.answer).runToEnd()
			v := viewOf(threadEvents(d, ponder.Budget{Time: 50 * time.Second, Cost: ponder.Cost{Money: 1e6}}))
			js, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, tt.name+".json", string(js)+"\n")
		})
	}
}

// The JSON names are stable.
func TestShapeNames(t *testing.T) {
	v := NewView()
	v.Thoughts, v.Questions, v.Syntheses = []Thought{{Question: "q1"}}, []Question{{}}, []Synthesis{{}}
	js, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(js, &got); err != nil {
		t.Fatal(err)
	}
	for name, fields := range map[string]string{
		"session": "id original_question thinking_duration_minutes model_id status progress started_at paused_at resumed_at completed_at created_at " +
			"final_synthesis confidence_evolution stop_reason budget usage metadata error_message",
		"thoughts":  "id session_id sequence_number thought_text thought_type confidence importance related_to_question_id time_offset_seconds created_at",
		"questions": "id session_id question_text priority why explored insights_gained created_at",
		"syntheses": "id session_id sequence_number synthesis_text key_insights confidence_level remaining_questions time_offset_seconds created_at",
		"sources":   "",
	} {
		for _, f := range strings.Fields(fields) {
			if !strings.Contains(string(got[name]), `"`+f+`":`) {
				t.Errorf("%s lacks %s: %s", name, f, got[name])
			}
		}
	}
	for _, f := range strings.Fields("total_thoughts total_questions total_syntheses current_focus percentage percentage_of time_percentage elapsed_seconds") {
		if !strings.Contains(string(got["session"]), `"`+f+`":`) {
			t.Errorf("progress lacks %s", f)
		}
	}
	if strings.Contains(string(js), "null,") && !strings.Contains(string(js), `_at":null`) {
		t.Errorf("a list is null: %s", js)
	}
}

func TestViewLifecycle(t *testing.T) {
	at := func(sec int, run ponder.RunID, cause string, b ponder.Body) ponder.Event {
		return ponder.Event{Thread: "thr_test", Run: run, Cause: cause, Time: epoch.Add(time.Duration(sec) * time.Second), Elapsed: time.Duration(sec) * time.Second, Body: b}
	}
	v := NewView()
	if v.Session.Status != ponder.Created {
		t.Errorf("status %s before the start", v.Session.Status)
	}
	steps := []struct {
		name    string
		ev      ponder.Event
		status  ponder.Status
		percent float64
		elapsed float64
		of      string
		time    float64
	}{
		{"other mode", at(1, "run_1", "", ponder.RunStarted{Mode: "research"}), ponder.Created, 0, 0, "", 0},
		{"start", at(10, testRun, "", ponder.RunStarted{Mode: Name, Input: "Why?", Budget: ponder.Budget{Time: 100 * time.Second, Cost: ponder.Cost{Calls: 4}}}), ponder.Thinking, 0, 0, "", 0},
		{"first", at(10, testRun, "focus-1/1.1", ponder.Progress{Stage: "focus", Content: "Why?"}), ponder.Thinking, 0, 0, "time", 0},
		{"other run", at(20, "run_1", "", ponder.RunPaused{}), ponder.Thinking, 0, 0, "time", 0},
		{"thought", at(20, testRun, "note-1/1.1", ponder.Thought{Content: "T"}), ponder.Thinking, 10, 10, "time", 10},
		{"call", at(30, testRun, "thoughts-2#1", ponder.CallFinished{Model: "m", Spent: ponder.Cost{Calls: 1}}), ponder.Thinking, 25, 20, "calls", 20},
		{"pause all", at(30, "", "", ponder.RunPaused{}), ponder.Paused, 25, 20, "calls", 20},
		{"resume", at(30, testRun, "", ponder.RunResumed{}), ponder.Thinking, 25, 20, "calls", 20},
		{"spent", at(60, testRun, "", ponder.BudgetSpent{What: "calls"}), ponder.Thinking, 50, 50, "time", 50},
		{"end", at(60, testRun, "", ponder.RunFinished{Status: ponder.Completed, Answer: "So.", Reason: "calls are spent"}), ponder.Completed, 100, 50, "time", 50},
		{"another", at(70, "run_2", "", ponder.RunStarted{Mode: Name, Input: "And?"}), ponder.Thinking, 0, 0, "", 0},
	}
	var ended View
	for i, s := range steps {
		v = v.Apply(s.ev)
		p := v.Session.Progress
		if v.Session.Status != s.status || p.Percentage != s.percent || p.Elapsed != s.elapsed {
			t.Errorf("%s: status %s, %v %%, %v s; want %s, %v %%, %v s", s.name, v.Session.Status, p.Percentage, p.Elapsed, s.status, s.percent, s.elapsed)
		}
		if started := v.Session.Started != nil; started != (i > 1 && s.name != "another") {
			t.Errorf("%s: started at %v", s.name, v.Session.Started)
		}
		if s.of != p.PercentageOf || s.time != p.TimePercentage {
			t.Errorf("%s: measures %q, %v %% of the time; want %q, %v %%", s.name, p.PercentageOf, p.TimePercentage, s.of, s.time)
		}
		if s.name == "end" {
			ended = v
		}
	}
	if s := ended.Session; s.Paused == nil || s.Resumed == nil || !s.Paused.Equal(epoch.Add(30*time.Second)) {
		t.Errorf("paused at %v, resumed at %v", s.Paused, s.Resumed)
	}
	if !ended.CutShort || ended.Session.Final != "So." || len(ended.Thoughts) != 1 || ended.Session.Model != "m" {
		t.Errorf("ended as %+v", ended)
	}
	if v.Session.Question != "And?" || len(v.Thoughts) != 0 || v.Session.Minutes != 5 {
		t.Errorf("the other session is %+v", v.Session)
	}
	if p := v.WithElapsed(150 * time.Second).Session.Progress; p.Percentage != 50 || p.Elapsed != 150 {
		t.Errorf("half-way: %+v", p)
	}
}

func TestViewClone(t *testing.T) {
	for name, evs := range map[string][]ponder.Event{
		"driven": threadEvents(newDriver(t, "What is the fact?", Options{Docs: []string{"/docs"}, SynthesisInterval: 20}, 2*time.Minute, world{seed: 3, size: 30}.answerAction).runToEnd(), ponder.Budget{}),
		"rich":   fullSession(),
	} {
		t.Run(name, func(t *testing.T) {
			v := NewView()
			var views []View
			var texts []string
			for _, ev := range evs {
				v = v.Apply(ev)
				views, texts = append(views, v.Clone()), append(texts, string(mustEncode(t, v)))
			}
			for i := range views {
				if got := string(mustEncode(t, views[i])); got != texts[i] {
					t.Fatalf("clone %d has changed:\n%s", i, cmp.Diff(texts[i], got))
				}
			}
		})
	}
}

// An answer cites the ids of its newest synthesis and insights.
func TestViewCites(t *testing.T) {
	v := NewView()
	v.Sources = []Source{{ID: "e1"}, {ID: "e2"}, {ID: "e3"}}
	for name, test := range map[string]struct {
		syntheses []Synthesis
		cites     []string
	}{
		"none yet":          {nil, nil},
		"it cites nothing":  {[]Synthesis{{Text: "So [e1].", Cites: []string{"e1"}}, {Text: "So."}}, nil},
		"one":               {[]Synthesis{{Text: "So [e1].", Cites: []string{"e1"}}}, []string{"e1"}},
		"one in an insight": {[]Synthesis{{Text: "So [e1].", Cites: []string{"e1"}, Insights: []string{"So [e2][e3]."}}}, []string{"e1", "e2", "e3"}},
	} {
		v.Syntheses = test.syntheses
		var cites []string
		for _, s := range v.Sources {
			if v.Cites(s.ID) {
				cites = append(cites, s.ID)
			}
		}
		if !slices.Equal(cites, test.cites) {
			t.Errorf("%s: %v, want %v", name, cites, test.cites)
		}
	}
}

func TestInternalIsNotShown(t *testing.T) {
	const marker = "MARKER"
	v := NewView()
	run := ponder.RunStarted{Mode: Name, Input: "Why?"}
	for i, b := range []ponder.Body{
		run,
		ponder.CallStarted{Model: "m", Request: &llm.Request{System: marker}},
		ponder.CallFinished{Message: llm.Say(llm.Assistant, marker), Model: "m"},
		ponder.CallFinished{Model: "m", Outcome: ponder.Outcome{Error: marker}},
		ponder.InnerMonologue{Content: marker},
		ponder.ToolResult{Result: marker},
	} {
		v = v.Apply(ponder.Event{Run: testRun, Body: b, Internal: i > 0})
	}
	if shown := string(mustEncode(t, v)); strings.Contains(shown, marker) {
		t.Errorf("shown: %s", shown)
	}
}

// A second session on a thread starts from zero, though the thread's clock does not.
func TestSecondSession(t *testing.T) {
	const run ponder.RunID = "run_b"
	v := NewView()
	var got []float64
	for _, ev := range []ponder.Event{
		{Elapsed: 300 * time.Second, Body: ponder.RunStarted{Mode: Name, Input: "What?", Options: []byte(`{"earlier":true}`), Budget: ponder.Budget{Time: 5 * time.Minute}}},
		{Elapsed: 302 * time.Second, Cause: "found-1/1.1", Body: ponder.Evidence{ID: "e1", Content: "x", Source: "thread:1"}},
		{Elapsed: 302 * time.Second, Cause: "focus-1/1.1", Body: ponder.Progress{Stage: "focus", Content: "What?"}},
		{Elapsed: 317 * time.Second, Cause: "note-1/1.1", Body: ponder.Thought{Content: "x"}},
		{Elapsed: 310 * time.Second, Cause: "note-1/2.2", Body: ponder.Thought{Content: "y"}}, // the clock was set back
	} {
		ev.Run = run
		v = v.Apply(ev)
		got = append(got, v.Session.Progress.Percentage)
	}
	if diff := cmp.Diff([]float64{0, 0, 0, 5, 5}, got); diff != "" {
		t.Errorf("percentages (-want +got):\n%s", diff)
	}
}
