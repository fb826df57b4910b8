package lookup

import (
	"strings"

	"ponder/internal/textkit"
)

// maxContext limits the text around a quote, in bytes.
const maxContext = 1400

// minOverlap is the least number of bytes that two passages share if they overlap.
const minOverlap = 40

// CleanContext returns the context of a hit for a prompt, without blank lines and forged citations.
// It contains the quote, also in its cleaned form, if the hit's context does. It is empty if it has
// no more than the quote.
func CleanContext(h Hit, quote string) string {
	var lines []string
	for line := range strings.SplitSeq(DefuseCitations(textkit.CleanTrim(h.Context)), "\n") {
		if line = textkit.OneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "\n")
	if flat := strings.Join(lines, " "); !strings.Contains(text, quote) && strings.Contains(flat, quote) {
		text = flat
	}
	if text = textkit.TruncateBytes(text, maxContext); strings.Contains(quote, text) {
		return ""
	}
	return text
}

// UnseenPart returns a passage without its overlap with a known one of the same source.
func UnseenPart(passage, known string) string {
	if len(passage) < minOverlap || len(known) < minOverlap {
		return passage
	}
	if strings.Contains(known, passage) {
		return ""
	}
	if before, after, ok := strings.Cut(passage, known); ok {
		return strings.TrimSpace(before + "…" + after)
	}
	if i := strings.Index(known, passage[:minOverlap]); i >= 0 && strings.HasPrefix(passage, known[i:]) {
		return strings.TrimSpace(passage[len(known)-i:])
	}
	if i := strings.Index(known, passage[len(passage)-minOverlap:]); i >= 0 && strings.HasSuffix(passage, known[:i+minOverlap]) {
		return strings.TrimSpace(passage[:len(passage)-i-minOverlap])
	}
	return passage
}
