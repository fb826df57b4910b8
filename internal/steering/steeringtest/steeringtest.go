// Package steeringtest has requests that every surface refuses, with the field that each
// surface names.
package steeringtest

import (
	"strings"
	"time"

	"ponder"
	"ponder/internal/steering"
)

// A Case is a list of requests of which the last is wrong.
type Case struct {
	Name     string
	Requests []steering.Request
	Field    string // that is wrong, by its name in the HTTP API
	InView   bool   // only a session knows that it is wrong: see View
}

// View returns the session that the cases are for: it has one open question and a limit of
// calls alone.
func View() steering.View {
	return steering.View{
		Questions: []steering.Question{{ID: "q1", Text: "How deep?", Open: true}, {ID: "q2", Text: "How wide?"}},
		Limits:    ponder.Budget{Cost: ponder.Cost{Calls: 10}},
	}
}

// Invalid returns the cases.
func Invalid() []Case {
	const badUTF8 = "salt \xff\xfe"
	long := func(n int) string { return strings.Repeat("a", n+1) }
	one := func(name, field string, r steering.Request) Case {
		return Case{Name: name, Requests: []steering.Request{r}, Field: field}
	}
	inView := func(name, field string, r steering.Request) Case {
		return Case{name, []steering.Request{r}, field, true}
	}
	tokens := func(n int) ponder.Budget { return ponder.Budget{Cost: ponder.Cost{Tokens: n}} }
	calls := func(n int) ponder.Budget { return ponder.Budget{Cost: ponder.Cost{Calls: n}} }
	cost := func(m ponder.Money) ponder.Budget { return ponder.Budget{Cost: ponder.Cost{Money: m}} }
	return []Case{
		{Name: "no command", Field: "order"},
		one("no order", "order", steering.Request{Content: "Who paid?"}),
		one("an unknown order", "order", steering.Request{Order: "dance"}),
		one("an empty question", "content", steering.Request{Order: ponder.AddQuestion}),
		one("a blank question", "content", steering.Request{Order: ponder.AddQuestion, Content: " \t\n "}),
		one("a question of control characters", "content", steering.Request{Order: ponder.AddQuestion, Content: "\x1b[31m\u202e\u2066"}),
		one("a question of punctuation", "content", steering.Request{Order: ponder.AddQuestion, Content: "?!"}),
		one("a question of dashes", "content", steering.Request{Order: ponder.AddQuestion, Content: "— – …"}),
		one("a question that is not UTF-8", "content", steering.Request{Order: ponder.AddQuestion, Content: badUTF8}),
		one("a long question", "content", steering.Request{Order: ponder.AddQuestion, Content: long(steering.MaxText)}),
		one("a priority above the range", "priority", steering.Request{Order: ponder.AddQuestion, Content: "Who paid?", Priority: 11}),
		one("a priority below the range", "priority", steering.Request{Order: ponder.AddQuestion, Content: "Who paid?", Priority: -1}),
		one("an empty fact", "content", steering.Request{Order: ponder.Correct}),
		one("a fact of punctuation", "content", steering.Request{Order: ponder.Correct, Content: "..."}),
		one("a fact that is not UTF-8", "content", steering.Request{Order: ponder.Correct, Content: badUTF8}),
		one("a long fact", "content", steering.Request{Order: ponder.Correct, Content: long(steering.MaxText)}),
		one("a fact with a priority", "priority", steering.Request{Order: ponder.Correct, Content: "It is salt.", Priority: 3}),
		one("an empty text", "content", steering.Request{Order: steering.Tell}),
		one("a text of punctuation", "content", steering.Request{Order: steering.Tell, Content: "!!!"}),
		one("a drop of no question", "question", steering.Request{Order: ponder.DropQuestion}),
		one("a drop of a question that is not UTF-8", "question", steering.Request{Order: ponder.DropQuestion, Question: badUTF8}),
		one("a drop with a source", "source", steering.Request{Order: ponder.DropQuestion, Question: "q1", Source: "a.md"}),
		inView("a drop of an unknown id", "question", steering.Request{Order: ponder.DropQuestion, Question: "q99"}),
		inView("a drop of an unknown text", "question", steering.Request{Order: ponder.DropQuestion, Question: "How old?"}),
		one("a rank of no question", "question", steering.Request{Order: ponder.RankQuestion, Priority: 3}),
		one("a rank without a priority", "priority", steering.Request{Order: ponder.RankQuestion, Question: "q1"}),
		one("a rank above the range", "priority", steering.Request{Order: ponder.RankQuestion, Question: "q1", Priority: 11}),
		inView("a rank of an unknown id", "question", steering.Request{Order: ponder.RankQuestion, Question: "q99", Priority: 3}),
		one("a pin of no source", "source", steering.Request{Order: ponder.PinSource}),
		one("a pin of a blank source", "source", steering.Request{Order: ponder.PinSource, Source: " \n"}),
		one("a ban of no source", "source", steering.Request{Order: ponder.BanSource}),
		one("a ban of a long source", "source", steering.Request{Order: ponder.BanSource, Source: long(steering.MaxSource)}),
		one("a ban of a source that is not UTF-8", "source", steering.Request{Order: ponder.BanSource, Source: badUTF8}),
		one("no limit", "order", steering.Request{Order: ponder.SetBudget}),
		one("too short a time", "duration_minutes", steering.Request{Order: ponder.SetBudget, Limits: ponder.Budget{Time: 500 * time.Millisecond}}),
		one("too long a time", "duration_minutes", steering.Request{Order: ponder.SetBudget, Limits: ponder.Budget{Time: 25 * time.Hour}}),
		one("a negative number of tokens", "max_tokens", steering.Request{Order: ponder.SetBudget, Limits: tokens(-1)}),
		one("too many tokens", "max_tokens", steering.Request{Order: ponder.SetBudget, Limits: tokens(steering.MaxTokens + 1)}),
		one("a negative number of calls", "max_calls", steering.Request{Order: ponder.SetBudget, Limits: calls(-3)}),
		one("too many calls", "max_calls", steering.Request{Order: ponder.SetBudget, Limits: calls(steering.MaxCalls + 1)}),
		one("a negative cost", "max_cost_usd", steering.Request{Order: ponder.SetBudget, Limits: cost(-1_000_000)}),
		one("too high a cost", "max_cost_usd", steering.Request{Order: ponder.SetBudget, Limits: cost(steering.MaxMoney + 1_000_000)}),
		one("a limit that is not for the order", "max_calls", steering.Request{Order: ponder.AnswerNow, Limits: calls(5)}),
		inView("more of no limit", "max_tokens", steering.Request{Order: ponder.SetBudget, More: tokens(1000)}),
		one("an answer now with a text", "content", steering.Request{Order: ponder.AnswerNow, Content: "Who paid?"}),
		one("a persona without a name", "persona", steering.Request{Order: ponder.SetPersona, Content: "Dry."}),
		inView("a persona for a session", "persona", steering.Request{Order: ponder.SetPersona, Persona: "Ada", Content: "Dry."}),
		{Name: "the second of two", Field: "content", Requests: []steering.Request{
			{Order: ponder.Correct, Content: "It is salt."}, {Order: ponder.AddQuestion, Content: "?"},
		}},
	}
}
