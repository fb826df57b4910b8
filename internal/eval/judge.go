package eval

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

//go:embed prompts/judge.md
var rubric string

func Rubric() string { return strings.TrimSpace(rubric) }

// A Choice names the better of two answers.
type Choice string

const (
	First  Choice = "1"
	Second Choice = "2"
	Tie    Choice = "tie"
)

type Judgement struct {
	Why    string `json:"why"`
	Better Choice `json:"better"`
}

var judgementSchema = llm.Schema{Name: "judgement", JSON: json.RawMessage(`{"type":"object","properties":{` +
	`"why":{"type":"string","description":"what decides it, in one or two sentences"},` +
	`"better":{"type":"string","enum":["1","2","tie"],"description":"the better answer"}},` +
	`"required":["why","better"],"additionalProperties":false}`)}

const (
	maxJudged = 20_000 // bytes at either end of a text
	maxWhy    = 2000
)

// JudgeRequest returns the request to compare two answers. asked is the question with its
// documents.
func JudgeRequest(rubric string, q Question, asked, first, second string) llm.Request {
	var b strings.Builder
	writeTagged(&b, "question", asked)
	for _, r := range q.Reference {
		writeTagged(&b, "reference", r)
	}
	writeTagged(&b, "answer_1", first)
	writeTagged(&b, "answer_2", second)
	b.WriteString("Which answer is better?")
	schema := judgementSchema
	return llm.Request{System: rubric, Messages: []llm.Message{llm.Say(llm.User, b.String())}, Schema: &schema, MaxTokens: maxWhy}
}

// writeTagged writes a text between tags, which the text cannot close.
func writeTagged(b *strings.Builder, tag, text string) {
	if len(text) > maxJudged*2 {
		text = strings.ToValidUTF8(text[:maxJudged], "") + "\n[…]\n" + strings.ToValidUTF8(text[len(text)-maxJudged:], "")
	}
	text = strings.ReplaceAll(text, "</"+tag, "< /"+tag)
	text = strings.ReplaceAll(text, "<answer_", "< answer_")
	b.WriteString("<" + tag + ">\n" + text + "\n</" + tag + ">\n\n")
}

// ReadJudgement parses a judge's reply. The judge may read the error.
func ReadJudgement(text string) (Judgement, error) {
	schema := judgementSchema
	j, err := llm.Decode[Judgement](text, &schema)
	j.Why = textkit.Truncate(strings.Join(strings.Fields(j.Why), " "), 1000)
	return j, err
}

// Settle combines two judgements: straight with the other answer second, swapped with it first.
// outcome is 1 if the other is better, -1 if worse, else 0. Judgements that change with the
// order are inconsistent and count as 0.
func Settle(straight, swapped Choice) (outcome int, consistent bool) {
	a, b := choiceValue(straight), -choiceValue(swapped)
	if a != b {
		return 0, false
	}
	return a, true
}

func choiceValue(c Choice) int {
	switch c {
	case First:
		return -1
	case Second:
		return 1
	}
	return 0
}

// The judge is a mode that asks which answer is better, and repeats an unusable reply once.
const (
	judgeMode                 = "judge"
	judgeRole     ponder.Role = "judge"
	maxJudgeTries             = 2
)

func newJudge() ponder.Mode {
	return ponder.Mode{Name: judgeMode, Version: 1, Doc: "Say which of two answers is better.", Start: func(r ponder.Run) ponder.State {
		s := &judgeState{}
		if err := json.Unmarshal(r.Options, &s.req); err != nil {
			s.err = "the request can't be read"
		}
		return s
	}}
}

type judgeState struct {
	req    llm.Request
	tries  int
	answer string
	err    string
}

func (s *judgeState) Apply(ev ponder.Event) ponder.State {
	b, ok := ev.Body.(ponder.CallFinished)
	if !ok || !strings.HasPrefix(ev.Cause, s.callKey()+"#") || s.answer != "" || s.err != "" {
		return s
	}
	c := *s
	c.tries++
	if b.Error != "" {
		c.err = b.Error
		return &c
	}
	j, err := ReadJudgement(b.Message.Text())
	switch {
	case err == nil:
		c.answer = encodeJSON(j)
	case c.tries >= maxJudgeTries:
		c.err = fmt.Sprintf("the judge gave no verdict: %v", err)
	default:
		c.req = *llm.Reask(&c.req, b.Message, err)
	}
	return &c
}

func (s *judgeState) callKey() string { return "judge-" + strconv.Itoa(s.tries+1) }

func (s *judgeState) Next(ponder.Moment) []ponder.Action {
	switch {
	case s.answer != "":
		return []ponder.Action{ponder.Finish{Answer: s.answer}}
	case s.err != "":
		return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: s.err}}
	}
	return []ponder.Action{ponder.Call{Key: s.callKey(), Role: judgeRole, Request: s.req}}
}

func encodeJSON(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(js)
}
