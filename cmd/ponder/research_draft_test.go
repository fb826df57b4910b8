package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

func TestDraft(t *testing.T) {
	long := strings.Repeat("a long beginning of a sentence ", 3)
	for _, tt := range []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"nothing", nil, nil},
		{"lines", []string{"One", "\nTw", "o\n\n"}, []string{"One", "Two"}},
		{"sentences", []string{"Dr. ", long, "ends. And", " more"}, []string{"Dr. " + long + "ends.", "And more"}},
		{"controls", []string{"\x1b[2Ja\u202eb\n"}, []string{"[2Jab"}},
	} {
		var d draft
		for _, p := range tt.pieces {
			d.add(ponder.Delta{Key: "write-1", Delta: llm.Delta{Text: p}})
			d.add(ponder.Delta{Key: "plan", Delta: llm.Delta{Text: "{}\n"}})
		}
		d.add(ponder.Delta{Key: "write-1", Delta: llm.Delta{Done: &llm.Response{}}})
		if diff := cmp.Diff(tt.want, d.take()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if len(d.take()) > 0 {
			t.Errorf("%s: shown twice", tt.name)
		}
	}
}

// FuzzDraft checks that nothing is lost of what is written but white space and what a
// terminal would obey.
func FuzzDraft(f *testing.F) {
	f.Add("One. Two.\nThree", 2)
	f.Add(strings.Repeat("ü", 3000), 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 1 || len(text) > 20_000 || !utf8.ValidString(text) {
			return
		}
		var d draft
		for p := range slices.Chunk([]byte(text), n) {
			d.add(ponder.Delta{Key: writeKey, Delta: llm.Delta{Text: string(p)}})
		}
		d.add(ponder.Delta{Key: writeKey, Delta: llm.Delta{Done: &llm.Response{}}})
		got := d.take()
		if len(got) == mostLines {
			return
		}
		squeeze := func(s string) string { return strings.ReplaceAll(oneLine(s), " ", "") }
		if squeeze(strings.Join(got, "")) != squeeze(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
