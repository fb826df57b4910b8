package approval

import (
	"ponder/internal/textkit"
	"slices"
	"strings"
)

// maxShown limits the size of a call in a question to the user, in bytes.
const maxShown = 2000

// A Condition must hold before a tool is used. Its functions are pure.
type Condition struct {
	Name string                         // the condition, for the model
	Met  func(t Tool, w Request) bool   // reports whether it holds
	Do   func(t Tool, w Request) string // the way for the model to satisfy it
}

// constantText returns a Do with a constant text.
func constantText(text string) func(Tool, Request) string {
	return func(Tool, Request) string { return text }
}

// lastTurn returns the current turn.
func (w Request) lastTurn() Turn {
	if len(w.Turns) == 0 {
		return Turn{}
	}
	return w.Turns[len(w.Turns)-1]
}

// Planned holds while there is an approved plan that names the tool.
func Planned() Condition {
	return Condition{
		Name: "a plan that names it was approved",
		Do:   constantText(`answer with a plan under the heading "## Plan", one numbered step to a line, that names this tool; ask whether to go on, and wait for the user's yes`),
		Met: func(t Tool, w Request) bool {
			plan, approved := approvedPlan(w.Turns)
			return approved && namesTool(plan, t.Name)
		},
	}
}

// Confirmed holds if the user has confirmed exactly this call. The current message must be
// a plain yes, and the answer before it must name the tool and each of its arguments.
func Confirmed() Condition {
	return Condition{
		Name: "the user has confirmed these very arguments",
		Do: func(t Tool, w Request) string {
			return "show the user exactly this, ask whether to do it, and wait for a plain yes: " + textkit.TruncateBytes(callText(t.Name, w.Args), maxShown)
		},
		Met: func(t Tool, w Request) bool {
			n := len(w.Turns)
			return n > 1 && isYes(w.Turns[n-1].User) && namesCall(t, w, strings.Join(w.Turns[n-2].Answer, "\n"))
		},
	}
}

// AskedFor holds if the current message asks for the tool. It must start with one of the
// words, possibly after a few fillers such as please, and contain no question.
func AskedFor(words ...string) Condition {
	return Condition{
		Name: "the user has asked for it",
		Do:   constantText("the user did not say so in this message"),
		Met: func(_ Tool, w Request) bool {
			text := w.lastTurn().User
			if strings.ContainsRune(text, '?') {
				return false
			}
			for i, word := range splitWords(text) {
				switch {
				case slices.Contains(words, word):
					return true
				case i >= 3 || !slices.Contains([]string{"please", "and", "now", "also", "ok", "okay", "yes", "bitte", "ja", "und"}, word):
					return false
				}
			}
			return false
		},
	}
}

// AnyOf holds if one of the conditions does.
func AnyOf(conditions ...Condition) Condition {
	var list []string
	for _, c := range conditions {
		list = append(list, c.Name)
	}
	return Condition{
		Name: strings.Join(list, ", or "),
		Met: func(t Tool, w Request) bool {
			return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Met(t, w) })
		},
		Do: func(t Tool, w Request) string { return conditions[len(conditions)-1].Do(t, w) },
	}
}

// splitWords returns the first 40 words of a text in lower case, without punctuation.
func splitWords(text string) (words []string) {
	const maxWords = 40
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !isWordRune(r) && r != '\'' && r != '’' }) {
		if words = append(words, strings.ReplaceAll(word, "’", "'")); len(words) == maxWords {
			return words
		}
	}
	return words
}
