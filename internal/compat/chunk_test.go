package compat

import (
	"slices"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	var c chunker
	got := append(c.add("Late  projects, "+strings.Repeat("x", 70)+" end"), c.takeRest()...)
	want := []string{"Late  ", "projects, ", strings.Repeat("x", 64), "xxxxxx ", "end"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The pieces do not depend on how the text arrives, and their concatenation is the text.
func FuzzCut(f *testing.F) {
	f.Add("Große Projekte  dauern\n\nlange. ", uint8(3))
	f.Add("\xff\xfe é\xcc", uint8(1))
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		var whole, bits chunker
		want := append(whole.add(text), whole.takeRest()...)
		var got []string
		for at, n := 0, int(step)%7+1; at < len(text); at += n {
			got = append(got, bits.add(text[at:min(at+n, len(text))])...)
		}
		got = append(got, bits.takeRest()...)
		if !slices.Equal(got, want) || strings.Join(got, "") != text {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
