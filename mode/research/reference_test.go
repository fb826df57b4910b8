package research

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func chunksOf(evs []ponder.Event) (list []Chunk, r References) {
	for _, ev := range evs {
		list = append(list, r.Apply(ev)...)
	}
	return list, r
}

func TestReferences(t *testing.T) {
	date := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	page := newPassage("e1", "https://a.example/1", WebSearchTool, "so", 0.5)
	page.URL, page.Title, page.Author, page.Published = page.Source, "A", "Ada", date
	list, r := chunksOf(courseOf(
		ponder.RunStarted{Mode: Name, Input: "Why?"},
		ponder.CallFinished{Model: "m1"},
		newToolCall(WebSearchTool, "so"), ponder.ToolResult{Name: WebSearchTool},
		page,
		newPassage("e2", "http://www.a.example/1/#top", WebSearchTool, "so", 0.4), // same source, not better
		newPassage("e3", "https://a.example/1", WebFetchTool, "so", 0.7),          // better
		newToolCall(SearchTool, "so"), ponder.ToolResult{Name: SearchTool},
		newPassage("e4", "https://a.example/1", SearchTool, "so", 0.2), // found by another tool
		newPassage("e5", "twitter", SearchTool, "so", 0.85),
		newPassage("e6", "/docs/a.md", SearchTool, "so", 7),
		newPassage("e7", "memory:m1", PersonaTool, "so", 0.1),
	))
	type sent struct {
		ID, Tool, FoundBy string
		Relevance, Best   float64
		New, Memory       bool
		Unique, Sent      int
		NewInRound        int
	}
	var got []sent
	for _, c := range list {
		s := c.Sources[0]
		got = append(got, sent{s.ID, s.Tool, strings.Join(s.FoundBy, " "), s.Relevance, s.Best, s.New, s.Memory != "" && s.Content == "", c.Summary.Unique, c.Summary.Sent, c.Summary.New})
	}
	want := []sent{
		{"e1", "webSearch", "webSearch", 0.5, 0.5, true, false, 1, 1, 1},
		{"e1", "webSearch", "webSearch", 0.7, 0.7, false, false, 1, 2, 1},
		{"e1", "personaMemorySearch", "webSearch personaMemorySearch", 0.2, 0.7, false, true, 1, 3, 0},
		{"e5", "personaMemorySearch", "personaMemorySearch", 0.85, 0.85, true, true, 2, 4, 1},
		{"e6", "personaMemorySearch", "personaMemorySearch", 1, 1, true, true, 3, 5, 2},
		{"e7", "personaMemorySearch", "personaMemorySearch", 0.1, 0.1, true, true, 4, 6, 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	sum := Summary{Unique: 4, Sent: 6, Execution: 2, New: 3, Tools: map[string]int{"webSearch": 1, "personaMemorySearch": 3}}
	if diff := cmp.Diff(sum, r.Summary()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if c := list[0]; c.Type != SourcesChunk || c.Conversation != "thr_view" || !cmp.Equal(c.Models, []string{"m1"}) {
		t.Errorf("chunk %+v", c)
	}
	for i, want := range map[int]string{3: "twitter", 4: "a.md", 5: "memory:m1"} { // never a path
		if got := list[i].Sources[0].Metadata.Source; got != want {
			t.Errorf("source %q, want %q", got, want)
		}
	}
	if diff := cmp.Diff(ReferenceMetadata{Link: page.URL, Source: page.URL, Title: "A", Author: "Ada", Date: date}, list[0].Sources[0].Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestChunkNames(t *testing.T) {
	list, _ := chunksOf(courseOf(
		ponder.RunStarted{Mode: Name, Input: "Why?"},
		newPassage("e1", "twitter", PersonaTool, "so", 0.85),
		ponder.Progress{Stage: stagePlanning, Label: "Research plan generated", Content: "Created 4-step research plan", Iteration: 1, Step: 2, Total: 4, Confidence: 0.8, Meta: json.RawMessage(`{"a":1}`)},
	))
	var got []string
	for _, c := range list {
		js, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(js))
	}
	want := []string{
		`{"type":"memory-sources","memorySources":[{"id":"e1","memory":"Text of e1.","metadata":{"source":"twitter"},"relevanceScore":0.85,"toolName":"personaMemorySearch","foundByTools":["personaMemorySearch"],"bestScore":0.85,"isNewReference":true}],` +
			`"referenceSummary":{"totalUnique":1,"totalSent":1,"toolExecutionNumber":0,"newInThisRound":1,"toolBreakdown":{"personaMemorySearch":1}},"conversationUniqueId":"thr_view"}`,
		`{"type":"deep-think-progress","deepThinkProgress":{"stage":"planning","label":"Research plan generated","message":"Created 4-step research plan","planStep":2,"totalSteps":4,"iteration":1,"confidence":"high","metadata":{"a":1}},"conversationUniqueId":"thr_view"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPayload(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    ponder.Progress
		want ProgressPayload
	}{
		{"a stage of ours", ponder.Progress{Stage: ponder.StageSteered, Content: "done"}, ProgressPayload{Stage: "note", Message: "done"}},
		{"not sure", ponder.Progress{Stage: stageNote, Confidence: 0.1}, ProgressPayload{Stage: "note", Confidence: "low"}},
		{"rather sure", ponder.Progress{Stage: stageAnalysis, Confidence: 0.5}, ProgressPayload{Stage: "analysis", Confidence: "medium"}},
		{"words of the model", ponder.Progress{Stage: stageAnalysis, Confidence: 0.5, Meta: json.RawMessage(`{"confidence":"fairly sure"}`)},
			ProgressPayload{Stage: "analysis", Confidence: "fairly sure", Metadata: json.RawMessage(`{"confidence":"fairly sure"}`)}},
		{"names of tools", ponder.Progress{Stage: stageResearch, Meta: json.RawMessage(`{"tool":"knowledge_search","new":2,"referenceSummary":{"totalUnique":7,"toolBreakdown":{"web_search":1,"web_fetch":2,"knowledge_search":3,"mail.find":1}}}`)},
			ProgressPayload{Stage: "research", Metadata: json.RawMessage(`{"new":2,"referenceSummary":{"toolBreakdown":{"mail.find":1,"personaMemorySearch":3,"webSearch":3},"totalUnique":7},"tool":"personaMemorySearch"}`)}},
		{"metadata of a model", ponder.Progress{Stage: stageNote, Meta: json.RawMessage(`{"tool":["x"],"referenceSummary":{"toolBreakdown":"many"},"a<b":null}`)},
			ProgressPayload{Stage: "note", Metadata: json.RawMessage(`{"a\u003cb":null,"referenceSummary":{"toolBreakdown":"many"},"tool":["x"]}`)}},
		{"metadata that is no object", ponder.Progress{Stage: stageSynthesis, Meta: json.RawMessage(`[1]`)}, ProgressPayload{Stage: "synthesis"}},
		{"metadata that can't be read", ponder.Progress{Stage: stageReflection, Meta: json.RawMessage(`{`), Step: -1}, ProgressPayload{Stage: "reflection"}},
	} {
		if diff := cmp.Diff(tt.want, Payload(tt.b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Events of other runs and internal events are not streamed.
func TestReferencesOfOthers(t *testing.T) {
	evs := courseOf(ponder.RunStarted{Mode: Name}, newPassage("e1", "/a.md", SearchTool, "so", 1), newPassage("e2", "/b.md", SearchTool, "so", 1), newPassage("e3", "/c.md", SearchTool, "so", 1))
	evs[1].Run, evs[2].Run, evs[3].Internal = "run_other", viewed+"/below", true
	if list, _ := chunksOf(evs); len(list) > 0 {
		t.Errorf("streamed: %+v", list)
	}
	var none References
	if list := none.Apply(evs[1]); len(list) > 0 || none.Summary().Unique != 0 {
		t.Errorf("without a research: %+v", list)
	}
}
