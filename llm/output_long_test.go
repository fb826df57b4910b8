package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"ponder/internal/racetest"
)

// TestOutputLong checks that the time to read hostile texts grows with their size, not its square: each would take
// minutes otherwise.
func TestOutputLong(t *testing.T) {
	size := 512 << 10 / racetest.Stride(8)
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	tools := []Tool{{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}}
	for _, text := range []string{
		repeat("x, <tool_call> foo\n"), repeat("x, <tool_call> foo\n") + "</tool_call>", repeat("a</think>"), repeat(" "), repeat("\n"),
		"<tool_call>" + repeat("print(") + repeat(")") + "</tool_call>", "<tool_call>" + repeat(`{"tool_calls":[`) + repeat("]}") + "</tool_call>",
		repeat("abc.\n</tool_call>\n"),
	} {
		r := NewOutputReader(OutputConfig{Tools: tools, Open: true})
		for rest := text; rest != ""; {
			n := min(4, len(rest))
			r.Add(rest[:n])
			rest = rest[n:]
		}
		r.Close(false)
		if r.doubts > maxDoubts+1 || len(r.Calls()) > 0 {
			t.Errorf("%.30q: %d doubts, calls %v", text, r.doubts, r.Calls())
		}
		r.SplitParts([]Part{{Text: text}})
	}
}

// TestOutputNestedCalls checks how deep a call may be.
func TestOutputNestedCalls(t *testing.T) {
	call := `{"name":"f","arguments":{}}`
	for body, want := range map[string]int{
		call: 1, "[" + call + "," + call + "]": 2, `{"tool_calls":[{"function":` + call + `}]}`: 1,
		strings.Repeat(`{"tool_calls":[`, 3) + call + strings.Repeat("]}", 3):   1,
		strings.Repeat(`{"tool_calls":[`, 20) + call + strings.Repeat("]}", 20): 0,
		"print(f())": 1, "print(print(f()))": 0,
	} {
		r := NewOutputReader(OutputConfig{Tools: []Tool{{Name: "f"}}})
		r.Add("<tool_call>" + body + "</tool_call>")
		r.Close(false)
		if got := len(r.Calls()); got != want {
			t.Errorf("%.60s: %d calls, want %d", body, got, want)
		}
	}
}
