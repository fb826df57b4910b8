package session

import (
	"strings"
	"testing"
	"time"

	"ponder"
)

// TestTasks checks what each step of a session asks for, and what the last one reviews.
func TestTasks(t *testing.T) {
	d := newDriver(t, "What is consciousness?", Options{SynthesisInterval: 60}, 2*time.Minute, defaultAnswer).runToEnd()
	for key, wants := range map[string][]string{
		"thoughts-1":  {"What is consciousness?", "Current focus: the question itself", "write 3 to 5 new thoughts about the focus", `"type":TYPE`, `"confidence":NUMBER`},
		"thoughts-3":  {"Current focus: What of side 1?", "Thought 1a."},
		"questions-1": {"up to 3 new questions", "help most to answer the question", `"priority":NUMBER`, `"why":TEXT`, "Thought 1a.", "open questions with a new priority"},
		"synthesis-1": {"what is understood now", `"insights":[TEXT]`, `"confidence":NUMBER`, `"remaining":[TEXT]`, "Thought 1a.", "What of side 1?"},
		"final":       {"Write the final answer to the question", "CONFIDENCE: [0.0-1.0]", "REMAINING:", "Thought 1a.", "Thought 8c.", "What of side 3?", "Understanding 1.", "0.40"},
	} {
		call := d.callByKey(key)
		for _, want := range wants {
			if text := call.Request.Messages[0].Text(); !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", key, want, text)
			}
		}
		for _, want := range []string{"type is exploration, critique, connection, insight", "priority, from 1 to 10"} {
			if !strings.Contains(call.Request.System, want) {
				t.Errorf("the system prompt lacks %q", want)
			}
		}
	}
	for _, b := range bodiesOf[ponder.SubQuestion](d) {
		if b.Priority < 1 || b.Priority > 10 || b.Why != "It is open." {
			t.Errorf("question %+v", b)
		}
	}
}
