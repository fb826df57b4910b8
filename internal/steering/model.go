package steering

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

// A ModelStep is a step of a model's interpretation of a sentence.
type ModelStep struct {
	Do       string  `json:"do"`
	Text     string  `json:"text,omitempty"`
	Question string  `json:"question,omitempty"`
	Priority int     `json:"priority,omitempty"`
	Source   string  `json:"source,omitempty"`
	Change   string  `json:"change,omitempty"` // of a limit: set, add or subtract
	Amount   float64 `json:"amount,omitempty"`
	Unit     string  `json:"unit,omitempty"`
}

// A ModelAnswer is a model's interpretation of a sentence. Without steps, the model did not
// understand it.
type ModelAnswer struct {
	Steps []ModelStep `json:"steps"`
}

// MaxSteps is the number of steps of a sentence.
const MaxSteps = 8

// StepSchema is the JSON schema of a [ModelAnswer]. A model cannot request the answer or an undo: both
// need the words of the user, which the rules know.
var StepSchema = json.RawMessage(`{"type":"object","properties":{"steps":{"type":"array","maxItems":8,"items":{"type":"object","properties":{` +
	`"do":{"type":"string","enum":["add_question","drop_question","rank_question","correct","pin_source","ban_source","budget"]},` +
	`"text":{"type":"string"},"question":{"type":"string"},"priority":{"type":"integer","minimum":1,"maximum":10},"source":{"type":"string"},` +
	`"change":{"type":"string","enum":["set","add","subtract"]},"amount":{"type":"number"},` +
	`"unit":{"type":"string","enum":["seconds","minutes","hours","calls","tokens","cents","dollars"]}},` +
	`"required":["do"],"additionalProperties":false}}},"required":["steps"],"additionalProperties":false}`)

// ReadSteps converts the steps of a model for a sentence into requests. The steps are untrusted: a
// limit needs its figure in the sentence and must not lie below the use so far, a source must be known
// or be in the sentence, and a fact may have only numbers of the sentence. [View.Commands] checks the
// rest like any request.
func ReadSteps(steps []ModelStep, sentence string, v View) (list []Request, err error) {
	if len(steps) > MaxSteps {
		return nil, fmt.Errorf("more than %d steps", MaxSteps)
	}
	text := textkit.OneLine(sentence)
	figures := figuresIn(splitWords(text))
	for _, s := range steps {
		r := Request{Order: ponder.SteerOp(s.Do)}
		switch r.Order {
		case ponder.AddQuestion:
			r.Content, r.Priority = s.Text, s.Priority
		case ponder.Correct:
			r.Content = s.Text
			for _, q := range figuresIn(digitWords(s.Text)) {
				if !slices.ContainsFunc(figures, func(f quantity) bool { return f.figure == q.figure }) {
					return nil, fmt.Errorf("a fact with a number that is not in your sentence")
				}
			}
		case ponder.DropQuestion:
			r.Question = s.Question
		case ponder.RankQuestion:
			r.Question, r.Priority = s.Question, s.Priority
		case ponder.PinSource, ponder.BanSource:
			if r.Source = textkit.OneLine(s.Source); !slices.Contains(v.Sources, r.Source) && !strings.Contains(text, r.Source) {
				return nil, fmt.Errorf("a source that is not in your sentence: %s", textkit.Truncate(r.Source, 60))
			}
		case ponder.SetBudget:
			if r, err = v.readLimit(s, figures); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("an unknown step %q", textkit.Truncate(textkit.OneLine(s.Do), 20))
		}
		list = append(list, r)
	}
	list, ok := mergeLimits(list)
	if !ok {
		return nil, fmt.Errorf("no steps, or two for one limit")
	}
	return list, nil
}

// digitWords returns the words of a text that have digits.
func digitWords(text string) []word {
	return slices.DeleteFunc(splitWords(textkit.OneLine(text)), func(w word) bool { return !strings.ContainsAny(w.bare, "0123456789") })
}

var modelUnits = map[string]unit{
	"seconds": {timeKind, float64(time.Second)}, "minutes": {timeKind, float64(time.Minute)}, "hours": {timeKind, float64(time.Hour)},
	"calls": {callsKind, 1}, "tokens": {tokensKind, 1}, "cents": {moneyKind, micros / 100}, "dollars": {moneyKind, micros},
}

// readLimit converts a step of a limit. Its figure must be in the sentence, with the same unit if the
// rules know that unit.
func (v View) readLimit(s ModelStep, figures []quantity) (r Request, err error) {
	u, ok := modelUnits[s.Unit]
	if !ok || !(s.Amount > 0) || s.Amount*u.size > math.MaxInt64/2 {
		return r, fmt.Errorf("a limit without an amount and a unit")
	}
	isStated := func(q quantity) bool {
		if q.kind == noKind {
			return q.figure == s.Amount || q.amount == s.Amount
		}
		return q.kind == u.kind && math.Abs(q.amount-s.Amount*u.size) < 1
	}
	if !slices.ContainsFunc(figures, isStated) {
		return r, fmt.Errorf("a limit that is not in your sentence; write its figure, such as %v %s", s.Amount, s.Unit)
	}
	var set, more [len(limits)]int64
	amount := int64(math.Round(s.Amount * u.size))
	old, used := budgetAmounts(v.Limits)[u.kind], budgetAmounts(v.Used)[u.kind]
	switch s.Change {
	case "add":
		more[u.kind] = amount
	case "set":
		set[u.kind] = amount
	case "subtract":
		set[u.kind] = old - amount
	default:
		return r, fmt.Errorf("a limit without a change")
	}
	if more[u.kind] == 0 && set[u.kind] <= used {
		return r, fmt.Errorf("a limit below the use so far, %s, which would end the session", unitText(u.kind, used))
	}
	return Request{Order: ponder.SetBudget, Limits: budgetOf(set), More: budgetOf(more)}, nil
}
