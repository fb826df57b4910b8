package chat

import (
	_ "embed"
	"strings"
)

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

const (
	innerMark  = "[inner thoughts — not spoken aloud]"
	lastWords  = "Answer the user now, in words, from what you know. You cannot use tools any more."
	cutShort   = " [stopped here by the user]"
	noAnswer   = "(no answer: it was interrupted)"
	interrupts = "stopped: the user wants an answer now"
)

// System returns the system prompt of conversations with additional instructions.
func System(beside string) string {
	if beside = strings.TrimSpace(beside); beside == "" {
		return system
	}
	return strings.TrimSpace(system) + "\n\n" + beside
}
