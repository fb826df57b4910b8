package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/locale"
	"ponder/mode/session"
)

func TestLimits(t *testing.T) {
	conf := config.Budgets{For: config.Duration(time.Hour), Tokens: 500, Cost: 1.5}
	asked := ponder.Budget{Time: 90 * time.Second, Cost: ponder.Cost{Tokens: 2000, Money: 250_000, Calls: 9}}
	for _, tt := range []struct {
		name  string
		asked ponder.Budget
		conf  config.Budgets
		want  ponder.Budget
	}{
		{"nothing", ponder.Budget{}, config.Budgets{}, ponder.Budget{Time: 5 * time.Minute}},
		{"configuration", ponder.Budget{}, conf, ponder.Budget{Time: time.Hour, Cost: ponder.Cost{Tokens: 500, Money: 1_500_000}}},
		{"request", asked, conf, asked},
	} {
		if d := cmp.Diff(tt.want, limitsOf(tt.asked, tt.conf, Presets["quick"])); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestSessionOptions(t *testing.T) {
	conf := &config.Config{
		Budgets: config.Budgets{SynthesisEvery: config.Duration(2 * time.Minute)},
		Prompts: map[string]string{session.Name: "Answer in French."},
	}
	want := session.Options{Locale: userLocale(locale.Choice{}), SynthesisInterval: 120, Parallel: 1, Earlier: true, Prompt: "Answer in French."}
	if d := cmp.Diff(want, newSessionOptions(conf, StartRequest{}, locale.Choice{})); d != "" {
		t.Error(d)
	}
}

// TestPresets checks the durations that users choose by name.
func TestPresets(t *testing.T) {
	want := map[string]time.Duration{"quick": 5 * time.Minute, "moderate": 30 * time.Minute, "deep": 2 * time.Hour}
	if d := cmp.Diff(want, Presets); d != "" {
		t.Error(d)
	}
	if b := limitsOf(ponder.Budget{}, config.Budgets{}, Presets["deep"]); b.Time != 2*time.Hour {
		t.Errorf("a deep session has %v", b.Time)
	}
}
