package research

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"ponder"
)

func undoable() *state {
	s := newState(ponder.Run{ID: "run_1", Input: "How deep is the sea?", Options: json.RawMessage(`{"web":true,"persona":{"name":"Ada","voice":"Dry."}}`), Budget: ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 9}}})
	s.appendQuestion("Who measured it?", 4, false)
	s.Counts.Evidence = 2
	s.Evidence = []piece{{N: 1, Source: "https://a.test/x", Quote: "It is salt.", Score: 0.4, SourceWeight: 1}, {N: 2, Source: "https://b.test/y", Quote: "It is wide.", Score: 0.3, SourceWeight: 1}}
	return s
}

// visible is the part of a state that commands change.
func visible(t *testing.T, s *state) string {
	t.Helper()
	type usable struct {
		ID    string
		Score float64
	}
	var list []usable
	for _, p := range s.usableEvidence() {
		list = append(list, usable{p.id(), p.Score})
	}
	js, err := json.Marshal([]any{s.Questions, s.Facts, s.SourceFilter, list, s.limits(), s.Calls, s.timeLimit(), s.activePersona()})
	if err != nil {
		t.Fatal(err)
	}
	return string(js)
}

// Each command reports the commands that revert it, and they do.
func TestUndo(t *testing.T) {
	args := func(a ponder.SteerArgs) json.RawMessage {
		js, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	for name, do := range map[string][]ponder.Steer{
		"add":     {{Do: ponder.AddQuestion, Content: "What lives there?"}},
		"drop":    {{Do: ponder.DropQuestion, Args: args(ponder.SteerArgs{Question: "q1"})}},
		"rank":    {{Do: ponder.RankQuestion, Args: args(ponder.SteerArgs{Question: "q1", Priority: 9})}},
		"correct": {{Do: ponder.Correct, Content: "It is 10,920 metres deep."}},
		"pin":     {{Do: ponder.PinSource, Args: args(ponder.SteerArgs{Source: "https://a.test/x"})}},
		"ban":     {{Do: ponder.BanSource, Args: args(ponder.SteerArgs{Source: "https://a.test/x"})}},
		"persona": {{Do: ponder.SetPersona, Content: "As a diver.", Args: args(ponder.SteerArgs{Name: "Jo"})}},
		"limits":  {{Do: ponder.SetBudget, Args: json.RawMessage(`{"time_ns":90000000000,"calls":20,"tokens":500}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := undoable()
			before := visible(t, s)
			var undo []ponder.SteerStep
			for _, b := range do {
				ack, ok := s.steeringRun().Apply("evt", b)
				p := ack[0].(ponder.Progress)
				if !ok || len(p.Undo) == 0 {
					t.Fatalf("%s: %+v", b.Do, p)
				}
				undo = append(slices.Clone(p.Undo), undo...)
			}
			if visible(t, s) == before {
				t.Fatal("the commands changed nothing")
			}
			for _, step := range undo {
				if ack, ok := s.steeringRun().Apply("evt", ponder.Steer{Do: step.Do, Content: step.Content, Args: step.Args}); !ok {
					t.Errorf("%s: %+v", step.Do, ack)
				}
			}
			if after := visible(t, s); after != before {
				t.Errorf("after the undo: %s\nbefore: %s", after, before)
			}
		})
	}
}
