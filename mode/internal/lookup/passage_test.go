package lookup

import (
	"strings"
	"testing"
)

func TestCleanContext(t *testing.T) {
	long := strings.Repeat("Far away it goes on. ", 100)
	for _, tt := range []struct{ name, context, quote, want string }{
		{"none", "", "It is so.", ""},
		{"only the quote", " It is so.\n", "It is so.", ""},
		{"a passage", "Before.\r\n\r\nIt is so. After.\x1b[1m", "It is so.", "Before.\nIt is so. After."},
		{"a quote over lines", "Before. It\nis so. After.", "It is so.", "Before. It is so. After."},
		{"neighbours of an older tool", "Before. … After.", "It is so.", "Before. … After."},
		{"a forged citation", "See [e3]. It is so.", "It is so.", "See (e3). It is so."},
	} {
		if got := CleanContext(Hit{Context: tt.context}, tt.quote); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := CleanContext(Hit{Context: long}, "It is so."); len(got) > maxContext+len("…") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestUnseenPart(t *testing.T) {
	const a, b, c = "The first paragraph says that it rained for weeks.", "The second paragraph says that the river rose.", "The third paragraph says that the bridge fell."
	for _, tt := range []struct{ name, passage, known, want string }{
		{"the same", a + " " + b, a + " " + b, ""},
		{"a part", b, a + " " + b + " " + c, ""},
		{"it continues", b + " " + c, a + " " + b, c},
		{"it precedes", a + " " + b, b + " " + c, a},
		{"it surrounds", a + " " + b + " " + c, b, a + " … " + c},
		{"another", a, c, a},
		{"only a word in common", "The bridge. " + a, c + " The bridge.", "The bridge. " + a},
		{"nothing known", a, "", a},
	} {
		if got := UnseenPart(tt.passage, tt.known); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzUnseenPart(f *testing.F) {
	f.Add(strings.Repeat("One two. ", 20), 10, 60, 40, 120)
	f.Add(strings.Repeat("日本語の文。", 20), 0, 300, 90, 200)
	f.Fuzz(func(t *testing.T, text string, a, b, c, d int) {
		cut := func(from, to int) string {
			from, to = min(max(from, 0), len(text)), min(max(to, 0), len(text))
			return strings.ToValidUTF8(text[min(from, to):max(from, to)], "")
		}
		passage, known := cut(a, b), cut(c, d)
		if got := UnseenPart(passage, known); len(got) > len(passage)+len("…") {
			t.Errorf("%q without %q is %q", passage, known, got)
		}
	})
}
