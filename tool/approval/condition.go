package approval

import (
	"ponder/internal/textkit"
	"slices"
	"strings"
)

// maxShown is the size of a call as the user is shown it, in bytes.
const maxShown = 2000

// A Condition must hold before a tool is used. Its functions are pure.
type Condition struct {
	Name string                      // what must hold
	Met  func(t Tool, w Wish) bool   // whether it does
	Do   func(t Tool, w Wish) string // what the model can do about it
}

// always returns a Do that says the same of every wish.
func always(text string) func(Tool, Wish) string { return func(Tool, Wish) string { return text } }

// last returns the turn that goes on.
func (w Wish) last() Turn {
	if len(w.Turns) == 0 {
		return Turn{}
	}
	return w.Turns[len(w.Turns)-1]
}

// Planned holds as long as a plan is approved that names the tool.
func Planned() Condition {
	return Condition{
		Name: "a plan that names it was approved",
		Do:   always(`answer with a plan under the heading "## Plan", one numbered step to a line, that names this tool; ask whether to go on, and wait for the user's yes`),
		Met: func(t Tool, w Wish) bool {
			plan, approved := approvedPlan(w.Turns)
			return approved && named(plan, t.Name)
		},
	}
}

// Confirmed holds if the user has confirmed this very call: the message of the turn
// that goes on is a yes, and nothing but that, to an answer that named the tool and
// each of the arguments.
func Confirmed() Condition {
	return Condition{
		Name: "the user has confirmed these very arguments",
		Do: func(t Tool, w Wish) string {
			return "show the user exactly this, ask whether to do it, and wait for a plain yes: " + textkit.TruncateBytes(line(t.Name, w.Args), maxShown)
		},
		Met: func(t Tool, w Wish) bool {
			n := len(w.Turns)
			return n > 1 && yes(w.Turns[n-1].User) && names(t, w, strings.Join(w.Turns[n-2].Answer, "\n"))
		},
	}
}

// Asked holds if the message of the turn that goes on tells the model to: it begins
// with one of these words, or has it after a few such as please, and is no question.
func Asked(words ...string) Condition {
	return Condition{
		Name: "the user has asked for it",
		Do:   always("the user did not say so in this message"),
		Met: func(_ Tool, w Wish) bool {
			text := w.last().User
			if strings.ContainsRune(text, '?') {
				return false
			}
			for i, word := range split(text) {
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

// Either holds if one of the conditions does.
func Either(conditions ...Condition) Condition {
	var list []string
	for _, c := range conditions {
		list = append(list, c.Name)
	}
	return Condition{
		Name: strings.Join(list, ", or "),
		Met: func(t Tool, w Wish) bool {
			return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Met(t, w) })
		},
		Do: func(t Tool, w Wish) string { return conditions[len(conditions)-1].Do(t, w) },
	}
}

// split returns the words of a text in lower case, without what joins them: at most
// the first 40.
func split(text string) (words []string) {
	const most = 40
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !letter(r) && r != '\'' && r != '’' }) {
		if words = append(words, strings.ReplaceAll(word, "’", "'")); len(words) == most {
			return words
		}
	}
	return words
}
