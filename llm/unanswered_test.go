package llm_test

import (
	"strings"
	"testing"

	"ponder/llm"
)

func TestUnanswered(t *testing.T) {
	of := func(p ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: p} }
	const retry, otherwise = "try again, or use another model", "rephrase the question, or use another model"
	for name, tt := range map[string]struct {
		message llm.Message
		finish  llm.Finish
		why     string
		class   llm.Class
		want    string
	}{
		"nothing":      {of(), llm.FinishStop, "", llm.Malformed, "p/m: gave an empty answer: " + retry},
		"blanks":       {of(llm.Part{Text: " \n"}), llm.FinishStop, "", llm.Malformed, "p/m: gave an empty answer: " + retry},
		"reasoning":    {of(llm.Part{Reasoning: "hm"}), llm.FinishStop, "", llm.Malformed, "p/m: reasoned, but gave no answer: " + retry},
		"tagged":       {of(llm.Part{Text: "<think>hm</think>"}), llm.FinishStop, "", llm.Malformed, "p/m: reasoned, but gave no answer: " + retry},
		"too much":     {of(llm.Part{Reasoning: "hm"}), llm.FinishLength, "", llm.Malformed, "p/m: spent all tokens of the answer on reasoning: use a model that reasons less"},
		"tools":        {of(llm.Part{Call: &llm.ToolCall{Name: "look"}}), llm.FinishTools, "", llm.Malformed, "p/m: called tools, but gave no answer: " + retry},
		"withheld":     {of(llm.Part{Text: "I"}), llm.FinishFilter, "", llm.Filtered, "p/m: withheld its answer because of the content: " + otherwise},
		"a refusal":    {of(llm.Part{Text: "I'm sorry,\nno."}), llm.FinishStop, "no JSON", llm.Malformed, "p/m: answered “I'm sorry, no.”, which cannot be used (no JSON): " + otherwise},
		"a long tale":  {of(llm.Part{Text: strings.Repeat("no ", 1000)}), llm.FinishStop, "", llm.Malformed, "p/m: answered “" + strings.Repeat("no ", 38) + "no…”, which cannot be used: " + otherwise},
		"hostile":      {of(llm.Part{Text: "\x1b[2Jno\xff\u202eway"}), llm.FinishStop, "", llm.Malformed, "p/m: answered “no\uFFFDway”, which cannot be used: " + otherwise},
		"cut, in JSON": {of(llm.Part{Text: "{}"}), llm.FinishStop, "thoughts: is missing", llm.Malformed, "p/m: answered “{}”, which cannot be used (thoughts: is missing): " + otherwise},
	} {
		if e := llm.ExplainEmpty("p/m", tt.message, tt.finish, tt.why); e.Error() != tt.want || e.Class != tt.class {
			t.Errorf("%s: %s (%s), want %s", name, e, e.Class, tt.want)
		}
	}
}
