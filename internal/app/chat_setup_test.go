package app

import (
	"slices"
	"testing"

	"ponder"
	"ponder/llm"
	"ponder/tool/thread"
)

// The tool for earlier sessions is offered once a session has ended.
func TestOfferedTools(t *testing.T) {
	tools := []ponder.Tool{{Tool: llm.Tool{Name: thread.Name}}, {Tool: llm.Tool{Name: thread.ReadName}}}
	for first, want := range map[bool][]string{true: {thread.ReadName}, false: {thread.Name, thread.ReadName}} {
		var got []string
		for _, o := range (ChatSetup{FirstSession: first}).ChatOptions(tools).Tools {
			got = append(got, o.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("first session %v: %q, want %q", first, got, want)
		}
	}
}
