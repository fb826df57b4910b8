package main

import (
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/mindrunner"
	"ponder/mode/subconscious"
)

func TestFindEntry(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	m := newMindLog()
	m.State.Aside.Decayed = at
	m.State.ActiveThreads = []subconscious.Entry{{ID: "e12", Summary: "twelve", Strength: 3, Created: at, LastSeen: at}, {ID: "e2", Summary: "two", Strength: 3, Created: at, LastSeen: at}}
	m.Ticks = []subconscious.Ticked{{Tick: subconscious.Tick{Number: 1, At: at, Changes: []subconscious.Change{
		{Entry: "e1", Did: "added", By: "watcher", Summary: "one"}, {Entry: "e30", Did: "added", By: "watcher", Summary: "thirty"},
	}}}}
	for _, tt := range []struct{ name, want, err string }{
		{"e2", "e2", ""}, {"E12", "e12", ""}, {"e1", "e1", ""}, {"e3", "e30", ""},
		{"e", "", "the beginning of several ids (e12, e2)"}, {"", "", "there is no entry"}, {"x", "", "there is no entry"},
		{"\x1b[31me9", "", "there is no entry"},
	} {
		e, err := m.find(tt.name, at)
		switch {
		case tt.err == "" && (err != nil || e.ID != tt.want):
			t.Errorf("%q: %q, %v", tt.name, e.ID, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\x1b")):
			t.Errorf("%q: %v, want %q", tt.name, err, tt.err)
		}
	}
}

func TestRaisedText(t *testing.T) {
	tests := map[string]string{
		"- one (watcher)\n- two\n\nwhy: it is so": "one (watcher) and 1 more",
		"one":             "one",
		"- a\x1b]0;x\x07": "a",
		"":                "",
	}
	for content, want := range tests {
		if got := raisedText(ponder.Escalation{Content: content}); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

func TestRowsShowNoEscapes(t *testing.T) {
	const evil = "x\x1b[2J\x1b]0;title\x07\r\nponder: all is well"
	r := mindRow{Kind: "tick", Tick: 1, Roles: []subconscious.Ran{{Role: evil, Failed: evil}}, Changes: []subconscious.Change{{Entry: evil, Did: evil, By: evil, Why: evil, Summary: evil}},
		Escalated: []mindEscalation{{Summary: evil, Reason: evil, Told: evil, Model: evil, Outcome: evil, Delivered: map[string]time.Time{evil: {}}}}}
	texts := []string{r.text(), mindRow{Kind: asForgotten, Entry: evil, Text: evil}.text(), reason{Type: "observation", By: evil, Text: evil, Source: evil}.line()}
	for _, text := range texts[:2] {
		for line := range strings.Lines(text) {
			if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\r\x07") || strings.HasPrefix(line, "ponder:") {
				t.Errorf("a line is %q", line)
			}
		}
	}
	if text := oneLine(texts[2]); strings.ContainsAny(text, "\x1b\r\x07\n") {
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
		if got := reportText(tt.report); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestUnaidedText says what is left, not that it is used up, and who turned models off.
func TestUnaidedText(t *testing.T) {
	a := &cli{App: &app.App{Settings: &config.Config{Mind: config.Mind{TokensPerDay: new(1000), CostPerDay: new(0.01)}}}}
	r := mindrunner.Report{Ran: true, Unaided: true, Spent: ponder.Cost{Calls: 1, Tokens: 900, Money: 3000}}
	if got := a.unaidedText(r); !strings.Contains(got, "might not fit") || !strings.Contains(got, "left today: 100 tokens") {
		t.Errorf("%q", got)
	}
	a.Settings.Mind.TokensPerDay = new(0)
	if got := a.unaidedText(r); !strings.Contains(got, "turns models off") {
		t.Errorf("%q", got)
	}
}

func TestMindConfig(t *testing.T) {
	c := app.MindConfig(&config.Config{}, mindrunner.Config{})
	if c.TokensPerDay != config.MindTokens || c.MoneyPerDay != 500_000 || !c.Quiet.Contain(time.Date(2026, 1, 1, 23, 0, 0, 0, time.Local)) {
		t.Errorf("by default: %+v", c)
	}
	none := app.MindConfig(&config.Config{Mind: config.Mind{TokensPerDay: new(0), CostPerDay: new(0.0), Quiet: config.NoHours}}, mindrunner.Config{})
	if none.TokensPerDay >= 0 || none.MoneyPerDay >= 0 || none.Quiet != (mindrunner.Hours{}) {
		t.Errorf("with nothing to spend: %+v", none)
	}
}

func TestAffordable(t *testing.T) {
	price := func(source ponder.PriceSource, usd float64) ponder.Price {
		return ponder.Price{Source: source, Input: usd, Output: usd}
	}
	free := &config.Config{Mind: config.Mind{CostPerDay: new(0.0)}}
	tests := []struct {
		name  string
		price ponder.Price
		cfg   *config.Config
		ok    bool
	}{
		{"a price", price(ponder.PriceTable, 1), &config.Config{}, true},
		{"no price", price(ponder.PriceUnknown, 0), &config.Config{}, false},
		{"at home", price(ponder.PriceLocal, 0), free, true},
		{"a price and no money", price(ponder.PriceTable, 1), free, false},
		{"free of charge", price(ponder.PriceTable, 0), free, true},
		{"no price and no money", price(ponder.PriceUnknown, 0), free, false},
	}
	for _, tt := range tests {
		if err := app.Affordable("openai/x", tt.price, tt.cfg); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
