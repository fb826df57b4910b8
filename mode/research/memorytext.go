package research

import (
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

// Limits on the formatted memory in a prompt, in bytes.
const (
	maxMemoryText   = 12 << 10
	smallMemoryText = 2 << 10
)

// keepMemoryText keeps the first formatted text of the memory, which is for the question. The text may
// contain earlier answers, so it is no evidence by itself.
func (s *state) keepMemoryText(result string) {
	if s.opts.MemoryContext && s.MemoryText == "" {
		s.MemoryText = textkit.TruncateBytes(textkit.CleanTrim(lookup.ReadMemoryText(result)), maxMemoryText)
	}
}

// writeMemoryText writes the formatted memory, unless its sources are excluded. Its lines of material
// begin with ">", and its last part says how to use them.
func (s *state) writeMemoryText(b *strings.Builder) {
	if s.MemoryText == "" || len(s.Banned) > 0 || s.Bare {
		return
	}
	text := s.MemoryText
	if s.SmallContext || s.Pack > 0 {
		text = textkit.TruncateBytes(text, smallMemoryText)
	}
	b.WriteString("\nThe same memory in full, for its voice and its context. Cite only by the ids of the evidence above:\n<memory>\n" + escapeFrame(lookup.DefuseCitations(text)) + "\n</memory>\n")
}
