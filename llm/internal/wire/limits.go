package wire

import (
	"regexp"
	"strconv"
	"strings"

	"ponder/llm"
)

// Patterns of limits in refusals, in lower case. The first match of each list counts; its last
// group is the number.
var (
	contextPatterns = compileAll(
		`maximum context length(?: is| of|:)?\s+(\d+)`,
		`exceed context limit: \d+ \+ \d+ > (\d+)`,
		`must be <= (\d+)`,
		`> (\d+) maximum`,
		`model with (\d+) maximum context length`,
		`(?:context|prompt) (?:length|window|size|limit)(?: is| of|:)?(?: only)?\s*\(?(\d+)`,
		`limit is (\d+)`,
		`maximum number of tokens allowed \(?(\d+)`,
		`"?n_ctx"?[ :=]+(\d+)`,
	)
	promptPatterns = compileAll(
		`(\d+) (?:tokens )?(?:in the messages|in your prompt|in the prompt|of text input|from the input messages|input tokens|.?inputs.? tokens)`,
		`exceed context limit: (\d+) \+`,
		`input \((\d+) tokens\)`,
		`prompt is too long: (\d+)`,
		`prompt (?:contains|has) (\d+)`,
		`input token count \(?(\d+)`,
		`messages resulted in (\d+) tokens`,
		`"?n_prompt_tokens"?[ :=]+(\d+)`,
	)
	totalPatterns = compileAll(
		`you requested (?:about |a total of )?(\d+) tokens`,
		`request(?: has)? \(?(\d+) tokens`,
		`current length is (\d+)`,
		`keep the first (\d+) tokens`,
	)
	outputPatterns = compileAll(
		`at most (\d+) (?:completion|output) tokens`,
		`max_(?:completion_|output_)?tokens[^\d]{0,60}(?:less than or equal to|<=|at most)[^\d]{0,4}(\d+)`,
		`max_(?:completion_|output_)?tokens: \d+ > (\d+)`,
		`max_(?:completion_|output_)?tokens[^\d\[]{0,60}\[\d+, ?(\d+)\]`,
	)
)

func compileAll(patterns ...string) (list []*regexp.Regexp) {
	for _, p := range patterns {
		list = append(list, regexp.MustCompile(p))
	}
	return list
}

// thousands matches a separator within a number.
var thousands = regexp.MustCompile(`(\d),(\d{3})\b`)

const (
	maxLimit     = 1 << 30
	maxLimitText = 4 << 10
)

// readLimits returns the limits that the text of a refusal names.
func readLimits(text string) (l llm.Limits) {
	text = strings.ToLower(text[:min(len(text), maxLimitText)])
	text = thousands.ReplaceAllString(text, "$1$2")
	l.Context, l.Prompt, l.Total, l.Output = findLimit(text, contextPatterns), findLimit(text, promptPatterns), findLimit(text, totalPatterns), findLimit(text, outputPatterns)
	return l
}

func findLimit(text string, patterns []*regexp.Regexp) int {
	for _, p := range patterns {
		if m := p.FindStringSubmatch(text); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && n > 0 && n <= maxLimit {
				return n
			}
		}
	}
	return 0
}
