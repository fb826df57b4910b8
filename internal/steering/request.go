// Package steering parses and checks commands that change a running session or research.
// Surfaces translate their syntax into requests; the package returns the events, which the
// modes apply.
package steering

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"ponder"
	"ponder/internal/textkit"
)

// Tell is the order of a text without an operation; a run adds it as a question.
const Tell ponder.SteerOp = "tell"

const (
	MinPriority = 1
	MaxPriority = 10
	MaxText     = 20_000 // bytes of a question or a fact
	MaxSource   = 4000   // bytes
	MinTime     = time.Second
	MaxTime     = 24 * time.Hour
	MaxCalls    = 1_000_000
	MaxTokens   = 1_000_000_000
	MaxMoney    = ponder.Money(1_000_000_000_000) // a million US dollars
)

// A Request is one command as typed. Zero fields are unset.
type Request struct {
	Order    ponder.SteerOp
	Content  string // a question or a fact; a persona's voice
	Question string
	Priority int
	Source   string // a path, a URL or an id of a quotation
	Persona  string
	Limits   ponder.Budget
	More     ponder.Budget
}

type Error struct {
	Index   int
	Field   string // name in the HTTP API
	Message string
}

func (e *Error) Error() string { return e.Message }

// Errors are in the order of requests. There is at least one.
type Errors []*Error

func (e Errors) Error() string { return e[0].Message }

// Unwrap returns the errors.
func (e Errors) Unwrap() (list []error) {
	for _, one := range e {
		list = append(list, one)
	}
	return list
}

func (e Errors) asError() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

const (
	fieldOrder    = "order"
	fieldContent  = "content"
	fieldQuestion = "question"
	fieldPriority = "priority"
	fieldSource   = "source"
	fieldPersona  = "persona"
	fieldTime     = "duration_minutes"
	fieldTokens   = "max_tokens"
	fieldCalls    = "max_calls"
	fieldMoney    = "max_cost_usd"
)

type rule struct {
	order      ponder.SteerOp
	needs, may []string
}

var rules = []rule{
	{ponder.AddQuestion, []string{fieldContent}, []string{fieldPriority}},
	{ponder.DropQuestion, []string{fieldQuestion}, nil},
	{ponder.RankQuestion, []string{fieldQuestion, fieldPriority}, nil},
	{ponder.Correct, []string{fieldContent}, nil},
	{ponder.PinSource, []string{fieldSource}, nil},
	{ponder.BanSource, []string{fieldSource}, nil},
	{ponder.SetPersona, []string{fieldPersona}, []string{fieldContent}},
	{ponder.SetBudget, nil, []string{fieldTime, fieldTokens, fieldMoney, fieldCalls}},
	{ponder.AnswerNow, nil, nil},
	{Undo, nil, nil},
	{Tell, []string{fieldContent}, nil},
}

var shortOrders = map[ponder.SteerOp]ponder.SteerOp{"rank": ponder.RankQuestion, "pin": ponder.PinSource, "ban": ponder.BanSource}

// Check checks requests without a session. It returns [Errors] or nil.
func Check(list []Request) error {
	if len(list) == 0 {
		return Errors{{Field: fieldOrder, Message: "command missing; use one such as add_question, correct or answer_now"}}
	}
	var wrong Errors
	for i, r := range list {
		for _, e := range r.cleanRequest().check() {
			e.Index = i
			wrong = append(wrong, e)
		}
	}
	return wrong.asError()
}

// cleanRequest normalises a valid request: each text becomes one line, except a voice.
func (r Request) cleanRequest() Request {
	if do, ok := shortOrders[r.Order]; ok {
		r.Order = do
	}
	for _, text := range []*string{&r.Content, &r.Question, &r.Source, &r.Persona} {
		if utf8.ValidString(*text) && len(*text) <= MaxText && (text != &r.Content || r.Order != ponder.SetPersona) {
			*text = textkit.OneLine(*text)
		}
	}
	return r
}

func (r Request) setFields() (names []string) {
	set := func(name string, is bool) {
		if is {
			names = append(names, name)
		}
	}
	set(fieldContent, r.Content != "")
	set(fieldQuestion, r.Question != "")
	set(fieldPriority, r.Priority != 0)
	set(fieldSource, r.Source != "")
	set(fieldPersona, r.Persona != "")
	more := budgetAmounts(r.More)
	for i, n := range budgetAmounts(r.Limits) {
		set(limits[i].field, n != 0 || more[i] != 0)
	}
	return names
}

func (r Request) check() (wrong Errors) {
	say := func(field, format string, args ...any) {
		wrong = append(wrong, &Error{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	i := slices.IndexFunc(rules, func(o rule) bool { return o.order == r.Order })
	if i < 0 {
		say(fieldOrder, "unknown command %q; use one such as add_question, correct or answer_now", textkit.Truncate(textkit.OneLine(string(r.Order)), 20))
		return wrong
	}
	o, has := rules[i], r.setFields()
	for _, field := range o.needs {
		if !slices.Contains(has, field) {
			say(field, "value missing; %s needs it", r.Order)
		}
	}
	for _, field := range has {
		if !slices.Contains(o.needs, field) && !slices.Contains(o.may, field) {
			say(field, "not allowed with %s", r.Order)
		}
	}
	if r.Order == ponder.SetBudget && len(has) == 0 {
		say(fieldOrder, "limit missing; set time, tokens, calls or cost")
	}
	for _, text := range []struct {
		field, text string
		most        int
	}{{fieldContent, r.Content, MaxText}, {fieldQuestion, r.Question, MaxText}, {fieldSource, r.Source, MaxSource}, {fieldPersona, r.Persona, MaxText}} {
		switch {
		case !utf8.ValidString(text.text):
			say(text.field, "not valid UTF-8")
		case len(text.text) > text.most:
			say(text.field, "longer than %d bytes", text.most)
		case text.field == fieldContent && text.text != "" && r.Order != ponder.SetPersona && !textkit.HasWords(text.text):
			say(text.field, "only punctuation; use words")
		}
	}
	if r.Priority != 0 && (r.Priority < MinPriority || r.Priority > MaxPriority) {
		say(fieldPriority, "%d is out of range; use a priority from %d to %d", r.Priority, MinPriority, MaxPriority)
	}
	return append(append(wrong, limitErrors(r.Limits)...), limitErrors(r.More)...)
}

// CheckLimits checks the limits of a run. It returns [Errors] or nil. Zero is no limit.
func CheckLimits(b ponder.Budget) error { return limitErrors(b).asError() }

func limitErrors(b ponder.Budget) (wrong Errors) {
	for i, n := range budgetAmounts(b) {
		if l := limits[i]; n != 0 && (n < l.least || n > l.most) {
			wrong = append(wrong, &Error{Field: l.field, Message: "out of range; use " + l.span})
		}
	}
	return wrong
}

// limits are the limits of a budget with their bounds, in its units.
var limits = [4]struct {
	field       string
	least, most int64
	span        string // the range in words
}{
	{fieldTime, int64(MinTime), int64(MaxTime), "1 second to 24 hours"},
	{fieldTokens, 1, MaxTokens, "1 to 1,000,000,000"},
	{fieldCalls, 1, MaxCalls, "1 to 1,000,000"},
	{fieldMoney, 1, int64(MaxMoney), "0.000001 to 1,000,000 US dollars"},
}

func budgetAmounts(b ponder.Budget) [len(limits)]int64 {
	return [len(limits)]int64{int64(b.Time), int64(b.Tokens), int64(b.Calls), int64(b.Money)}
}

func budgetOf(n [len(limits)]int64) (b ponder.Budget) {
	b.Time, b.Tokens, b.Calls, b.Money = time.Duration(n[0]), int(n[1]), int(n[2]), ponder.Money(n[3])
	return b
}
