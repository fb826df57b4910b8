package steering

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

// maxMeaning bounds the text of one step, in letters.
const maxMeaning = 80

// Meaning returns requests as text, for "Understood as: ...". An undo names the change that it reverts.
func (v View) Meaning(list []Request) string {
	var steps []string
	for _, r := range list {
		steps = append(steps, v.stepText(r.cleanRequest()))
	}
	return strings.Join(steps, "; ")
}

func (v View) stepText(r Request) string {
	short := func(text string) string { return textkit.Truncate(textkit.OneLine(text), maxMeaning) }
	switch r.Order {
	case ponder.AddQuestion:
		if r.Priority != 0 {
			return fmt.Sprintf("add question %q, priority %d", short(r.Content), r.Priority)
		}
		return fmt.Sprintf("add question %q", short(r.Content))
	case ponder.DropQuestion:
		return "drop " + v.questionText(r.Question)
	case ponder.RankQuestion:
		return fmt.Sprintf("priority %d for %s", r.Priority, v.questionText(r.Question))
	case ponder.Correct:
		return fmt.Sprintf("accept as a fact %q", short(r.Content))
	case ponder.PinSource:
		return "prefer " + short(r.Source)
	case ponder.BanSource:
		return "ignore " + short(r.Source)
	case ponder.SetBudget:
		return limitText(r)
	case ponder.AnswerNow:
		return "answer now"
	case Undo:
		return fmt.Sprintf("undo %q", short(v.Newest.Text))
	}
	return short(strings.ReplaceAll(string(r.Order), "_", " "))
}

func (v View) questionText(name string) string {
	for _, q := range v.Questions {
		if strings.EqualFold(q.ID, name) {
			return fmt.Sprintf("%s %q", q.ID, textkit.Truncate(textkit.OneLine(q.Text), maxMeaning/2))
		}
	}
	return textkit.Truncate(textkit.OneLine(name), maxMeaning/2)
}

func limitText(r Request) string {
	var words []string
	for _, w := range limitWords(r.More) {
		words = append(words, "+"+w)
	}
	words = append(words, limitWords(r.Limits)...)
	return "budget " + strings.Join(words, ", ")
}

// Examples are sentences that the rules understand, by order.
var examples = []struct{ name, sentence string }{
	{"time", "10 more minutes"},
	{"money", "stop at $0.50"},
	{"calls", "20 more calls"},
	{"tokens", "at most 50k tokens"},
	{"drop", "drop q3"},
	{"rank", "q3 is most important"},
	{"ban", "ignore SOURCE"},
	{"pin", "prefer SOURCE"},
	{"correct", "note that FACT"},
	{"answer", "answer now"},
	{"undo", "undo that"},
	{"add", "ask QUESTION"},
	{"focus", "focus on TOPIC"},
}

const maxNearest = 3

// NearestCommands returns sentences that the rules understand and that resemble a sentence.
func NearestCommands(sentence string) (list []string) {
	words := splitWords(textkit.OneLine(textkit.TruncateBytes(sentence, MaxText)))
	b := bagOf(words)
	near := func(name string) {
		for _, e := range examples {
			if e.name == name && len(list) < maxNearest && !slices.Contains(list, e.sentence) {
				list = append(list, e.sentence)
			}
		}
	}
	if len(words) > 0 {
		near(textkit.Suggest(words[0].norm, []string{"drop", "rank", "correct", "pin", "answer", "undo", "add", "focus"}))
	}
	for _, q := range figuresIn(words) {
		if q.kind != noKind {
			near(map[kind]string{timeKind: "time", moneyKind: "money", callsKind: "calls", tokensKind: "tokens"}[q.kind])
		}
	}
	for _, class := range []string{"time", "money", "calls", "tokens", "undo"} {
		if b.hasAny(class) {
			near(class)
		}
	}
	if len(list) == 0 && b.hasAny("limitword", "grow", "shrink", "bound") {
		near("time")
		near("money")
		near("calls")
	}
	ids, _ := clauseParser{}.splitRefs(words)
	switch {
	case len(ids) > 0:
		near("drop")
		near("rank")
	case b.hasAny("stop", "answer"):
		if !b.hasAny("negation") {
			near("answer")
		}
		near("time")
	case b.hasAny("drop", "ban"):
		near("drop")
		near("ban")
	case b.hasAny("pin"):
		near("pin")
	}
	for _, name := range []string{"focus", "add", "time"} {
		near(name)
	}
	return list
}

// ExplainFailure says that a sentence was not understood, and names the nearest commands.
func ExplainFailure(sentence, why string) string {
	text := fmt.Sprintf("not understood: %q", textkit.Truncate(textkit.OneLine(sentence), 60))
	if why != "" {
		text += " (" + textkit.Truncate(textkit.OneLine(why), 200) + ")"
	}
	return text + "; nothing is changed. Nearest commands: " + strings.Join(NearestCommands(sentence), " · ")
}

// unitText returns an amount of a limit as text, for messages.
func unitText(k kind, n int64) string {
	if k == timeKind {
		return time.Duration(n).Round(time.Second).String()
	}
	var amounts [len(limits)]int64
	amounts[k] = n
	return strings.Join(limitWords(budgetOf(amounts)), "")
}
