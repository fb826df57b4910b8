package app

import (
	"strings"
	"testing"
)

func TestPassageIn(t *testing.T) {
	long := strings.Repeat("é", maxAround)
	for _, tt := range []struct {
		name, text, quote string
		start             int
		want              *Passage
	}{
		{"at its place", "a b a b", "a b", 4, &Passage{Before: "a b ", Quote: "a b"}},
		{"elsewhere", "one two three", "two", 40, &Passage{Before: "one ", Quote: "two", After: " three"}},
		{"line breaks", "salt of\n\tthe sea.", "salt of the sea", 3, &Passage{Quote: "salt of\n\tthe sea", After: "."}},
		{"characters of patterns", "costs $5 (net).", "$5 (net)", -1, &Passage{Before: "costs ", Quote: "$5 (net)", After: "."}},
		{"missing", "one two", "three", 0, nil},
		{"empty", "one", "", 5, nil},
		{"far from both ends", "x" + long + "Q" + long, "Q", 0, &Passage{Before: strings.Repeat("é", maxAround/2), Quote: "Q", After: strings.Repeat("é", maxAround/2), CutBefore: true, CutAfter: true}},
	} {
		got := passageIn(tt.text, tt.quote, tt.start)
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
