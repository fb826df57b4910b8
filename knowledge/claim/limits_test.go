package claim

import (
	"strings"
	"testing"
)

// TestHostile reads adversarial texts; a cubic algorithm would take minutes.
func TestHostile(t *testing.T) {
	const size = 16_000
	never := func(string) bool { return false }
	for _, piece := range []string{"[", "]", "(", "[e9", "](", "[x](", "【", "<", "<a ", "`", "**", "x. ", ". ", "...", "1.", "1,", "a-", "www.", "http://", "| ", "\n> ", "\n- ", "not ", "May ", "[^", "$", "e9 ", "A ", "[unverified"} {
		text := strings.Repeat(piece, size/len(piece))
		out, removed := CleanCitations(text, never, never)
		if len(removed) > maxRemoved {
			t.Errorf("%q: %d removed", piece, len(removed))
		}
		list := Split(out)
		Mark(out, list, make([]Finding, len(list)))
		c := NewCorpus([]Quote{{ID: "e1", Text: text, Context: text}, {ID: "e2", Text: strings.Repeat("A b "+piece, 1000)}})
		c.Verify(Sentence{Text: text})
		c.Verify(Sentence{Text: "A b " + piece})
	}
}
