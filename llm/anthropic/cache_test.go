package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// growingRequest returns a request whose text has n lines before a task.
func growingRequest(n int, task string) *llm.Request {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- thought %d: %s\n", i, strings.Repeat("word ", 20+i%7))
	}
	return &llm.Request{System: "rules", Cache: true, Messages: []llm.Message{llm.SayGrowing(llm.User, b.String()+task, b.Len())}}
}

func encodedRequest(t *testing.T, req *llm.Request) []byte {
	t.Helper()
	m := New(Config{}).Model("claude-sonnet-4-5").(*model)
	p, err := m.newPlan(req, false)
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.Marshal(p.body)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Requests with a growing text read it from the cache, though their tasks differ.
func TestGrowingTextIsCached(t *testing.T) {
	for step, least := range map[int]int{1: 85, 10: 85, 60: 80} {
		var cache llmtest.PromptCache
		all, read := 0, 0
		for n := 100; n <= 100+20*step; n += step {
			body := encodedRequest(t, growingRequest(n, fmt.Sprintf("Task %d: %s", n, strings.Repeat("do it ", n%5))))
			used, err := cache.MeasurePrompt(body)
			if err != nil {
				t.Fatal(err)
			}
			if n > 100+3*step {
				all, read = all+used.Total(), read+used.CacheRead
			}
		}
		if t.Logf("%d lines a step: %d percent read", step, 100*read/all); 100*read < least*all {
			t.Errorf("%d lines a step: %d of %d bytes are read", step, read, all)
		}
	}
}

// The blocks of a growing text are its words, and stay equal while it grows.
func TestSplitPrefix(t *testing.T) {
	long := growingRequest(200, "")
	text := long.Messages[0].Text()
	var before []any
	for _, n := range []int{1, 2 << 10, 5000, 5001, 9999, len(text)} {
		var c conversation
		blocks := c.splitPrefix(text[:n]+"\nthe task", n)
		joined := ""
		for _, b := range blocks {
			joined += b.(*block).Text
		}
		if joined != text[:n]+"\nthe task" {
			t.Errorf("%d bytes: the text differs", n)
		}
		for i := range len(before) - 1 {
			if before[i].(*block).Text != blocks[i].(*block).Text {
				t.Errorf("%d bytes: block %d differs from the shorter text", n, i)
			}
		}
		before = blocks
	}
	for name, tt := range map[string]struct {
		text   string
		prefix int
	}{"a prefix beyond the text": {"ab", 9}, "blank lines": {strings.Repeat("\n", 9000) + "x", 9000}, "nothing after": {strings.Repeat("a\n", 4000), 8000}, "one line": {strings.Repeat("a", 9000), 8999}} {
		var c conversation
		joined := ""
		for _, b := range c.splitPrefix(tt.text, tt.prefix) {
			if joined += b.(*block).Text; strings.TrimSpace(b.(*block).Text) == "" {
				t.Errorf("%s: a blank block", name)
			}
		}
		if joined != tt.text {
			t.Errorf("%s: the text differs", name)
		}
	}
}

// No request has more marks than the API accepts.
func TestMarksWithinLimit(t *testing.T) {
	req := growingRequest(300, "task")
	req.Tools = []llm.Tool{{Name: "a"}, {Name: "b"}}
	for n := range 3 {
		if used, err := new(llmtest.PromptCache).MeasurePrompt(encodedRequest(t, req)); err != nil || used.CacheWrite == 0 {
			t.Errorf("%d messages: %+v, %v", len(req.Messages), used, err)
		}
		id := fmt.Sprint("c", n)
		req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: id, Name: "a"}}}},
			llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: id, Name: "a", Text: "done"}}}})
	}
}
