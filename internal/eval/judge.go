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

// A judge is a mode: it is asked which of two answers is better, and once more if it
// does not say.
const (
	judgeMode              = "judge"
	judgeRole  ponder.Role = "judge"
	judgeTries             = 2
)

// newJudge returns the mode. The options of a run are the request.
func newJudge() ponder.Mode {
	return ponder.Mode{Name: judgeMode, Version: 1, Doc: "Say which of two answers is better.", Start: func(r ponder.Run) ponder.State {
		s := &judging{}
		if err := json.Unmarshal(r.Options, &s.req); err != nil {
			s.err = "the request can't be read"
		}
		return s
	}}
}

// A judging is what is known of a judgement.
type judging struct {
	req    llm.Request // the next one
	tries  int
	answer string // the judgement as JSON
	err    string
}

// Apply implements [ponder.State].
func (s *judging) Apply(ev ponder.Event) ponder.State {
	b, ok := ev.Body.(ponder.CallFinished)
	if !ok || !strings.HasPrefix(ev.Cause, s.key()+"#") || s.answer != "" || s.err != "" {
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
		c.answer = marshal(j)
	case c.tries >= judgeTries:
		c.err = fmt.Sprintf("the judge does not say which is better: %v", err)
	default:
		c.req = *llm.Reask(&c.req, b.Message, err)
	}
	return &c
}

func (s *judging) key() string { return "judge-" + strconv.Itoa(s.tries+1) }

// Next implements [ponder.State].
func (s *judging) Next(ponder.Moment) []ponder.Action {
	switch {
	case s.answer != "":
		return []ponder.Action{ponder.Finish{Answer: s.answer}}
	case s.err != "":
		return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: s.err}}
	}
	return []ponder.Action{ponder.Call{Key: s.key(), Role: judgeRole, Request: s.req}}
}

func marshal(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		return "{}" // of plain values, it can always be
	}
	return string(js)
}
