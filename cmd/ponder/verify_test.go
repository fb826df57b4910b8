package main

import (
	"strings"
	"testing"
)

func TestUnlike(t *testing.T) {
	long := strings.Repeat("ü word ", 60)
	for _, tt := range []struct{ line, other, want string }{
		{"short 1", "short 2", "short 1"},
		{long, "else", long},
		{long + "12.8", long + "18.2", "…" + string([]rune(long)[len([]rune(long))-leadUnlike+1:]) + "12.8"},
		{"", "x", ""},
	} {
		if got := unlike(tt.line, tt.other); got != tt.want {
			t.Errorf("%.20q: %q, want %q", tt.line, got, tt.want)
		}
	}
}
