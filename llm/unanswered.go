package llm

import (
	"ponder/internal/textkit"
	"strings"
)

const maxCited = 120

// ExplainEmpty returns the error of an unusable answer, with a remedy. why describes the
// fault of a non-empty text. The class is Filtered for FinishFilter, else Malformed.
func ExplainEmpty(model string, m Message, f Finish, why string) *Error {
	e := &Error{Class: Malformed, Model: model, Advice: "try again, or use another model"}
	words := textkit.OneLine(textkit.Visible(FinalText(m.Text())))
	switch {
	case f == FinishFilter:
		e.Class, e.Message, e.Advice = Filtered, "withheld its answer because of the content", "rephrase the question, or use another model"
	case words != "":
		e.Message = "answered “" + textkit.TruncateBytes(words, maxCited) + "”, which cannot be used"
		if why != "" {
			e.Message += " (" + why + ")"
		}
		e.Advice = "rephrase the question, or use another model"
	case f == FinishTime:
		e.Class, e.Message, e.Advice = Transient, "gave no answer within its time limit", "give more time, or use a faster model"
	case f == FinishLoop:
		e.Message, e.Advice = "only repeated itself", "use another model"
	case m.hasReasoning() && f == FinishLength:
		e.Message, e.Advice = "spent all tokens of the answer on reasoning", "use a model that reasons less"
	case m.hasReasoning():
		e.Message = "reasoned, but gave no answer"
	case len(m.Calls()) > 0:
		e.Message = "called tools, but gave no answer"
	default:
		e.Message = "gave an empty answer"
	}
	return e
}

func (m Message) hasReasoning() bool {
	for _, p := range m.Parts {
		if p.Reasoning != "" || p.Opaque != nil || strings.TrimSpace(p.Text) != "" {
			return true // text that FinalText drops is reasoning
		}
	}
	return false
}
