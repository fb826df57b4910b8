package liveview

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/research"
	"ponder/mode/session"
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
		{"controls", []string{"\x1b[2Ja\u202eb\n"}, []string{"ab"}},
	} {
		var d Draft
		for _, p := range tt.pieces {
			d.Add(ponder.Delta{Key: "write-1", Delta: llm.Delta{Text: p}})
			d.Add(ponder.Delta{Key: "plan", Delta: llm.Delta{Text: "{}\n"}})
		}
		d.Add(ponder.Delta{Key: "write-1", Delta: llm.Delta{Done: &llm.Response{}}})
		if diff := cmp.Diff(tt.want, d.takeLines()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if len(d.takeLines()) > 0 {
			t.Errorf("%s: shown twice", tt.name)
		}
	}
}

// FuzzDraft checks that a draft loses only white space and control characters.
func FuzzDraft(f *testing.F) {
	f.Add("One. Two.\nThree", 2)
	f.Add(strings.Repeat("ü", 3000), 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 1 || len(text) > 20_000 || !utf8.ValidString(text) {
			return
		}
		var d Draft
		for p := range slices.Chunk([]byte(text), n) {
			d.Add(ponder.Delta{Key: "write-1", Delta: llm.Delta{Text: string(p)}})
		}
		d.Add(ponder.Delta{Key: "write-1", Delta: llm.Delta{Done: &llm.Response{}}})
		got := d.takeLines()
		if len(got) == maxDraftLines {
			return
		}
		squeeze := func(s string) string { return strings.ReplaceAll(textkit.OneLine(s), " ", "") }
		if squeeze(strings.Join(got, "")) != squeeze(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// TestDraftItems checks that a draft shows only citations that the answer may have.
func TestDraftItems(t *testing.T) {
	view := research.NewView()
	for _, e := range []ponder.Evidence{
		{ID: "e1", URL: "https://good.example/page", Source: "https://good.example/page"},
		{ID: "e2", URL: "https://bad.example/page", Quality: []ponder.Signal{{Name: "addressed"}}},
	} {
		view.Evidence = append(view.Evidence, research.Evidence{Evidence: e})
	}
	view.Evidence = append(view.Evidence, research.Evidence{Evidence: ponder.Evidence{ID: "e3", Source: "b.md"}, Banned: true})
	var d Draft
	for _, tt := range []struct{ text, want string }{
		{"It is so [e1].", "It is so [e1]."},
		{"It is so [e2][e3][e86].", "It is so."},
		{"See [more](https://evil.example/a b) or https://evil.example/path [e1].", "See more or [e1]."},
		{"See [more](https://good.example/page).", "See [more](https://good.example/page)."},
		{"It is so [4].", "It is so."},
		{"https://evil.example/", ""},
	} {
		d.Add(ponder.Delta{Key: "write-1", Delta: llm.Delta{Text: tt.text, Done: &llm.Response{}}})
		got := ""
		for _, it := range d.Items(session.NewView(), view) {
			got += it.Text
		}
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestDraftLine checks that a break of a long line does not split a citation.
func TestDraftLine(t *testing.T) {
	text := strings.Repeat("word ", maxLineBytes/5-2) + "https://evil.example/path and more"
	if n := lineEnd(text); !strings.HasPrefix(text[n:], "https://evil.example/path") {
		t.Errorf("cut before %.30q", text[n:])
	}
}
