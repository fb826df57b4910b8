package wire

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ponder/llm"
)

// overflowPatterns match refusals of a request that exceeds the context window, in lower case.
var overflowPatterns = compileAll(
	`(?:maximum|max|available|configured|model'?s?) (?:context|model|prompt|sequence) (?:length|size|window)`,
	`context[ _](?:length|size|window|limit)(?: has been| is|_)? ?exceed`,
	`exceed\w*[^.]{0,40}(?:context|prompt|max)[ _](?:length|size|window|limit|budget|input|seq)`,
	`context window`,
	`(?:larger|longer|greater|more) than the (?:model'?s )?context`,
	`(?:prompt|input)(?: \([^)]*\))?(?: is)? too (?:long|large)`, `(?:prompt|输入|上下文)[^。.]{0,10}超(?:长|出|过)`,
	`prompt exceeds max`, `exceeds? (?:the )?maximum (?:allowed )?(?:input|length|number of (?:input )?tokens)`,
	`exceeded model token limit`, `model max length exceeded`, `token limit exceeded`, `total length of all messages is too long`,
	`(?:input|prompt|total)s? (?:token count|tokens?)[^.]{0,60}exceed`, `requested tokens? \(\d+\) exceed`,
	`reduce (?:the|your) (?:length|prompt)`, `request too large`, `too many (?:input )?tokens (?:in|for)`, `too many tokens:`,
	`range of input length should be`, `with context length of only`, `context (?:the )?overflow`,
	"`inputs` (?:tokens \\+ `max_new_tokens` must|must have less)", `number of tokens to keep from`, `cannot truncate prompt with n_keep`,
)

// isOverflow reports whether a refusal in lower case says that a request exceeds the context
// window. A limit of the answer alone is none.
func isOverflow(text string) bool {
	text = text[:min(len(text), maxLimitText)]
	return slices.ContainsFunc(overflowPatterns, func(p *regexp.Regexp) bool { return p.MatchString(text) }) &&
		!answerLimit.MatchString(text)
}

var answerLimit = regexp.MustCompile(`max tokens must be|max_(?:completion_|output_)?tokens.? (?:must be|is too large: \d+\. this model supports)`)

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
		`"?n_ctx"?[ :=]+\(?(\d+)`,
		`model token limit: (\d+)`,
		`(?:limit for this model is|exceeds the limit of|cannot exceed|model's max of|max_seq_len|max length:) ?(\d+)`,
		`maximum (?:model|allowed(?: input)?) length (?:of |is )?\(?(\d+)`,
		`must have less than (\d+)`,
		`input length should be \[\d+, ?(\d+)\]`,
	)
	promptPatterns = compileAll(
		`(\d+) (?:tokens )?(?:in the messages|in your prompt|in the prompt|of text input|from the input messages|input tokens|.?inputs.? tokens)`,
		`exceed context limit: (\d+) \+`,
		`input \((\d+) tokens\)`,
		`prompt(?: is)? too long: (\d+)`,
		`prompt (?:contains|has) (\d+)`,
		`input token count \(?(\d+)`,
		`messages resulted in (\d+) tokens`,
		`input length \(?(\d+)`,
		`prompt token count of (\d+)`,
		`prompt \(length (\d+)\)`,
		`n_keep:? \(?(\d+)`,
		`must have less than \d+ tokens\. given: (\d+)`,
		`"?n_prompt_tokens"?[ :=]+(\d+)`,
	)
	totalPatterns = compileAll(
		`you requested (?:about |a total of )?(\d+) tokens`,
		`request(?: has)? \(?(\d+) tokens`,
		`current length is (\d+)`,
		`\(requested: (\d+)\)`,
		`requested tokens? \((\d+)\)`,
		`request contains (\d+)`,
		`- received (\d+)`,
		`keep the first (\d+) tokens`,
	)
	excessPatterns = compileAll(
		`exceeded (?:max )?context length by (\d+)`,
		`limit exceeded by (\d+)`,
	)
	outputPatterns = compileAll(
		`at most (\d+) (?:completion|output) tokens`,
		`max[_ ](?:completion_|output_)?tokens[^\d]{0,60}(?:less than or equal to|<=|at most)[^\d]{0,4}(\d+)`,
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
	l.Excess = findLimit(text, excessPatterns)
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
