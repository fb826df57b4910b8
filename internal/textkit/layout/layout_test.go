package layout

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
)

func TestColumns(t *testing.T) {
	rows := [][]string{
		{"SETTING", "VALUE", "FROM", ""},
		{"models.slow", "", "default", "thinks: all thoughts, questions and syntheses"},
		{"db", "/ä/b.db", "default", "file with the log"},
		{"embed", "-"},
	}
	tests := []struct {
		name  string
		width int
		want  string
	}{
		{"as wide as it is", 0, `SETTING      VALUE    FROM
models.slow           default  thinks: all thoughts, questions and syntheses
db           /ä/b.db  default  file with the log
embed        -
`},
		{"folded", 60, `SETTING      VALUE    FROM
models.slow           default  thinks: all thoughts,
                               questions and syntheses
db           /ä/b.db  default  file with the log
embed        -
`},
		{"below", 40, `SETTING      VALUE    FROM
models.slow           default
    thinks: all thoughts, questions and
    syntheses
db           /ä/b.db  default
    file with the log
embed        -
`},
		{"two below", 25, `SETTING      VALUE
    FROM
models.slow
    default  thinks: all
    thoughts, questions
    and syntheses
db           /ä/b.db
    default  file with
    the log
embed        -
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Columns(rows, tt.width)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			for line := range strings.Lines(got) {
				if n := lipgloss.Width(strings.TrimSuffix(line, "\n")); tt.width > 0 && n > tt.width {
					t.Errorf("%d cells: %q", n, line)
				}
			}
		})
	}
}
