package config

import "strconv"

// defaults are what settings are that nothing sets, where the program has a value of its
// own: see [ponder/mode/chat.Options], [ponder/mode/deep.Options],
// [ponder/mode/research.Options] and package [ponder/mode/session]. Of others nothing is nothing, or no limit.
func defaults() map[string]string {
	return map[string]string{
		"thinking.retention":      "keep",
		"thinking.per_turn":       "10",
		"thinking.per_minute":     "20",
		"budgets.for":             "5m",
		"budgets.synthesis_every": "5m",
		"chat.rounds":             "8",
		"chat.window":             "up to 100000", // by the model
		"deep_think.after":        "5",
		"deep_think.per_hour":     "12",
		"deep_think.limit":        "2m",
		"serve.keep_exchanges":    "24h",

		"research.maxRounds":              "5",
		"research.maxItemsPerSource":      "10",
		"research.maxParallelQueries":     "3",
		"research.forceWebSearch":         "false",
		"research.enableCaching":          "true",
		"research.minConfidenceThreshold": "0",
		"research.synthesisStrategy":      "auto",
		"research.for":                    "3m",

		"mind.every":          Duration(MindEvery).String(),
		"mind.cooldown":       Duration(MindCooldown).String(),
		"mind.tokens_per_day": strconv.Itoa(MindTokens),
		"mind.cost_per_day":   strconv.FormatFloat(MindDollars, 'f', -1, 64),
		"mind.quiet":          string(MindQuiet),
		"mind.night":          string(MindNight),
		"mind.web":            "false",
		"mind.feed":           "true",

		"serve.listen": ServeListen,
		"serve.mind":   "false",
	}
}
