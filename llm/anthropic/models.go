package anthropic

import "strings"

type reasoningMode int

const (
	noThinking   reasoningMode = iota
	byBudget                   // token budget; off by default
	adaptive                   // effort; off by default
	adaptiveOn                 // effort; on by default
	betweenTools               // effort; at least between tool calls
	always                     // effort; always on
)

type traits struct {
	prefix    string // from "claude" on; "" if unknown
	output    int    // maximum output tokens
	reasoning reasoningMode
	sampling  bool // accepts a temperature
	schema    bool // accepts a schema
	forced    bool // accepts forced tools
	effort    bool // next to a budget
}

// knownModels returns the documented model lines of November 2026. The longest prefix wins.
func knownModels() []traits {
	return []traits{
		{prefix: "claude-3-", output: 4096, sampling: true, forced: true},
		{prefix: "claude-3-5-", output: 8192, sampling: true, forced: true},
		{prefix: "claude-3-7-", output: 64000, reasoning: byBudget, sampling: true, forced: true},
		{prefix: "claude-opus-4", output: 32000, reasoning: byBudget, sampling: true, forced: true},
		{prefix: "claude-opus-4-1", output: 32000, reasoning: byBudget, sampling: true, schema: true, forced: true},
		{prefix: "claude-opus-4-5", output: 64000, reasoning: byBudget, sampling: true, schema: true, forced: true, effort: true},
		{prefix: "claude-opus-4-6", output: 128000, reasoning: adaptive, sampling: true, schema: true, forced: true},
		{prefix: "claude-opus-4-7", output: 128000, reasoning: adaptive, schema: true, forced: true},
		{prefix: "claude-opus-4-8", output: 128000, reasoning: adaptive, schema: true, forced: true},
		{prefix: "claude-opus-5", output: 128000, reasoning: adaptiveOn, schema: true, forced: true},
		{prefix: "claude-opus-5-5", output: 128000, reasoning: always, schema: true},
		{prefix: "claude-sonnet-4", output: 64000, reasoning: byBudget, sampling: true, forced: true},
		{prefix: "claude-sonnet-4-5", output: 64000, reasoning: byBudget, sampling: true, schema: true, forced: true},
		{prefix: "claude-sonnet-4-6", output: 64000, reasoning: adaptive, sampling: true, schema: true, forced: true},
		{prefix: "claude-sonnet-5", output: 128000, reasoning: adaptiveOn, schema: true, forced: true},
		{prefix: "claude-sonnet-5-5", output: 128000, reasoning: betweenTools, schema: true},
		{prefix: "claude-haiku-4-5", output: 64000, reasoning: byBudget, sampling: true, schema: true, forced: true},
		{prefix: "claude-haiku-5-5", output: 128000, reasoning: adaptiveOn, schema: true},
		{prefix: "claude-fable-5", output: 128000, reasoning: always, schema: true},
		{prefix: "claude-mythos", output: 128000, reasoning: always, schema: true},
	}
}

// modelTraits gives an unknown Claude the newest traits, which older ones mostly accept, and
// other models those of most compatible servers.
func modelTraits(id string) traits {
	at := strings.Index(id, "claude")
	if at < 0 {
		return traits{output: 8192, reasoning: byBudget, sampling: true, forced: true}
	}
	best := traits{output: 128000, reasoning: always, schema: true}
	for _, t := range knownModels() {
		if strings.HasPrefix(id[at:], t.prefix) && len(t.prefix) > len(best.prefix) {
			best = t
		}
	}
	return best
}

const (
	// Default limit of an answer.
	defaultOutput = 32000

	// The API's minimum.
	minBudget = 1024
)

func effortBudget(effort string) int {
	switch effort {
	case "minimal":
		return minBudget
	case "low":
		return 4000
	case "medium":
		return 10000
	case "high":
		return 24000
	}
	return 0
}
