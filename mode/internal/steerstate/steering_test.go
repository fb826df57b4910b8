package steerstate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func TestApply(t *testing.T) {
	args := func(js string) json.RawMessage { return json.RawMessage(js) }
	for _, tt := range []struct {
		name string
		run  func(*Run)
		b    ponder.Steer
		want string
	}{
		{"no operation adds a question", nil, ponder.Steer{Content: " Who\npaid? "}, "add_question Who paid? 8"},
		{"a question", nil, ponder.Steer{Do: ponder.AddQuestion, Content: "Who?", Args: args(`{"priority":10}`)}, "add_question Who? 10"},
		{"a long question", nil, ponder.Steer{Content: strings.Repeat("a", 501)}, "add_question " + strings.Repeat("a", 497) + "… 8"},
		{"no question", nil, ponder.Steer{Content: " \n"}, "refused: no question given"},
		{"too urgent", nil, ponder.Steer{Content: "Who?", Args: args(`{"priority":11}`)}, "refused: priority 11 is out of range; use 1 to 10"},
		{"a fact too many", func(r *Run) { r.Facts = MaxFacts }, ponder.Steer{Do: ponder.Correct, Content: "So."}, "refused: the limit of 30 corrections is reached"},
		{"no fact", nil, ponder.Steer{Do: ponder.Correct}, "refused: no fact given"},
		{"a source", nil, ponder.Steer{Do: ponder.PinSource, Args: args(`{"source":" a.md"}`)}, "pin_source a.md 0"},
		{"no source", nil, ponder.Steer{Do: ponder.BanSource}, "refused: no source given"},
		{"limits", nil, ponder.Steer{Do: ponder.SetBudget, Args: args(`{"calls":7}`)}, "budget 0 7 calls"},
		{"no limits", nil, ponder.Steer{Do: ponder.SetBudget, Args: args(`{}`)}, "refused: no limit is set"},
		{"limits too late", func(r *Run) { r.Spent = true }, ponder.Steer{Do: ponder.SetBudget}, "refused: the budget is spent and the answer is being written"},
		{"while it writes", func(r *Run) { r.End = "time is spent" }, ponder.Steer{Content: "Who?"}, "refused: it is writing: time is spent"},
		{"answer now while it writes", func(r *Run) { r.End = "time is spent" }, ponder.Steer{Do: ponder.AnswerNow}, "answer_now 0"},
		{"over", func(r *Run) { r.Over = true }, ponder.Steer{Do: ponder.AnswerNow}, "refused: the run has ended"},
		{"not an object", nil, ponder.Steer{Do: ponder.DropQuestion, Args: args(`[7]`)}, "refused: invalid arguments"},
		{"only for the engine", nil, ponder.Steer{Do: ponder.Cancel}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flying, got := []string{"a", "b"}, ""
			r := Run{Name: "the run", Writing: "it is writing", HasText: func(s string) bool { return s != "" }}
			r.InFlight = func() []string { return slices.Clone(flying) }
			r.Steer = func(c Command) Result {
				words := []string{string(c.Do), c.Content, c.Target, strconv.Itoa(c.Priority)}
				if c.Limits.Budget != (ponder.Budget{}) {
					words = append(words, c.Limits.String())
				}
				got = strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
				flying = []string{"b", "c"}
				return Done("done")
			}
			if tt.run != nil {
				tt.run(&r)
			}
			ack, applied := r.Apply("evt_1", tt.b)
			if len(ack) > 0 {
				p := ack[0].(ponder.Progress)
				if p.Refused {
					got = "refused: " + p.Content
				} else if !slices.Equal(p.Cancelled, []string{"a"}) {
					t.Errorf("cancelled %v", p.Cancelled)
				}
				if p.Ref != "evt_1" || p.Refused == applied {
					t.Errorf("acknowledged by %+v, applied %v", p, applied)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A source is pinned or banned, not both; other copies of the lists stay unchanged.
func TestSourceFilter(t *testing.T) {
	var f SourceFilter
	if _, isNew := f.Pin("a"); !isNew {
		t.Error("a is not new")
	}
	before := f
	f.Ban("a")
	if d := cmp.Diff(SourceFilter{Banned: []string{"a"}}, f); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(SourceFilter{Pinned: []string{"a"}}, before); d != "" {
		t.Error(d)
	}
	if r, isNew := f.Ban("a"); isNew || r.Refused || r.Text != "a is already banned" {
		t.Errorf("again: %+v, %v", r, isNew)
	}
	for i := range maxSources - 1 {
		f.Ban(strings.Repeat("b", i+1))
	}
	if r, isNew := f.Ban("one more"); isNew || !r.Refused {
		t.Errorf("one more: %+v, %v", r, isNew)
	}
}
