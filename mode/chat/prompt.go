package chat

import (
	_ "embed"
	"strings"
)

// What models are told.
var (
	//go:embed system.md
	system string
	//go:embed inner.md
	innerRules string
	//go:embed condense.md
	condensePrompt string
	//go:embed notes.md
	notesPrompt string
)

// What stands before reflections, and what ends a turn that has no words.
const (
	innerMark  = "[inner thoughts — not spoken aloud]"
	lastWords  = "Answer the user now, in words, from what you know. You cannot use tools any more."
	cutShort   = " [stopped here by the user]"
	noAnswer   = "(no answer: it was interrupted)"
	interrupts = "stopped: the user wants an answer now"
)

// System returns the system prompt of conversations, with what a user wants a model
// told beside it.
func System(beside string) string {
	if beside = strings.TrimSpace(beside); beside == "" {
		return system
	}
	return strings.TrimSpace(system) + "\n\n" + beside
}
