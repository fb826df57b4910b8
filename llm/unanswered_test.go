package llm_test

import (
	"strings"
	"testing"

	"ponder/llm"
)

func TestUnanswered(t *testing.T) {
	of := func(p ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: p} }
	const retry, otherwise = "try again, or ask another model", "word it otherwise, or ask another model"
	for name, tt := range map[string]struct {
		message llm.Message
		finish  llm.Finish
		why     string
		class   llm.Class
		want    string
	}{
		"nothing":      {of(), llm.FinishStop, "", llm.Malformed, "p/m: gave an empty answer: " + retry},
		"blanks":       {of(llm.Part{Text: " \n"}), llm.FinishStop, "", llm.Malformed, "p/m: gave an empty answer: " + retry},
		"reasoning":    {of(llm.Part{Reasoning: "hm"}), llm.FinishStop, "", llm.Malformed, "p/m: only reasoned, and gave no answer: " + retry},
		"tagged":       {of(llm.Part{Text: "<think>hm</think>"}), llm.FinishStop, "", llm.Malformed, "p/m: only reasoned, and gave no answer: " + retry},
		"too much":     {of(llm.Part{Reasoning: "hm"}), llm.FinishLength, "", llm.Malformed, "p/m: reasoned for as long as an answer may be, and gave none: ask a model that reasons less"},
		"tools":        {of(llm.Part{Call: &llm.ToolCall{Name: "look"}}), llm.FinishTools, "", llm.Malformed, "p/m: called tools, and gave no answer: " + retry},
		"withheld":     {of(llm.Part{Text: "I"}), llm.FinishFilter, "", llm.Filtered, "p/m: withheld its answer for what is in it: " + otherwise},
		"a refusal":    {of(llm.Part{Text: "I'm sorry,\nno."}), llm.FinishStop, "no JSON", llm.Malformed, "p/m: answered “I'm sorry, no.”, of which no use can be made (no JSON): " + otherwise},
		"a long tale":  {of(llm.Part{Text: strings.Repeat("no ", 1000)}), llm.FinishStop, "", llm.Malformed, "p/m: answered “" + strings.Repeat("no ", 38) + "no…”, of which no use can be made: " + otherwise},
		"hostile":      {of(llm.Part{Text: "\x1b[2Jno\xff\u202eway"}), llm.FinishStop, "", llm.Malformed, "p/m: answered “no\uFFFDway”, of which no use can be made: " + otherwise},
		"cut, in JSON": {of(llm.Part{Text: "{}"}), llm.FinishStop, "thoughts: is missing", llm.Malformed, "p/m: answered “{}”, of which no use can be made (thoughts: is missing): " + otherwise},
	} {
		if e := llm.ExplainEmpty("p/m", tt.message, tt.finish, tt.why); e.Error() != tt.want || e.Class != tt.class {
			t.Errorf("%s: %s (%s), want %s", name, e, e.Class, tt.want)
		}
	}
}
