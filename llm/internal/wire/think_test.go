package wire

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func splitThought(th *Think, text string, size func() int) (reasoning, answer string) {
	var r, a strings.Builder
	add := func(x, y string) { r.WriteString(x); a.WriteString(y) }
	for text != "" {
		n := min(size(), len(text))
		add(th.Push(text[:n]))
		text = text[n:]
	}
	add(th.Flush())
	return r.String(), a.String()
}

func TestThink(t *testing.T) {
	tests := []struct {
		name, in          string
		open              bool
		reasoning, answer string
	}{
		{name: "nothing"},
		{name: "no tag", in: "hello", answer: "hello"},
		{name: "both", in: "<think>why</think>\n\nbecause", reasoning: "why", answer: "because"},
		{name: "space before", in: "\n <think>\nwhy\n</think>because", reasoning: "\nwhy\n", answer: "because"},
		{name: "not at the start", in: "a <think>b</think>", answer: "a <think>b</think>"},
		{name: "second tag is text", in: "<think>a</think>b<think>c</think>", reasoning: "a", answer: "b<think>c</think>"},
		{name: "never closed", in: "<think>a </thin", reasoning: "a </thin"},
		{name: "only a beginning", in: " <thi", answer: " <thi"},
		{name: "another tag", in: "<thought>a", answer: "<thought>a"},
		{name: "almost closed", in: "<think>a<</think</think>b", reasoning: "a<</think", answer: "b"},
		{name: "empty thought", in: "<think>\n\n</think>\n\nyes", reasoning: "\n\n", answer: "yes"},
		{name: "spaces of an answer stay", in: "<think></think>\n  x\n", answer: "  x\n"},
		{name: "only space", in: "  \n ", answer: "  \n "},
		{name: "much space", in: strings.Repeat(" ", 1000) + "<think>", answer: strings.Repeat(" ", 1000) + "<think>"},
		{name: "opened by the template", in: "why</think>because", open: true, reasoning: "why", answer: "because"},
		{name: "JSON", in: `{"a":"<think>"}`, answer: `{"a":"<think>"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 1 << 20} {
				r, a := splitThought(&Think{Open: tt.open}, tt.in, func() int { return size })
				if r != tt.reasoning || a != tt.answer {
					t.Errorf("in pieces of %d: got %q and %q, want %q and %q", size, r, a, tt.reasoning, tt.answer)
				}
			}
		})
	}
}

func FuzzThink(f *testing.F) {
	f.Add(" <think>a</think>\nb", true, uint64(1))
	f.Fuzz(func(t *testing.T, in string, open bool, seed uint64) {
		r1, a1 := splitThought(&Think{Open: open}, in, func() int { return len(in) })
		rnd := rand.New(rand.NewPCG(seed, 0))
		r2, a2 := splitThought(&Think{Open: open}, in, func() int { return 1 + rnd.IntN(5) })
		if r1 != r2 || a1 != a2 {
			t.Errorf("whole %q and %q, in pieces %q and %q", r1, a1, r2, a2)
		}
	})
}
