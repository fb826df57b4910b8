package structured

import (
	"slices"
	"strings"
	"testing"
)

const junkPrompt = `You think about one hard question over a long time. Give 3 to 5 distinct thoughts about the focus.

Each thought has
- thought: the thought itself, in one to four sentences
- confidence: from 0.0 to 1.0, how likely it is true

Answer in JSON. If you cannot, use this format:
THOUGHT: [your thought]
TYPE: [exploration/critique/connection/insight/question/synthesis]
CONFIDENCE: [0.0-1.0]`

func TestValidator(t *testing.T) {
	v := NewValidator(junkPrompt, `{"description":"exploration, critique, connection, insight, question or synthesis"}`)
	const question = "Why is the sky blue?"
	for text, want := range map[string]string{
		"Blue light scatters more than red light does.": "",
		"Four it is.":                   "",
		"It is true.":                   "", // short words of the prompt by chance
		"Why is the sky blue at noon?":  "",
		"蓝光散射更强":                        "",
		"Rayleigh scattering [e3].":     "",
		"[e3] says that light scatters": "",

		"":                        "empty",
		"...":                     "empty",
		"None":                    "empty",
		"[your thought]":          "empty",
		"your thought":            "empty",
		"THOUGHT: [your thought]": "labels",
		"[insert thought here]":   "placeholder",
		"<thought>":               "placeholder",
		"[0.0-1.0]":               "placeholder",
		"[1.0-2":                  "placeholder",
		"[your thoug":             "placeholder",
		"< 5 ms":                  "",
		"exploration/critique/connection/insight/question/synthesis":        "labels",
		"exploration, critique, connection, insight, question or synthesis": "prompt",
		"Critique/connection/insight/question":                              "labels",
		"The thought itself, in one to four sentences.":                     "prompt",
		"how likely it is true":                                             "prompt",
		"Give 3 to 5 distinct thoughts about the focus. Each thought has":   "prompt",
		"the":                                   "single",
		"The.":                                  "single",
		"Light":                                 "single",
		"Light.":                                "",
		"dont_use_this_but_don't_needit":        "single",
		"1.00.1.2.2,1984,Sinatra,Sinatra-3.5":   "single",
		"Why is the sky blue?":                  "question",
		"why is the sky blue":                   "question",
		"The question is: Why is the sky blue?": "question",
		"The question: <question> Why is the sky blue?":                                           "question",
		"[exploration] The focus: - [exploration] The answer: The question: Why is the sky blue?": "question",
		"q1 [exploration] The question: Why is the sky blue? (exploration)":                       "question",
		"The answer is: [The answer] The answer is:":                                              "labels",
		"The answer is air.": "",
		"The answer to the question:\n<answer>\nThe answer is:\n[1.0-1.0]": "labels",
		"# Answer:\n\n</answer>\n- [insight]":                              "labels",
		"The answer to the question:\n- Light scatters.":                   "",
		"Answer:\n[e3] Light scatters.":                                    "",
		`{"thought": "The sky`:                                             "JSON",
		`"type": "insight", "confidence": 0.8`:                             "JSON",
		`}, {"thought":"a"`:                                                "JSON",
		`]}`:                                                               "empty",
		"[e2] (Processes send heartbeats, threads do not, Reasons)":        "passage",
		"(Leases, Reasons, leases.md)":                                     "passage",
		"q1: [e3] (The tide, of 2 May 2024).":                              "passage",
		"[e2] (Leases, Reasons) Threads send none.":                        "",
		"(This follows from [e1] and the law.)":                            "",
		"(a) Light scatters (b) in the air.":                               "",
	} {
		got := v.Fault(text, question)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if v.EchoFault("42") != "" {
		t.Error("a number is no answer")
	}
	if v.Fault("Whatever it is.", "") != "" {
		t.Error("without a question, a thought repeats it")
	}
}

func TestDropPrefixes(t *testing.T) {
	for want, list := range map[string][]string{
		"The bank is open.|The tide is late.": {"The bank", "The bank is open.", "The tide is late.", "the tide"},
		"One is so.":                          {"One is so.", "one is so"},
		"One|Only":                            {"One", "Only"},
		"[e1] The tide is late.":              {"[e1] The tide is late.", "[e2] The tide is late.", "q3 The tide is late. 0.70", "The tide is late. [e4, e5]"},
		"It is 3 m high.|It is 4 m high.":     {"It is 3 m high.", "It is 4 m high."},
		"":                                    nil,
	} {
		got := DropPrefixes(slices.Clone(list), func(s string) string { return s })
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func FuzzJunk(f *testing.F) {
	f.Add("So. So. So. So it is, and so it is.")
	f.Add("```\na\na\na\n")
	f.Add("1. a b c d e f g h i j k\n2. a b c d e f g h i j k\n3. a b c d e f g h i j k\n")
	v := NewValidator(junkPrompt)
	f.Fuzz(func(t *testing.T, text string) {
		if got := DropRepeats(text); len(got) > len(text) {
			t.Errorf("%q became %q", text, got)
		}
		if v.EchoFault(text) != "" && v.Fault(text, "why?") == "" {
			t.Errorf("%q is an echo, but no fault", text)
		}
		DropPrefixes([]string{text, "a", text + "b"}, func(s string) string { return s })
	})
}
