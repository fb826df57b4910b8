package eval

import (
	_ "embed"
	"encoding/json"
	"strings"

	"ponder/internal/textkit"
	"ponder/llm"
)

//go:embed judge.md
var rubric string

// Rubric returns what a judge is told, unless a user has other words for it.
func Rubric() string { return strings.TrimSpace(rubric) }

// A Choice is which of two answers is better.
type Choice string

// The choices.
const (
	First  Choice = "1"
	Second Choice = "2"
	Tie    Choice = "tie"
)

// A Judgement is what a judge says of two answers.
type Judgement struct {
	Why    string `json:"why"`
	Better Choice `json:"better"`
}

var judgement = llm.Schema{Name: "judgement", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"why":{"type":"string","description":"what decides it, in one or two sentences"},` +
	`"better":{"type":"string","enum":["1","2","tie"],"description":"the better answer"}},` +
	`"required":["why","better"],"additionalProperties":false}`)}

// Bounds of what a judge reads and writes.
const (
	maxJudged = 20_000 // bytes at either end of a text
	maxWhy    = 2000   // tokens
)

// JudgeRequest returns what a judge is asked about two answers to a question. Asked
// is the question with what there was to read.
func JudgeRequest(rubric string, q Question, asked, first, second string) llm.Request {
	var b strings.Builder
	tagged(&b, "question", asked)
	for _, r := range q.Reference {
		tagged(&b, "reference", r)
	}
	tagged(&b, "answer_1", first)
	tagged(&b, "answer_2", second)
	b.WriteString("Which answer is better?")
	schema := judgement
	return llm.Request{System: rubric, Messages: []llm.Message{llm.Say(llm.User, b.String())}, Schema: &schema, MaxTokens: maxWhy}
}

// tagged writes a text between tags that it cannot end itself.
func tagged(b *strings.Builder, tag, text string) {
	if len(text) > maxJudged*2 {
		text = strings.ToValidUTF8(text[:maxJudged], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-maxJudged:], "")
	}
	text = strings.ReplaceAll(text, "</"+tag, "< /"+tag)
	text = strings.ReplaceAll(text, "<answer_", "< answer_")
	b.WriteString("<" + tag + ">\n" + text + "\n</" + tag + ">\n\n")
}

// ReadJudgement reads what a judge wrote. The error is fit to be sent to it.
func ReadJudgement(text string) (Judgement, error) {
	schema := judgement
	j, err := llm.Decode[Judgement](text, &schema)
	j.Why = textkit.Truncate(strings.Join(strings.Fields(j.Why), " "), 1000)
	return j, err
}

// Settle joins what a judge said of two answers in either order: straight with the
// other one second, swapped with it first. It returns 1 if the other one is better,
// -1 if it is worse, and 0 if neither is; consistent reports whether the judge said
// the same twice. Who changes with the order has said nothing.
func Settle(straight, swapped Choice) (outcome int, consistent bool) {
	a, b := worth(straight), -worth(swapped)
	if a != b {
		return 0, false
	}
	return a, true
}

// worth returns what a choice says for the second answer.
func worth(c Choice) int {
	switch c {
	case First:
		return -1
	case Second:
		return 1
	}
	return 0
}
