package gemini

import (
	"strconv"
	"strings"

	"ponder/llm/internal/wire"
)

type reasoningMode int

const (
	noThinking reasoningMode = iota
	byBudget                 // token budget
	byLevel                  // level
)

type traits struct {
	reasoning            reasoningMode
	minBudget, maxBudget int      // budget; least also for "none"
	minReasoning         int      // minimum to reason
	levels               []string // lowest first
	jsonSchema           bool     // responseJsonSchema
	both                 bool     // schema with tools
	signed               bool     // calls need signatures
	inResult             bool     // media in results
}

// modelTraits returns the documented traits of November 2026. Unknown models get the newest.
func modelTraits(id string) traits {
	id = id[strings.LastIndexByte(id, '/')+1:]
	version, ok := modelVersion(id)
	switch {
	case !strings.HasPrefix(id, "gemini-"):
		return traits{} // Gemma, LearnLM
	case ok && version < 2.5:
		return traits{}
	case ok && version < 3:
		return traits25(id)
	}
	t := traits{reasoning: byLevel, levels: []string{"minimal", "low", "medium", "high"}, jsonSchema: true, both: true, signed: true, inResult: true}
	if strings.Contains(id, "pro") {
		t.levels = t.levels[1:]
	}
	if strings.HasPrefix(id, "gemini-3-pro") {
		t.levels = []string{"low", "high"}
	}
	return t
}

func traits25(id string) traits {
	t := traits{reasoning: byBudget, minReasoning: 128, maxBudget: 24576, jsonSchema: true}
	switch {
	case strings.Contains(id, "pro"):
		t.minBudget, t.maxBudget = 128, 32768
	case strings.Contains(id, "lite"):
		t.minReasoning = 512
	}
	if strings.Contains(id, "image") || strings.Contains(id, "tts") {
		t.reasoning = noThinking
	}
	return t
}

// modelVersion returns 2.5 for gemini-2.5-pro; gemini-flash-latest has no version.
func modelVersion(id string) (float64, bool) {
	id = strings.TrimPrefix(id, "gemini-")
	id, _, _ = strings.Cut(id, "-")
	v, err := strconv.ParseFloat(id, 64)
	return v, err == nil
}

func (t traits) effortBudget(effort string) int {
	n := 0
	switch effort {
	case "minimal":
		n = t.minReasoning
	case "low":
		n = 1024
	case "medium":
		n = 8192
	case "high":
		n = t.maxBudget
	}
	return min(max(n, t.minBudget), t.maxBudget)
}

// effortLevel returns the lowest level that reaches effort, or the highest.
func (t traits) effortLevel(effort string) string {
	for _, l := range t.levels {
		if wire.EffortRank(l) >= wire.EffortRank(effort) {
			return strings.ToUpper(l)
		}
	}
	return strings.ToUpper(t.levels[len(t.levels)-1])
}
