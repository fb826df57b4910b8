package main

import (
	"strings"
	"testing"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/report"
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

// A report that stands as it was written is not said to be true.
func TestVerdict(t *testing.T) {
	quote := report.Evidence{ID: "e1", Quote: "The ozone layer will recover by 2040.", Source: "user", Cited: true}
	claim := func(text, status string, cites ...string) report.Claim {
		return report.Claim{Text: text, Status: status, Cites: cites}
	}
	for _, tt := range []struct {
		name   string
		quotes []report.Evidence
		claims []report.Claim
		borne  int
		want   string
	}{
		{"borne out", []report.Evidence{quote}, []report.Claim{claim("The ozone layer will recover by 2040.", "supported", "e1"), claim("It costs 12 euros.", "unverified")}, 1, "1 quote: 1 of the user\n2 claims: 2 as it was said\nAll of it stands.\n"},
		{"not borne out", nil, []report.Claim{claim("The ozone layer will recover by 2040.", "unverified")}, 0, "0 quotes\n1 claim: 1 as it was said\nIt is as it was written, and no quote bears any of it out.\n"},
		{"contradicted", []report.Evidence{quote}, []report.Claim{claim("The ozone layer will recover by 2050.", "contradicted", "e1")}, 0, "1 quote: 1 of the user\n1 claim: 1 as it was said\nIt is as it was written, and no quote bears any of it out.\n"},
		{"no claim", nil, nil, 0, "0 quotes\n0 claims\nIt is as it was written, and makes no claim.\n"},
		{"borne out once", nil, []report.Claim{claim("The ozone layer will recover by 2040.", "supported", "e1")}, 0, "0 quotes\n1 claim: 0 as it was said\n  ✗ The ozone layer will recover by 2040.: it was supported, and is unverified now: no quote says anything of it\nNot all of it stands.\n"},
	} {
		f := &report.Filed{Form: "thread", Research: report.Research{Question: "When?", Status: ponder.Completed, Answer: "It says so.", Evidence: tt.quotes, Claims: tt.claims}}
		v := (&cli{App: &app.App{}}).verified(t.Context(), nil, f)
		if got := strings.TrimPrefix(v.text(), "When?\n"); got != tt.want || v.Borne != tt.borne {
			t.Errorf("%s: %d borne out:\n%swant:\n%s", tt.name, v.Borne, got, tt.want)
		}
	}
}
