package chat

import (
	_ "embed"
	"strings"
)

var (
	//go:embed prompts/system.md
	defaultSystem string
	//go:embed prompts/inner.md
	innerRules string
	//go:embed prompts/condense.md
	condensePrompt string
	//go:embed prompts/notes.md
	notesPrompt string
)

const (
	innerMark       = "[inner thoughts — not spoken aloud]"
	answerNowPrompt = "Answer the user now, in words, from what you know. You cannot use tools any more."
	stoppedMark     = " [stopped here by the user]"
	noAnswer        = "(no answer: it was interrupted)"
	interruptedText = "stopped: the user wants an answer now"
)

// System returns the system prompt of conversations with additional instructions.
func System(extra string) string {
	if extra = strings.TrimSpace(extra); extra == "" {
		return defaultSystem
	}
	return strings.TrimSpace(defaultSystem) + "\n\n" + extra
}
