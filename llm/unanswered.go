package llm

import (
	"ponder/internal/textkit"
	"strings"
)

const maxCited = 120

// ExplainEmpty returns the error of an unusable answer, with a remedy. why describes the
// fault of a non-empty text. The class is Filtered for FinishFilter, else Malformed.
func ExplainEmpty(model string, m Message, f Finish, why string) *Error {
	e := &Error{Class: Malformed, Model: model, Advice: "try again, or ask another model"}
	words := textkit.OneLine(textkit.Visible(FinalText(m.Text())))
	switch {
	case f == FinishFilter:
		e.Class, e.Message, e.Advice = Filtered, "withheld its answer for what is in it", "word it otherwise, or ask another model"
	case words != "":
		e.Message = "answered “" + textkit.TruncateBytes(words, maxCited) + "”, of which no use can be made"
		if why != "" {
			e.Message += " (" + why + ")"
		}
		e.Advice = "word it otherwise, or ask another model"
	case m.hasReasoning() && f == FinishLength:
		e.Message, e.Advice = "reasoned for as long as an answer may be, and gave none", "ask a model that reasons less"
	case m.hasReasoning():
		e.Message = "only reasoned, and gave no answer"
	case len(m.Calls()) > 0:
		e.Message = "called tools, and gave no answer"
	default:
		e.Message = "gave an empty answer"
	}
	return e
}

func (m Message) hasReasoning() bool {
	for _, p := range m.Parts {
		if p.Reasoning != "" || p.Opaque != nil || strings.TrimSpace(p.Text) != "" {
			return true // text that Spoken drops is reasoning
		}
	}
	return false
}
