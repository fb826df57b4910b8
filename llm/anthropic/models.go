package anthropic

import "strings"

// A reasoning says how a model is told to think.
type reasoning int

const (
	noThinking   reasoning = iota
	byBudget               // a number of tokens; off unless asked for
	adaptive               // an effort; off unless asked for
	adaptiveOn             // an effort; on unless disabled
	betweenTools           // an effort; the least is to think between tool calls
	always                 // an effort; cannot be turned off
)

// traits are what an adapter must know of a model to ask it well.
type traits struct {
	prefix   string // of the model's name from "claude" on; "" if it is not known
	output   int    // most tokens of an answer
	thinks   reasoning
	sampling bool // takes a temperature
	schema   bool // takes a schema for the answer
	forced   bool // takes a tool choice that forces a tool
	effort   bool // takes an effort beside a budget
}

// known is what the providers' documentation said of each line of models in
// November 2026. The longest prefix wins.
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

// traitsOf returns the traits of a model. Of a Claude that is not known it
// assumes what the newest ones need, which older ones mostly accept; of another
// maker's model behind this API, what such servers mostly accept.
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
	// usualOutput bounds an answer whose length the caller left open.
	usualOutput = 32000

	// leastBudget is the least the API takes.
	leastBudget = 1024
)

// budgetOf returns the tokens an effort is worth to a model that wants a
// number, or zero for none.
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
