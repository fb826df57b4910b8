package mindlog

import (
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/mindrunner"
	"ponder/internal/textkit"
	"ponder/mode/subconscious"
)

func TestFindEntry(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	m := New()
	m.State.Internal.Decayed = at
	m.State.ActiveThreads = []subconscious.Entry{{ID: "e12", Summary: "twelve", Strength: 3, Created: at, LastSeen: at}, {ID: "e2", Summary: "two", Strength: 3, Created: at, LastSeen: at}}
	m.Ticks = []subconscious.MergedTick{{Tick: subconscious.Tick{Number: 1, At: at, Changes: []subconscious.Change{
		{Entry: "e1", Effect: "added", By: "watcher", Summary: "one"}, {Entry: "e30", Effect: "added", By: "watcher", Summary: "thirty"},
	}}}}
	for _, tt := range []struct{ name, want, err string }{
		{"e2", "e2", ""}, {"E12", "e12", ""}, {"e1", "e1", ""}, {"e3", "e30", ""},
		{"e", "", "(e12, e2); add more characters"}, {"", "", "does not exist"}, {"x", "", "does not exist"},
		{"\x1b[31me9", "", "does not exist"},
	} {
		e, err := m.Find(tt.name, at)
		switch {
		case tt.err == "" && (err != nil || e.ID != tt.want):
			t.Errorf("%q: %q, %v", tt.name, e.ID, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\x1b")):
			t.Errorf("%q: %v, want %q", tt.name, err, tt.err)
		}
	}
}

func TestEscalationText(t *testing.T) {
	tests := map[string]string{
		"- one (watcher)\n- two\n\nwhy: it is so": "one (watcher) and 1 more",
		"one":             "one",
		"- a\x1b]0;x\x07": "a",
		"":                "",
	}
	for content, want := range tests {
		if got := escalationText(ponder.Escalation{Content: content}); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

func TestRowsShowNoEscapes(t *testing.T) {
	const evil = "x\x1b[2J\x1b]0;title\x07\r\nponder: all is well"
	r := Row{Kind: "tick", Tick: 1, Roles: []subconscious.RoleOutcome{{Role: evil, Failed: evil}}, Changes: []subconscious.Change{{Entry: evil, Effect: evil, By: evil, Why: evil, Summary: evil}},
		Escalated: []Escalation{{Summary: evil, Reason: evil, Told: evil, Model: evil, Outcome: evil, Delivered: map[string]time.Time{evil: {}}}}}
	texts := []string{r.String(), Row{Kind: asForgotten, Entry: evil, Text: evil}.String(), Reason{Type: "observation", By: evil, Text: evil, Source: evil}.lineText()}
	for _, text := range texts[:2] {
		for line := range strings.Lines(text) {
			if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\r\x07") || strings.HasPrefix(line, "ponder:") {
				t.Errorf("a line is %q", line)
			}
		}
	}
	if text := textkit.OneLine(texts[2]); strings.ContainsAny(text, "\x1b\r\x07\n") {
		t.Errorf("a reason is %q", text)
	}
}

func TestReportText(t *testing.T) {
	tests := []struct {
		report mindrunner.Report
		want   string
	}{
		{mindrunner.Report{Why: "nothing is new"}, "no tick: nothing is new"},
		{mindrunner.Report{Ran: true, Why: "watcher: 1 new observation"}, ""},
		{mindrunner.Report{Ran: true, Why: "x", Unsent: 1, Spent: ponder.Cost{Calls: 2, Tokens: 3000, Money: 20_000}},
			"1 message could not be sent, and will be tried again; today 2 calls, 3,000 tokens, $0.02"},
	}
	for _, tt := range tests {
		if got := TickText(tt.report); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// The text names the rest of the budget, or the setting that turned models off.
func TestExtractiveText(t *testing.T) {
	m := config.Mind{TokensPerDay: new(1000), CostPerDay: new(0.01)}
	r := mindrunner.Report{Ran: true, WithoutModel: true, Spent: ponder.Cost{Calls: 1, Tokens: 900, Money: 3000}}
	if got := ExtractiveText(m, r); !strings.Contains(got, "might exceed") || !strings.Contains(got, "left today: 100 tokens") {
		t.Errorf("%q", got)
	}
	m.TokensPerDay = new(0)
	if got := ExtractiveText(m, r); !strings.Contains(got, "turns models off") {
		t.Errorf("%q", got)
	}
}
