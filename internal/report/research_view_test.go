package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/mode/research"
)

// TestTimesOf checks that times count work only, and ages are of cached results.
func TestTimesOf(t *testing.T) {
	begun := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	v := research.NewView()
	for i, ev := range []ponder.Event{
		{Run: "run_1", Body: ponder.RunStarted{Mode: research.Name, Input: "Why?"}},
		{Run: "run_1", Cause: "plan", Body: ponder.Plan{Web: []string{"ozone"}}},
		{Run: "run_1", Cause: "look-1#1", Elapsed: time.Second, Body: ponder.ToolCall{Name: "web_search", Args: []byte(`{"query":"ozone"}`)}},
		{Run: "run_1", Cause: "look-1#1", Elapsed: 2 * time.Second, Body: ponder.ToolResult{Name: "web_search", Result: `{"kept_seconds":10800}`}},
		{Run: "run_1", Cause: "found", Elapsed: 2 * time.Second, Body: ponder.Evidence{ID: "e1", Title: "Sky", Content: "It recovers."}},
		{Run: "run_1", Cause: "told", Elapsed: 3 * time.Second, Body: ponder.Progress{Stage: "analysis", Content: "Reading."}},
	} {
		ev.Seq, ev.Time = ponder.Seq(i+1), begun.Add(time.Duration(i)*time.Hour) // paused in between
		v = v.Apply(ev)
	}
	r := NewResearch(v, nil)
	i := slices.IndexFunc(r.Timeline, func(m Moment) bool { return m.Kind == "evidence" })
	if i < 0 || r.Timeline[i].At != 2 {
		t.Errorf("evidence not at 2 s: %+v", r.Timeline)
	}
	if len(r.Queries) != 1 || r.Queries[0].Age != 3*time.Hour || !strings.Contains(r.Queries[0].toolText(), "cached answer, 3 hours old") {
		t.Errorf("age of a cached answer: %+v", r.Queries)
	}
}

func TestDated(t *testing.T) {
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		e    Evidence
		want string
	}{
		{Evidence{Source: "/notes/a.md", Published: at}, "changed 2 March 2026"},
		{Evidence{Source: "https://a.example/", Published: at}, "published 2 March 2026"},
	} {
		if got := evidenceFacts(tt.e); !slices.Contains(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.e.Source, got, tt.want)
		}
	}
}
