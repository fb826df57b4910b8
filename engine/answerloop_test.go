package engine

import (
	"strings"
	"testing"

	"ponder/llm"
)

// A model may repeat itself a little and then end the answer. Only endless repetition ends a call.
func TestShortRepetition(t *testing.T) {
	const line = "The bank of the river is higher on the western side.\n"
	for _, piece := range []int{1, 7, len(line), 6 * len(line)} {
		a := newAnswerReader(&llm.Request{})
		add := func(text string) (finish llm.Finish) {
			for len(text) > 0 && finish == "" {
				n := min(piece, len(text))
				finish, text = a.add(llm.Delta{Text: text[:n]}), text[n:]
			}
			return finish
		}
		if f := add(strings.Repeat(line, 6)); f != "" {
			t.Errorf("in pieces of %d: six lines end the answer as %s", piece, f)
		}
		if f := add(strings.Repeat(line, 40)); f != llm.FinishLoop || strings.Count(a.message().Text(), line) > 1 {
			t.Errorf("in pieces of %d: forty more end the answer as %q: %q", piece, f, a.message().Text())
		}
	}
}
