package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// What flags do not say, the configuration does.
func TestBudget(t *testing.T) {
	conf := config.Budgets{For: config.Duration(time.Hour), Tokens: 500, Cost: 1.5}
	tests := []struct {
		name  string
		flags budgetFlags
		conf  config.Budgets
		want  ponder.Budget
	}{
		{"nothing", budgetFlags{}, config.Budgets{}, ponder.Budget{Time: 5 * time.Minute}},
		{"configuration", budgetFlags{}, conf, ponder.Budget{Time: time.Hour, Cost: ponder.Cost{Tokens: 500, Money: 1_500_000}}},
		{"flags", budgetFlags{time: "90s", tokens: "2k", cost: "$0.25", calls: "9"}, conf,
			ponder.Budget{Time: 90 * time.Second, Cost: ponder.Cost{Tokens: 2000, Money: 250_000, Calls: 9}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := map[string]bool{"for": tt.flags.time != "", "tokens": tt.flags.tokens != "", "cost": tt.flags.cost != "", "calls": tt.flags.calls != ""}
			got, err := tt.flags.budget(tt.conf, func(name string) bool { return given[name] })
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	conf := &config.Config{
		Budgets: config.Budgets{SynthesisEvery: config.Duration(2 * time.Minute)},
		Prompts: map[string]string{session.Name: "Answer in French."},
	}
	none := func(string) bool { return false }
	got, err := (&thinkFlags{}).options(conf, none)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(session.Options{SynthesisInterval: 120, Parallel: 1, Earlier: true, Prompt: "Answer in French."}, got); d != "" {
		t.Error(d)
	}
}

func TestHasWords(t *testing.T) {
	for text, want := range map[string]bool{
		"???": false, "¿ … ?!": false, "—": false, "$$$": false, "...": false, "？？？": false, "۔۔؟": false,
		"Why?": true, "为什么？": true, "لماذا؟": true, "क्यों?": true, "42?": true, "๔๒?": true, "🤔❓": true, "∞ → ?": true,
	} {
		if got := textkit.HasWords(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
