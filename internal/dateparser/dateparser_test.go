package dateparser

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"2024-03-05", "2024-03-05"}, {"5 March 2024", "2024-03-05"}, {"March 5, 2024", "2024-03-05"}, {"Mar 5th, 2024", "2024-03-05"},
		{"Tuesday, 5 March 2024", "2024-03-05"}, {"5. März 2024", "2024-03-05"}, {"1er mars 2024", "2024-03-01"}, {"5 de marzo de 2024", "2024-03-05"},
		{"5.3.2024", "2024-03-05"}, {"31 February 2024", ""}, {"next week", ""}, {"", ""}, {strings.Repeat("5 March 2024 ", 9), ""},
	} {
		got, err := (&Parser{}).Parse(nil, tt.text)
		if (err != nil) != (tt.want == "") || err == nil && got.Time.Format(time.DateOnly) != tt.want {
			t.Errorf("Parse(%q) = %v, %v; want %q", tt.text, got.Time, err, tt.want)
		}
	}
}
