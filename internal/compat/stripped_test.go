package compat

import (
	"testing"

	"ponder/llm"
)

// TestDroppedQuestion checks that a history continues its conversation whether or not the client sends
// the question of Ponder back.
func TestDroppedQuestion(t *testing.T) {
	const question = "**Ponder asks for your approval** (it acts): run `lamp` with exactly this?\n\nAnswer `approve 3F9K2M` or `deny 3F9K2M`."
	for theirs, want := range map[string]bool{
		"Shall I?" + "\n" + question: true, "Shall I?": true, question: true, "": true,
		"Shall I not?": false, "I shall. " + question: false, "Shall I? " + question + " Yes.": false,
	} {
		list := []llm.Message{llm.Say(llm.User, "Switch on the lamp"), llm.Say(llm.Assistant, theirs)}
		if got := isTurn(list, "Switch on the lamp", "\nShall I?\n"+question); got != want {
			t.Errorf("%q: %v, want %v", theirs, got, want)
		}
	}
}
