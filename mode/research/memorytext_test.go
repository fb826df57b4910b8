package research

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ponder"
)

// The prompt of the answer has what the memory has on the question, as its tool formats it.
func TestMemoryText(t *testing.T) {
	const text = "=== WHAT ADA REMEMBERS ===\n\nMemory 1 (external_id: 7)\n> The trench is deep.\nRaw content of external_id 7:\n> so deep!\n\n=== WHAT ADA WROTE (RAW SOCIAL CONTENT) ===\n\nPost 1\n> a post [e9]\n\n=== HOW TO ANSWER ===\n\nAnswer as Ada would."
	f := trench
	f.tool = func(a ponder.Do) ponder.Body {
		if a.Tool != PersonaTool {
			return ponder.ToolResult{Name: a.Tool, Result: `{"hits":[]}`}
		}
		js, err := json.Marshal(map[string]any{"context": text, "sources": []any{}})
		if err != nil {
			t.Error(err)
		}
		return ponder.ToolResult{Name: a.Tool, Result: string(js)}
	}
	prompt := func(o Options) string {
		d := newDriver(t, deepest, o, time.Minute, f.answerAction).runToEnd()
		list := d.modelCalls()
		return list[len(list)-1].Request.Messages[0].Text()
	}
	for name, o := range map[string]Options{
		"the user's":   {Memory: true, MemoryContext: true, Effort: normal},
		"of a persona": {Memory: true, MemoryContext: true, Effort: normal, Persona: Persona{Name: "Ada"}},
		"a simple one": {Memory: true, MemoryContext: true, Effort: trivial},
	} {
		got := prompt(o)
		last := -1
		for _, part := range []string{"<evidence>", "<memory>", "WHAT ADA REMEMBERS", "The trench is deep.", "Raw content of external_id 7:", "WHAT ADA WROTE", "HOW TO ANSWER", "</memory>"} {
			at := strings.Index(got, part)
			if at <= last {
				t.Errorf("%s: %q is at %d, after %d", name, part, at, last)
			}
			last = at
		}
		if strings.Contains(got, "[e9]") {
			t.Errorf("%s: a citation of the memory reached the prompt", name)
		}
	}
	if got := prompt(Options{Memory: true}); strings.Contains(got, "<memory>") {
		t.Error("a run of an older version has the memory")
	}
}
