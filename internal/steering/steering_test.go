package steering_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/steering"
	"ponder/mode/session"
)

// An invalidCase is a list of requests whose last one is invalid.
type invalidCase struct {
	Name     string
	Requests []steering.Request
	Field    string // the wrong field's name in the HTTP API
	InView   bool   // only [View.Commands] detects it
}

// viewOfCases returns the session of the cases, with one open question and only a limit of
// calls.
func viewOfCases() steering.View {
	return steering.View{
		Questions: []steering.Question{{ID: "q1", Text: "How deep?", Open: true}, {ID: "q2", Text: "How wide?"}},
		Limits:    ponder.Budget{Cost: ponder.Cost{Calls: 10}},
	}
}

func invalidCases() []invalidCase {
	const badUTF8 = "salt \xff\xfe"
	long := func(n int) string { return strings.Repeat("a", n+1) }
	one := func(name, field string, r steering.Request) invalidCase {
		return invalidCase{Name: name, Requests: []steering.Request{r}, Field: field}
	}
	inView := func(name, field string, r steering.Request) invalidCase {
		return invalidCase{name, []steering.Request{r}, field, true}
	}
	tokens := func(n int) ponder.Budget { return ponder.Budget{Cost: ponder.Cost{Tokens: n}} }
	calls := func(n int) ponder.Budget { return ponder.Budget{Cost: ponder.Cost{Calls: n}} }
	cost := func(m ponder.Money) ponder.Budget { return ponder.Budget{Cost: ponder.Cost{Money: m}} }
	return []invalidCase{
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

// Each invalid request is refused with its field, and no message names a flag.
func TestInvalid(t *testing.T) {
	cases, view := invalidCases(), viewOfCases()
	if len(cases) < 40 {
		t.Errorf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			err := steering.Check(c.Requests)
			if c.InView {
				if err != nil {
					t.Errorf("without the session: %v", err)
				}
				_, err = view.Commands(c.Requests)
			}
			var wrong steering.Errors
			if !errors.As(err, &wrong) || len(wrong) != 1 {
				t.Fatalf("error %v", err)
			}
			e := wrong[0]
			if e.Field != c.Field || e.Index != max(0, len(c.Requests)-1) || e.Message == "" || strings.Contains(e.Message, "--") {
				t.Errorf("field %q of %d: %q, want %q", e.Field, e.Index, e.Message, c.Field)
			}
			if _, err := view.Commands(c.Requests); (err == nil) != (len(c.Requests) == 0) {
				t.Errorf("in the session: %v", err)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	v := session.NewView()
	v.Session.Budget = session.Limits{Seconds: 300, Calls: 10}
	v.Questions = []session.Question{{ID: "q1", Text: "How  deep?"}, {ID: "q2", Text: "How wide?", Explored: true}, {ID: "q3", Text: "How old?", State: session.Dropped}}
	for _, tt := range []struct {
		name string
		r    steering.Request
		want string // operation, content and arguments
	}{
		{"a question", steering.Request{Order: ponder.AddQuestion, Content: " red\x1b[31m  and\nmore? "}, "add_question red and more? "},
		{"with a priority", steering.Request{Order: ponder.AddQuestion, Content: "Why?", Priority: 3}, `add_question Why? {"priority":3}`},
		{"of one picture", steering.Request{Order: ponder.AddQuestion, Content: "🌊"}, "add_question 🌊 "},
		{"of another script", steering.Request{Order: ponder.AddQuestion, Content: "なぜ？"}, "add_question なぜ？ "},
		{"by id", steering.Request{Order: ponder.DropQuestion, Question: "Q1"}, `drop_question  {"question":"q1"}`},
		{"by text", steering.Request{Order: "rank", Question: "how deep?", Priority: 9}, `rank_question  {"question":"q1","priority":9}`},
		{"that is explored, which the session judges", steering.Request{Order: ponder.DropQuestion, Question: "q2"}, `drop_question  {"question":"q2"}`},
		{"a fact", steering.Request{Order: ponder.Correct, Content: "It is salt."}, "correct It is salt. "},
		{"a source", steering.Request{Order: "pin", Source: " e1 "}, `pin_source  {"source":"e1"}`},
		{"another", steering.Request{Order: "ban", Source: "../"}, `ban_source  {"source":"../"}`},
		{"limits", steering.Request{Order: ponder.SetBudget, Limits: ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Money: 5}}}, `budget  {"micro_usd":5,"time_ns":60000000000}`},
		{"more", steering.Request{Order: ponder.SetBudget, More: ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 1}}}, `budget  {"calls":11,"time_ns":360000000000}`},
		{"more than is sensible", steering.Request{Order: ponder.SetBudget, More: ponder.Budget{Time: 24 * time.Hour}}, `budget  {"time_ns":86400000000000}`},
		{"now", steering.Request{Order: ponder.AnswerNow}, "answer_now  "},
		{"a persona", steering.Request{Order: ponder.SetPersona, Persona: "Ada", Content: "Dry.\nShort."}, "persona Dry.\nShort. {\"name\":\"Ada\"}"},
		{"a text", steering.Request{Order: steering.Tell, Content: "Look at the sea."}, " Look at the sea. "},
	} {
		list, err := steering.ViewOf(v, true).Commands([]steering.Request{tt.r})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if d := cmp.Diff(tt.want, string(list[0].Do)+" "+list[0].Content+" "+string(list[0].Args)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	_, err := steering.ViewOf(v, false).Commands([]steering.Request{{Order: ponder.DropQuestion, Question: "q7"}})
	if err == nil || !strings.HasSuffix(err.Error(), `no question "q7": open questions: q1`) {
		t.Errorf("an unknown question: %v", err)
	}
	v.Session.Usage.Unpriced, v.Session.Model = 1, "p/m"
	_, err = steering.ViewOf(v, false).Commands([]steering.Request{{Order: ponder.SetBudget, Limits: ponder.Budget{Cost: ponder.Cost{Money: 1}}}})
	if err == nil || err.Error() != "the limit cannot be enforced: the price of p/m is unknown" {
		t.Errorf("a cost without a price: %v", err)
	}
}
