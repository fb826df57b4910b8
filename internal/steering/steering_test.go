package steering_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/steering"
	"ponder/internal/steering/steeringtest"
	"ponder/mode/session"
)

// Each wrong request is refused with its field, and no message names a flag.
func TestInvalid(t *testing.T) {
	cases, view := steeringtest.Invalid(), steeringtest.View()
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

// A request becomes the event that the modes apply.
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
	if err == nil || !strings.HasSuffix(err.Error(), `no question "q7": not explored yet are q1`) {
		t.Errorf("an unknown question: %v", err)
	}
	v.Session.Usage.Unpriced, v.Session.Model = 1, "p/m"
	_, err = steering.ViewOf(v, false).Commands([]steering.Request{{Order: ponder.SetBudget, Limits: ponder.Budget{Cost: ponder.Cost{Money: 1}}}})
	if err == nil || err.Error() != "it cannot be kept: the price of p/m is not known" {
		t.Errorf("a cost without a price: %v", err)
	}
}
