package session

import (
	"encoding/json"
	"fmt"
	"testing"

	"ponder"
)

// A user's question comes before equally urgent ones, only the user ranks it, and it is not dropped
// for models' questions.
func TestCommandRecords(t *testing.T) {
	ask := func(do ponder.SteerOp, text, id string, priority int) ponder.Steer {
		args, err := json.Marshal(ponder.SteerArgs{Question: id, Priority: priority})
		if err != nil {
			t.Fatal(err)
		}
		return ponder.Steer{Do: do, Content: text, Args: args}
	}
	raised := func(n, priority int) []modelQuestion { // by a model
		return []modelQuestion{{Text: fmt.Sprintf("Where lies place%d, by way of road%d?", n, n*n), Priority: priority}}
	}
	tests := []struct {
		name string
		do   func(*state)
		want string
	}{
		{"as urgent as others", func(s *state) {
			s.addQuestions(raised(1, 8), false)
			s.applySteer("", ask(ponder.AddQuestion, "Who made the waves?", "", 0))
		}, "q2"},
		{"less urgent than others", func(s *state) {
			s.applySteer("", ask(ponder.AddQuestion, "Who made the waves?", "", 8))
			s.addQuestions(raised(1, 9), false)
		}, "q2"},
		{"ranked down by a model", func(s *state) {
			s.applySteer("", ask(ponder.AddQuestion, "Who made the waves?", "", 8))
			s.addQuestions(raised(1, 7), false)
			s.applyRanks([]questionRank{{id: "q1", priority: 2}})
		}, "q1"},
		{"ranked by the user", func(s *state) {
			s.addQuestions(raised(1, 5), false)
			s.addQuestions(raised(2, 6), false)
			s.applySteer("", ask(ponder.RankQuestion, "", "q1", 9))
			s.applyRanks([]questionRank{{id: "q1", priority: 1}})
		}, "q1"},
		{"ranked down by the user, and asked again by a model", func(s *state) {
			s.addQuestions(raised(1, 9), false)
			s.addQuestions(raised(2, 6), false)
			s.applySteer("", ask(ponder.RankQuestion, "", "q1", 2))
			s.addQuestions(raised(1, 10), false)
		}, "q2"},
		{"asked by a model, then by the user", func(s *state) {
			s.addQuestions(raised(1, 8), false)
			s.applySteer("", ask(ponder.AddQuestion, raised(1, 0)[0].Text, "", 8))
			s.applyRanks([]questionRank{{id: "q1", priority: 1}})
			s.addQuestions(raised(2, 8), false)
		}, "q1"},
		{"among too many", func(s *state) {
			s.applySteer("", ask(ponder.AddQuestion, "Who made the waves?", "", 1))
			for n := range maxOpen {
				s.addQuestions(raised(n, 5), false)
			}
			for len(s.Open) > 1 {
				s.Focus = s.chooseFoci(1)[0]
				s.markExplored("")
			}
		}, "q1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(ponder.Run{ID: testRun, Input: "What is the sea?"})
			tt.do(s)
			if got := s.chooseFoci(1)[0].Question; got != tt.want {
				t.Errorf("next is %q, want %q", got, tt.want)
			}
		})
	}
}
