package anthropic

import "strings"

type reasoning int

const (
	noThinking   reasoning = iota
	byBudget               // token budget; off by default
	adaptive               // effort; off by default
	adaptiveOn             // effort; on by default
	betweenTools           // effort; at least between tool calls
	always                 // effort; always on
)

type traits struct {
	prefix   string // from "claude" on; "" if unknown
	output   int    // maximum output tokens
	thinks   reasoning
	sampling bool // accepts a temperature
	schema   bool // accepts a schema
	forced   bool // accepts forced tools
	effort   bool // next to a budget
}

// known returns the documented model lines of November 2026. The longest prefix wins.
func known() []traits {
	return []traits{
		{prefix: "claude-3-", output: 4096, sampling: true, forced: true},
		{prefix: "claude-3-5-", output: 8192, sampling: true, forced: true},
		{prefix: "claude-3-7-", output: 64000, thinks: byBudget, sampling: true, forced: true},
		{prefix: "claude-opus-4", output: 32000, thinks: byBudget, sampling: true, forced: true},
		{prefix: "claude-opus-4-1", output: 32000, thinks: byBudget, sampling: true, schema: true, forced: true},
		{prefix: "claude-opus-4-5", output: 64000, thinks: byBudget, sampling: true, schema: true, forced: true, effort: true},
		{prefix: "claude-opus-4-6", output: 128000, thinks: adaptive, sampling: true, schema: true, forced: true},
		{prefix: "claude-opus-4-7", output: 128000, thinks: adaptive, schema: true, forced: true},
		{prefix: "claude-opus-4-8", output: 128000, thinks: adaptive, schema: true, forced: true},
		{prefix: "claude-opus-5", output: 128000, thinks: adaptiveOn, schema: true, forced: true},
		{prefix: "claude-opus-5-5", output: 128000, thinks: always, schema: true},
		{prefix: "claude-sonnet-4", output: 64000, thinks: byBudget, sampling: true, forced: true},
		{prefix: "claude-sonnet-4-5", output: 64000, thinks: byBudget, sampling: true, schema: true, forced: true},
		{prefix: "claude-sonnet-4-6", output: 64000, thinks: adaptive, sampling: true, schema: true, forced: true},
		{prefix: "claude-sonnet-5", output: 128000, thinks: adaptiveOn, schema: true, forced: true},
		{prefix: "claude-sonnet-5-5", output: 128000, thinks: betweenTools, schema: true},
		{prefix: "claude-haiku-4-5", output: 64000, thinks: byBudget, sampling: true, schema: true, forced: true},
		{prefix: "claude-haiku-5-5", output: 128000, thinks: adaptiveOn, schema: true},
		{prefix: "claude-fable-5", output: 128000, thinks: always, schema: true},
		{prefix: "claude-mythos", output: 128000, thinks: always, schema: true},
	}
}

// traitsOf gives an unknown Claude the newest traits, which older ones mostly accept, and
// other models those of most compatible servers.
func traitsOf(id string) traits {
	at := strings.Index(id, "claude")
	if at < 0 {
		return traits{output: 8192, thinks: byBudget, sampling: true, forced: true}
	}
	best := traits{output: 128000, thinks: always, schema: true}
	for _, t := range known() {
		if strings.HasPrefix(id[at:], t.prefix) && len(t.prefix) > len(best.prefix) {
			best = t
		}
	}
	return best
}

const (
	// Default limit of an answer.
	usualOutput = 32000

	// The API's minimum.
	leastBudget = 1024
)

func budgetOf(effort string) int {
	switch effort {
	case "minimal":
		return leastBudget
	case "low":
		return 4000
	case "medium":
		return 10000
	case "high":
		return 24000
	}
	return 0
}
