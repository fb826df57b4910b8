package interpret

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/steering"
	"ponder/llm"
	"ponder/llm/llmtest"
)

func view() steering.View {
	return steering.View{
		Questions: []steering.Question{{ID: "q1", Text: "How deep?", Open: true}},
		Sources:   []string{"e1", "harbour.md"},
		Limits:    ponder.Budget{Time: 30 * time.Minute, Cost: ponder.Cost{Calls: 40, Money: 1_000_000}},
		Used:      ponder.Budget{Time: 12 * time.Minute, Cost: ponder.Cost{Calls: 10}},
	}
}

// modelOf returns a model that gives the answers in turn, and the number of its calls.
func modelOf(answers ...string) (func() []ponder.Model, *int) {
	n := new(int)
	m := &llmtest.Model{ID: "p/cheap", Answer: func(r *llm.Request) (llm.Message, error) {
		text := answers[min(*n, len(answers)-1)]
		*n++
		if text == "" {
			return llm.Message{}, &llm.Error{Class: llm.Auth, Message: "the key is wrong"}
		}
		return llm.Say(llm.Assistant, text), nil
	}}
	price := ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 2}
	return func() []ponder.Model { return []ponder.Model{{Model: m, Price: price}} }, n
}

func TestSentence(t *testing.T) {
	for _, tt := range []struct {
		name, sentence string
		answers        []string
		meaning        string
		problem        string // part of it
		calls          int
	}{
		{"by rules", "ten more minutes", []string{"{}"}, "budget +10m0s", "", 0},
		{"by the model", "dix minutes de plus, 10 en tout", []string{`{"steps":[{"do":"budget","change":"add","amount":10,"unit":"minutes"}]}`}, "budget +10m0s", "", 1},
		{"two steps", "parle plutôt des coûts et oublie q1", []string{`{"steps":[{"do":"add_question","text":"les coûts","priority":10},{"do":"drop_question","question":"q1"}]}`},
			`add question "les coûts", priority 10; drop q1 "How deep?"`, "", 1},
		{"after an unusable answer", "parle plutôt des coûts", []string{"Sure!", `{"steps":[{"do":"add_question","text":"les coûts"}]}`}, `add question "les coûts"`, "", 2},
		{"no usable answer", "parle plutôt des coûts", []string{"Sure!"}, "", "no usable answer", 2},
		{"no command", "bonjour", []string{`{"steps":[]}`}, "", "found no command", 1},
		{"a figure that the user did not write", "prends ton temps", []string{`{"steps":[{"do":"budget","change":"add","amount":60,"unit":"minutes"}]}`}, "", "not in your sentence", 1},
		{"another unit", "encore 10 minutes", []string{`{"steps":[{"do":"budget","change":"add","amount":10,"unit":"hours"}]}`}, "", "not in your sentence", 1},
		{"a limit that ends the session", "n'arrête pas avant 5 minutes", []string{`{"steps":[{"do":"budget","change":"set","amount":5,"unit":"minutes"}]}`}, "", "would end the session", 1},
		{"an order that is not allowed", "parle plutôt des coûts", []string{`{"steps":[{"do":"answer_now"}]}`}, "", "no usable answer", 2},
		{"an unknown question", "oublie q9", []string{`{"steps":[{"do":"drop_question","question":"q9"}]}`}, "drop q9", `no question "q9"`, 1},
		{"a source from nowhere", "évite cette source", []string{`{"steps":[{"do":"ban_source","source":"/etc/passwd"}]}`}, "", "not in your sentence", 1},
		{"a fact with another number", "c'était en 1317 en fait", []string{`{"steps":[{"do":"correct","text":"It was in 1318."}]}`}, "", "number that is not", 1},
		{"a refusal of the model", "parle plutôt des coûts", []string{""}, "", "key is wrong", 1},
		{"nothing", " ?! ", []string{"{}"}, "", "write a sentence", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				models, n := modelOf(tt.answers...)
				res, err := Sentence(t.Context(), Input{Sentence: tt.sentence, View: view(), Models: models})
				if err != nil {
					t.Fatal(err)
				}
				if res.Meaning != tt.meaning || !strings.Contains(res.Problem, tt.problem) || (tt.problem == "") != (res.Problem == "") {
					t.Errorf("meaning %q, problem %q", res.Meaning, res.Problem)
				}
				if *n != tt.calls || len(res.Calls) != tt.calls {
					t.Errorf("%d calls, %d recorded, want %d", *n, len(res.Calls), tt.calls)
				}
				if (res.Problem != "") != (res.Commands == nil) {
					t.Errorf("commands %v with the problem %q", res.Commands, res.Problem)
				}
				wantBy := "p/cheap"
				if tt.calls == 0 {
					wantBy = Rules
				}
				if res.By != wantBy {
					t.Errorf("by %s", res.By)
				}
				for _, c := range res.Calls {
					if c.Error == "" && (c.Spent.Calls != 1 || c.Spent.Money == 0 || c.Role != ponder.Cheap) {
						t.Errorf("call %+v", c)
					}
				}
			})
		})
	}
}

// A call that does not fit the rest of the budget is not made.
func TestNoBudget(t *testing.T) {
	models, n := modelOf(`{"steps":[{"do":"add_question","text":"les coûts"}]}`)
	res, err := Sentence(t.Context(), Input{Sentence: "parle plutôt des coûts", View: view(), Models: models, Budget: ponder.Budget{Cost: ponder.Cost{Tokens: 1}}})
	if err != nil || res.Problem == "" || *n != 0 || len(res.Calls) != 0 {
		t.Errorf("%+v, %v, %d calls", res, err, *n)
	}
}

// A slow model does not block the user, and an interrupted user gets the error of the context.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &llmtest.Model{ID: "p/cheap", Behaviours: []llmtest.Behaviour{llmtest.Hang}}
		in := Input{Sentence: "parle plutôt des coûts", View: view(), Models: func() []ponder.Model { return []ponder.Model{{Model: m}} }}
		began := time.Now()
		res, err := Sentence(t.Context(), in)
		if err != nil || !strings.Contains(res.Problem, "did not answer") || time.Since(began) > 2*patience {
			t.Errorf("%+v, %v after %v", res, err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Sentence(ctx, in); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: %v", err)
		}
	})
}

// The log gets the sentence, its meaning, its interpreter, each call and the commands as one group.
func TestEvents(t *testing.T) {
	models, _ := modelOf("Sure!", `{"steps":[{"do":"add_question","text":"les coûts"},{"do":"drop_question","question":"q1"}]}`)
	res, err := Sentence(t.Context(), Input{Sentence: "parle plutôt des coûts", View: view(), Models: models})
	if err != nil {
		t.Fatal(err)
	}
	list := res.Events("run_1", "parle plutôt des coûts", false)
	if len(list) != 4 {
		t.Fatalf("%d events: %+v", len(list), list)
	}
	note := list[1].Body.(ponder.Steer)
	var in ponder.Interpretation
	if err := json.Unmarshal(note.Args, &in); err != nil || in.By != "p/cheap" || in.Meaning != res.Meaning || note.Content != "parle plutôt des coûts" || note.Call == nil {
		t.Errorf("note %+v of %+v", in, note)
	}
	for _, ev := range list[2:] {
		if b := ev.Body.(ponder.Steer); b.Group != note.Group || b.Do == ponder.Interpret || ev.Run != "run_1" {
			t.Errorf("command %+v", ev)
		}
	}
	if dry := res.Events("run_1", "x", true); len(dry) != 2 {
		t.Errorf("a dry run appends %d events", len(dry))
	}
}
