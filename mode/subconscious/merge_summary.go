package subconscious

import (
	"ponder/internal/textkit"
	"strings"
)

// Summary returns what a model or a sensor wrote as the summary of an entry: a line of
// at most [MaxWords] words that nothing obeys. What is longer is cut behind a
// sentence if that leaves enough, or else behind a word, with an ellipsis.
func Summary(s string) string {
	if len(s) > 16*maxSummary {
		s = s[:16*maxSummary]
	}
	s = textkit.OneLine(s)
	if strings.Count(s, " ") < MaxWords && len(s) <= maxSummary {
		return s
	}
	list := strings.Fields(s)
	n := 0
	for size := 0; n < min(len(list), MaxWords); n++ {
		if size += len(list[n]) + 1; size > maxSummary-len("…") {
			break
		}
	}
	if n == 0 {
		return textkit.TruncateBytes(s, maxSummary)
	}
	for i := n; i > MaxWords/2; i-- {
		if strings.HasSuffix(list[i-1], ".") || strings.HasSuffix(list[i-1], "!") || strings.HasSuffix(list[i-1], "?") {
			return strings.Join(list[:i], " ")
		}
	}
	return strings.TrimRight(strings.Join(list[:n], " "), ",;:-–—…") + "…"
}
