package ponder_test

import (
	"bufio"
	"encoding/json"
	"flag"
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

var update = flag.Bool("update", false, "write the golden files")

// allEvents returns an event of each type, with each field set.
func allEvents() []ponder.Event {
	use := &llm.Usage{Input: 3, CacheRead: 2, CacheWrite: 1, Output: 5, Reasoning: 4, Estimated: true}
	cost := ponder.Cost{Calls: 1, Tokens: 8, Money: 40}
	fail := ponder.Outcome{Error: "overloaded", Class: llm.Transient, RetryAt: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), Next: "b/2", Dropped: true, Refused: true}
	bodies := []ponder.Body{
		ponder.UserMessage{Content: "hello", Media: []llm.Media{{Type: "image/png", Data: []byte{1, 2}}}},
		ponder.AssistantMessage{Content: "hi", Model: "a/1", Usage: use, Untrusted: []ponder.UntrustedSource{{Source: "web page https://a.example/", Seq: 7}, {Source: "documents"}}},
		ponder.ToolCall{Name: "look", Args: json.RawMessage(`{"q":"x"}`)},
		ponder.ToolResult{Name: "look", Result: "found", Outcome: fail},
		ponder.SystemNote{Content: "note", Reason: "why", Foreign: "odd"},
		ponder.AttachmentAdded{Content: "text", Name: "a.txt", Media: "text/plain", Hash: "00ff", Bytes: 4},
		ponder.InnerMonologue{Content: "hm", Tool: "deep_think", Reason: "5 turns", Model: "a/1"},
		ponder.TitleGenerated{Content: "The sea"},
		ponder.Summary{Content: "so far", From: 1, To: 9},
		ponder.Thought{Content: "deep", Number: 2, Kind: "insight", Confidence: 0.75, Importance: 0.5, Focus: "depth", Question: "q1", Cites: []string{"e1"}, WithoutModel: true, Offset: 1.5, Model: "a/1"},
		ponder.SubQuestion{Content: "how deep?", ID: "q1", Priority: 9, Why: "matters", WithoutModel: true, Offset: 2},
		ponder.QuestionUpdated{ID: "q1", Priority: 3, Explored: true, Insights: "very", Reason: "thought about"},
		ponder.Synthesis{Content: "it is deep", Number: 1, Insights: []string{"a"}, Confidence: 0.6, Remaining: []string{"b"}, Cites: []string{"e1"}, Final: true, WithoutModel: true, Offset: 3, Model: "a/1"},
		ponder.Plan{Content: "first", Terms: []string{"sea"}, Queries: []string{"depth of the sea"}},
		ponder.Evidence{Content: "10,935 m", ID: "e1", Source: "sea.md", Title: "Sea", Start: 5, End: 14, Hash: "00ff", Score: 0.9, Tool: "knowledge_search"},
		ponder.Claim{Content: "it is 10,935 m deep", Cites: []string{"e1"}, Verdict: "supported"},
		ponder.Progress{Content: "searching", Stage: "research", Label: "l", Step: 1, Total: 3, Iteration: 2, Confidence: 0.3},
		ponder.Observation{Content: "a bill", Sensor: "mail"},
		ponder.Finding{Content: "due", By: "watcher", Kind: "pattern", Importance: 5, Reinforces: []string{"x"}},
		ponder.Subconscious{State: json.RawMessage(`{"patterns":[]}`)},
		ponder.Escalation{Content: "pay", Reason: "due", Importance: 8},
		ponder.Resolution{Content: "paid", Ref: "x"},
		ponder.RunStarted{Input: "?", Mode: "session", Version: 1, Budget: ponder.Budget{Cost: cost, Time: time.Minute, Reserve: cost}, Options: json.RawMessage(`{"docs":["/x"]}`)},
		ponder.RunPaused{Reason: "lunch"},
		ponder.RunResumed{Reason: "back"},
		ponder.RunFinished{Answer: "42", Status: ponder.Completed, Reason: "time is spent", Confidence: 0.8, Spent: cost},
		ponder.Steer{Content: "mind the tides", Do: ponder.AnswerNow, Args: json.RawMessage(`{"x":1}`)},
		ponder.CallStarted{Role: ponder.Slow, Mode: "session", Model: "a/1", Reserved: cost},
		ponder.CallFinished{Message: llm.Say(llm.Assistant, "so"), Finish: llm.FinishStop, Model: "a/1", Usage: *use, Spent: cost, Price: ponder.PriceTable, Took: 12, Outcome: fail},
		ponder.BudgetSpent{What: "time"},
		ponder.ToolResult{Name: "web_fetch", Result: "a page", Untrusted: true},
		ponder.Evidence{
			Content: "10,935 m", ID: "e2", Source: "https://sea.test/deep", Title: "Sea", Start: 5, End: 14, Hash: "00ff", Score: 0.9, Tool: "web_search",
			URL: "https://sea.test/deep?m=1", Section: "Trenches", Page: 3, Author: "A. Diver", Published: time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC),
			Fetched: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Original: "11ee", Found: ponder.Found{Tool: "web_search", Query: "depth of the sea", Provider: "exa, brave"},
			Cluster: "c1", Voices: 2, Quality: []ponder.Signal{{Name: "author", Value: 1, Description: "The author is named: A. Diver."}}, Untrusted: true,
		},
		ponder.InnerMonologue{
			Content: "hmm: deep", Tool: "deep_think", Reason: "5 turns", Model: "a/1", ReadTo: 7, Trigger: "evt_7", Sources: []string{"sea.md"},
			Condenses: []ponder.Seq{3, 5}, Older: true,
		},
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	evs := make([]ponder.Event, len(bodies))
	for i, b := range bodies {
		evs[i] = ponder.Event{ID: "evt_0", Run: "run_1/a", Cause: "a-1#1", After: ponder.Seq(i), Elapsed: 1500 * time.Millisecond, Internal: i%2 == 0, Body: b}.Stamp("thr_1", ponder.Seq(i+1), at)
	}
	erased := ponder.Event{ID: "evt_0", Run: "run_1/a", Cause: "a-1#1", Body: bodies[9]}.WithoutContent()
	imported := ponder.Event{ID: "evt_0", Body: ponder.SystemNote{Content: "note", Foreign: "canvas"}, Extra: map[string]json.RawMessage{
		"engine": json.RawMessage(`"x y"`), "from_thread": json.RawMessage(`[1,2.50]`), "ts": json.RawMessage(`null`),
	}}
	list := []ponder.Event{erased, imported}
	for _, b := range slices.Concat(researchBodies, subconsciousBodies, countBodies, assumedBodies) {
		list = append(list, ponder.Event{ID: "evt_0", Run: "run_1", Body: b})
	}
	for _, ev := range list {
		evs = append(evs, ev.Stamp("thr_1", ponder.Seq(len(evs)+1), at))
	}
	return evs
}

// researchBodies holds events of research.
var researchBodies = []ponder.Body{
	ponder.Plan{Content: "look", Steps: []string{"a", "b"}, Terms: []string{"sea"}, Web: []string{"deep sea"}, Memory: []string{"dive"}, Round: 2, Effort: "normal", WithoutModel: true, Model: "m"},
	ponder.Claim{
		Content: "it is 10 m deep", ID: "c1", Start: 3, End: 20, Cites: []string{"e1"}, Verdict: "qualified", Score: 0.5, Reason: "about",
		Quotes: []ponder.Passage{{Evidence: "e1", Start: 1, End: 9}}, Against: []ponder.Passage{{Evidence: "e2", End: 4}}, Judge: "m",
	},
	ponder.Synthesis{Content: "deep", Confidence: 0.5, Removed: []string{"[e9]"}, Conflicts: []ponder.Conflict{{
		Subject: "sea", Attribute: "depth", Time: "2020", Unit: "m",
		Sides: []ponder.Side{{Value: "10", Quotes: []ponder.Passage{{Evidence: "e1", End: 4}}, Voices: 2, Newest: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, {Value: "11", Voices: 1}},
	}}},
	ponder.Progress{Content: "found", Stage: "research", Meta: json.RawMessage(`{"referenceSummary":{"totalUnique":3}}`)},
}

// subconsciousBodies holds events of the subconscious.
var subconsciousBodies = []ponder.Body{
	ponder.Observation{
		Content: "disk is full", Sensor: "system", Subject: "disk /", State: "high", Level: 8, Due: time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC), Source: "/", Untrusted: true, Cursor: json.RawMessage(`{"n":1}`),
	},
	ponder.Finding{
		Content: "disk fills up", By: "watcher", Kind: "anomaly", Importance: 8, Reinforces: []string{"m1"}, Observations: []string{"evt_1"}, Due: time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC), Untrusted: true,
		MergeResult: "added", Entry: "m2",
	},
	ponder.Subconscious{State: json.RawMessage(`{"patterns":[]}`), Tick: 3, Changes: json.RawMessage(`{"tick":3}`)},
	ponder.Escalation{
		Content: "the disk is full", Reason: "it is", ID: "esc_1", Importance: 8, Outcome: "message", Entries: []string{"m2"}, Observations: []string{"evt_1"},
		Signatures: []string{"system|disk /|high"}, Sources: []string{"/"}, Untrusted: true, WithoutModel: true, Model: "a/1",
	},
	ponder.Resolution{Content: "done", Ref: "m2", As: "forgotten", State: json.RawMessage(`{"patterns":[]}`)},
}

// countBodies holds events with counts and with NotBefore.
var countBodies = []ponder.Body{
	ponder.CallStarted{Role: ponder.Slow, Mode: "session", Model: "a/1", Size: 6543, Reserved: ponder.Cost{Calls: 1, Tokens: 8}},
	ponder.CallFinished{Model: "a/1", Outcome: ponder.Outcome{Error: "overloaded", Class: llm.Transient, NotBefore: time.Date(2026, 1, 2, 3, 4, 36, 0, time.UTC)}},
	ponder.CallFinished{Model: "a/1", Usage: llm.Usage{Input: 6, Output: 5, Estimated: true, Hedged: true}, Spent: ponder.Cost{Calls: 2, Tokens: 11}, Price: ponder.PriceUnknown},
}

// assumedBodies holds events with an assumed confidence, and a call without a request.
var assumedBodies = []ponder.Body{
	ponder.Thought{Content: "deep", Kind: "exploration", Confidence: 0.5, Assumed: true, Model: "a/1"},
	ponder.Synthesis{Content: "it is deep", Confidence: 0.5, Assumed: true, Model: "a/1"},
	ponder.CallFinished{Model: "a/1", Outcome: ponder.Outcome{
		Error: "not asked", Class: llm.Unreachable, RetryAt: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), Next: "b/2", Unsent: true,
	}},
	ponder.CallFinished{Model: "a/1", Outcome: ponder.Outcome{Error: "too long", Class: llm.TooLong, Room: 4096}},
	ponder.ApprovalRequested{
		Tool: "send", Args: json.RawMessage(`{"to":"ann"}`), Reason: "it acts", Expires: time.Date(2026, 1, 3, 3, 4, 5, 0, time.UTC), Untrusted: []string{"web page"},
	},
	ponder.UserMessage{Content: "Approved: send", Decisions: []ponder.ApprovalDecision{{ID: "evt_0", Approved: true}}},
	ponder.InnerMonologue{Content: "so", Tool: "deep_think", Untrusted: true},
}

// Every version decodes all events ever written. A new form of an event gets new lines in
// the file, and no line leaves it.
func TestDecodeStoredEvents(t *testing.T) {
	file := filepath.Join("test", "testdata", "events.jsonl")
	if *update {
		var out []byte
		for _, ev := range allEvents() {
			js, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, js...), '\n')
		}
		if err := os.WriteFile(file, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []ponder.Event
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var ev ponder.Event
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			t.Fatalf("line %d: %v", len(got)+1, err)
		}
		js, err := json.Marshal(ev)
		if err != nil || string(js) != lines.Text() {
			t.Errorf("line %d: written again (%v):\n%s\nwant:\n%s", len(got)+1, err, js, lines.Text())
		}
		got = append(got, ev)
	}
	if diff := cmp.Diff(allEvents(), got); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}

func TestUnknownEventRoundTrip(t *testing.T) {
	line := `{"event_id":"evt_1","thread_id":"thr_1","seq":4,"ts":"2026-01-02T03:04:05.000000Z","type":"dream","run_id":"run_1","content":"of sheep","reason":"night","data":{"sheep":[1,2],"x":{"y":"<&>"}}}`
	var ev ponder.Event
	if err := json.Unmarshal([]byte(line), &ev); err != nil {
		t.Fatal(err)
	}
	if js, err := ev.MarshalJSON(); err != nil || string(js) != line {
		t.Errorf("written again (%v): %s", err, js)
	}
}

// An erased event of an unknown type keeps only the mark.
func TestUnknownEventErased(t *testing.T) {
	line := `{"event_id":"evt_1","seq":4,"type":"dream","run_id":"run_1","data":{"erased":true}}`
	ev := ponder.Event{ID: "evt_1", Seq: 4, Run: "run_1", Body: ponder.Unknown{Name: "dream", Data: json.RawMessage(`{"sheep":2}`)}}.WithoutContent()
	if js, err := ev.MarshalJSON(); err != nil || string(js) != line {
		t.Errorf("written (%v): %s", err, js)
	}
	var got ponder.Event
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ev, got); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}

// The top level of a stored event has the fields of docs/log-format.md and no other.
func TestTopLevelFields(t *testing.T) {
	allowed := strings.Fields("event_id thread_id seq ts type role content tool_name tool_args tool_result reason run_id cause after elapsed_ms model usage internal data")
	for _, ev := range allEvents() {
		js, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(js, &fields); err != nil {
			t.Fatal(err)
		}
		for name := range fields {
			if !slices.Contains(allowed, name) {
				t.Errorf("%s has the field %s", ev.Body.Type(), name)
			}
		}
	}
}

// IsInput admits only events that need no lease.
func TestInputs(t *testing.T) {
	inputs := strings.Fields("user_message attachment_added observation resolved run_paused run_resumed steer")
	for _, ev := range allEvents() {
		if got, want := ev.IsInput(), slices.Contains(inputs, ev.Body.Type()); got != want {
			t.Errorf("%s of %s is an input: %v, want %v", ev.Body.Type(), ev.Run, got, want)
		}
	}
	if ev := (ponder.Event{Run: "run_1", Body: ponder.RunStarted{}}); !ev.IsInput() {
		t.Error("the start of a root run is no input")
	}
}

func FuzzEvent(f *testing.F) {
	for _, ev := range allEvents() {
		js, err := json.Marshal(ev)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(js)
	}
	f.Fuzz(func(t *testing.T, js []byte) {
		var ev ponder.Event
		if json.Unmarshal(js, &ev) != nil {
			return
		}
		once, err := json.Marshal(ev)
		if err != nil {
			return // a time of a year that can't be written
		}
		var again ponder.Event
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%s was written and can't be read: %v", once, err)
		}
		if twice, err := json.Marshal(again); err != nil || string(once) != string(twice) {
			t.Fatalf("%s became %s (%v)", once, twice, err)
		}
	})
}
