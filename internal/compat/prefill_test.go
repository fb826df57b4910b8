package compat

import (
	"fmt"
	"strings"
	"testing"
)

// trimPieces returns the text that a client sees of an answer in pieces.
func trimPieces(prefill, answer string, size int) string {
	t := prefillTrimmer{prefill: prefill}
	var shown strings.Builder
	for rest := answer; rest != ""; {
		n := min(size, len(rest))
		for _, p := range t.trimParts([]Part{{Kind: Text, Text: rest[:n]}}) {
			shown.WriteString(p.Text)
		}
		rest = rest[n:]
	}
	for _, p := range t.trimParts([]Part{{Kind: TextEnd, Text: answer}}) {
		if p.Kind == Text {
			shown.WriteString(p.Text)
		}
	}
	return shown.String()
}

// A repeated beginning is removed, in pieces of any size.
func TestTrimPieces(t *testing.T) {
	for _, tt := range []struct{ prefill, answer, want string }{
		{"The sea", "The sea is deep.", " is deep."},
		{"The sea", "\n The sea is deep.", " is deep."},
		{" The sea", "The sea is deep.", " is deep."},
		{"The sea", " is deep.", " is deep."},
		{"The sea", "The lake is deep.", "The lake is deep."},
		{"The sea", "The sea", ""},
		{"The sea", "The", "The"},
		{"The sea", "", ""},
		{"{", "{\"a\":1}", "\"a\":1}"},
	} {
		for size := 1; size <= len(tt.answer)+1; size++ {
			if got := trimPieces(tt.prefill, tt.answer, size); got != tt.want {
				t.Errorf("%q after %q in pieces of %d: %q, want %q", tt.answer, tt.prefill, size, got, tt.want)
			}
		}
	}
}

func BenchmarkTrimPieces(b *testing.B) {
	for _, size := range []int{10_000, 100_000} {
		prefill := strings.Repeat("word ", size/5)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				trimPieces(prefill, prefill+"end", 4)
			}
		})
	}
}
