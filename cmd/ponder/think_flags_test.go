package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/textkit"
)

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

func TestBudgetFlags(t *testing.T) {
	f := budgetFlags{time: "90s", tokens: "2k", cost: "$0.25", calls: "x"}
	got, err := f.readBudget(func(name string) bool { return name != "calls" })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ponder.Budget{Time: 90 * time.Second, Cost: ponder.Cost{Tokens: 2000, Money: 250_000}}, got); d != "" {
		t.Error(d)
	}
}
