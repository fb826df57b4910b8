package main

import (
	"testing"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/mindrunner"
)

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
