package session

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"ponder"
)

// undoable is a run with two open questions and evidence of two documents.
func undoable() *state {
	s := newState(ponder.Run{ID: testRun, Input: "What is the sea?", Options: json.RawMessage(`{"docs":["/docs"]}`), Budget: ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 9, Money: 5}}})
	s.addQuestions([]modelQuestion{{Text: "Who made the waves?", Priority: 4}, {Text: "How deep is the trench?", Priority: 7}}, false)
	s.Counts.Evidence = 2
	s.Evidence = []evidence{{N: 1, Source: "/docs/a.md", Quote: "It is salt."}, {N: 2, Source: "/docs/b.md", Quote: "It is wide."}}
	s.Notes = nil
	return s
}

func userSteer(do ponder.SteerOp, content string, args ponder.SteerArgs) ponder.Steer {
	return newSteer(do, content, args).(ponder.Steer)
}

// visible is the part of a state that commands change.
func visible(t *testing.T, s *state) string {
	t.Helper()
	type open struct {
		ID, Text string
		Priority int
		FromUser bool
	}
	var list []open
	for _, q := range s.Open {
		list = append(list, open{q.ID, q.Text, q.Priority, q.FromUser})
	}
	slices.SortFunc(list, func(a, b open) int { return int(a.ID[1]) - int(b.ID[1]) })
	var evidence []int
	for _, e := range s.Evidence {
		evidence = append(evidence, e.N)
	}
	slices.Sort(evidence)
	js, err := json.Marshal([]any{list, s.Facts, s.SourceFilter, s.BannedEvidence, evidence, s.limits(), s.Calls, s.timeLimit(), len(s.Removed)})
	if err != nil {
		t.Fatal(err)
	}
	return string(js)
}

// Each command reports the commands that revert it, and they do.
func TestUndo(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   []ponder.Steer
	}{
		{"add", []ponder.Steer{userSteer(ponder.AddQuestion, "Where does it end?", ponder.SteerArgs{Priority: 9})}},
		{"add a known question", []ponder.Steer{userSteer(ponder.AddQuestion, "Who made the waves?", ponder.SteerArgs{Priority: 9})}},
		{"drop", []ponder.Steer{userSteer(ponder.DropQuestion, "", ponder.SteerArgs{Question: "q1"})}},
		{"rank", []ponder.Steer{userSteer(ponder.RankQuestion, "", ponder.SteerArgs{Question: "q2", Priority: 1})}},
		{"correct", []ponder.Steer{userSteer(ponder.Correct, "The sea is not blue.", ponder.SteerArgs{})}},
		{"pin", []ponder.Steer{userSteer(ponder.PinSource, "", ponder.SteerArgs{Source: "/docs/a.md"})}},
		{"ban", []ponder.Steer{userSteer(ponder.BanSource, "", ponder.SteerArgs{Source: "/docs/a.md"})}},
		{"limits", []ponder.Steer{{Do: ponder.SetBudget, Args: json.RawMessage(`{"time_ns":90000000000,"micro_usd":9}`)}}},
		{"a limit that was not set", []ponder.Steer{{Do: ponder.SetBudget, Args: json.RawMessage(`{"tokens":500}`)}}},
		{"several", []ponder.Steer{
			userSteer(ponder.PinSource, "", ponder.SteerArgs{Source: "/docs/a.md"}), userSteer(ponder.BanSource, "", ponder.SteerArgs{Source: "/docs/a.md"}),
			userSteer(ponder.RankQuestion, "", ponder.SteerArgs{Question: "q1", Priority: 10}), userSteer(ponder.DropQuestion, "", ponder.SteerArgs{Question: "q1"}),
			{Do: ponder.SetBudget, Args: json.RawMessage(`{"calls":50}`)}, {Do: ponder.SetBudget, Args: json.RawMessage(`{"calls":60,"tokens":7}`)},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := undoable()
			before := visible(t, s)
			var undo []ponder.SteerStep
			for i, b := range tt.do {
				ack, ok := s.steeringRun().Apply("evt", b)
				p := ack[0].(ponder.Progress)
				if !ok || len(p.Undo) == 0 {
					t.Fatalf("command %d: %+v", i, p)
				}
				undo = append(slices.Clone(p.Undo), undo...)
			}
			if visible(t, s) == before {
				t.Fatal("the commands changed nothing")
			}
			js, err := json.Marshal(s) // a checkpoint between command and undo
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := loadState(s.run, js)
			if err != nil {
				t.Fatal(err)
			}
			s = loaded.(*state)
			for _, step := range undo {
				if ack, ok := s.steeringRun().Apply("evt", ponder.Steer{Do: step.Do, Content: step.Content, Args: step.Args, Undoes: "g"}); !ok {
					t.Errorf("%s: %+v", step.Do, ack)
				}
			}
			if after := visible(t, s); after != before {
				t.Errorf("after the undo: %s\nbefore: %s", after, before)
			}
		})
	}
	s := undoable()
	if ack, _ := s.steeringRun().Apply("evt", ponder.Steer{Do: ponder.AnswerNow}); len(ack[0].(ponder.Progress).Undo) != 0 {
		t.Errorf("an answer can be undone: %+v", ack)
	}
	s = undoable()
	before := visible(t, s)
	if ack, ok := s.steeringRun().Apply("evt", ponder.Steer{Do: ponder.Interpret, Content: "answer now"}); ok || ack != nil || visible(t, s) != before {
		t.Errorf("the record of a sentence changed the run: %+v", ack)
	}
}

// The same question can be added again after its undo.
func TestAddAgain(t *testing.T) {
	s := undoable()
	add := userSteer(ponder.AddQuestion, "Where does it end?", ponder.SteerArgs{})
	for _, b := range []ponder.Steer{add, userSteer(ponder.DropQuestion, "", ponder.SteerArgs{Question: "q3"}), add} {
		if ack, ok := s.steeringRun().Apply("evt", b); !ok {
			t.Fatalf("%s: %+v", b.Do, ack)
		}
	}
	if at := slices.IndexFunc(s.Open, func(q *question) bool { return q.ID == "q3" && q.FromUser }); at < 0 || len(s.Open) != 3 {
		t.Errorf("open: %s", visible(t, s))
	}
}

// The view shows the words of the user, their interpreter, the cost of the call and the undo.
func TestViewOfSentence(t *testing.T) {
	call := &ponder.SteerCall{Role: ponder.Cheap, Model: "p/cheap", Spent: ponder.Cost{Calls: 1, Tokens: 30, Money: 7}, Price: ponder.PriceTable}
	v := NewView()
	for i, b := range []ponder.Body{
		ponder.RunStarted{Mode: Name, Input: "Why?", Budget: ponder.Budget{Time: time.Minute}},
		ponder.Steer{Do: ponder.Interpret, Content: "nur noch 20 Aufrufe, und denk an Salz", Group: "g1", Args: json.RawMessage(`{"by":"p/cheap","meaning":"x"}`), Call: call},
		ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{"calls":20}`), Group: "g1"},
		ponder.Steer{Do: ponder.Correct, Content: "It is salt.", Group: "g1"},
		ponder.Progress{Stage: ponder.StageSteered, Ref: "evt_2", Undo: []ponder.SteerStep{{Do: ponder.SetBudget, Args: json.RawMessage(`{"unlimited":["calls"]}`)}}},
		ponder.Progress{Stage: ponder.StageSteered, Ref: "evt_3"},
		ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{"unlimited":["calls"]}`), Group: "g2", Undoes: "g1"},
		ponder.Steer{Do: ponder.Withdraw, Args: json.RawMessage(`{"question":"c1"}`), Group: "g2", Undoes: "g1"},
		ponder.Progress{Stage: ponder.StageSteered, Ref: "evt_6"},
		ponder.Progress{Stage: ponder.StageSteered, Ref: "evt_7"},
	} {
		v = v.Apply(ponder.Event{ID: "evt_" + string(rune('0'+i)), Seq: ponder.Seq(i + 1), Run: "run_1", Body: b})
		if i == 5 && (v.Session.Budget.Calls != 20 || v.Corrections[0].Withdrawn) {
			t.Errorf("before the undo: %+v, %+v", v.Session.Budget, v.Corrections)
		}
	}
	w := v.Steering[0]
	if len(v.Steering) != 4 || w.Sentence != "nur noch 20 Aufrufe, und denk an Salz" || w.By != "p/cheap" || !w.Undone || !v.Steering[1].Undone || v.Steering[2].Undone {
		t.Errorf("steering: %+v", v.Steering)
	}
	if u := v.Session.Usage; u.Calls != 1 || u.USD != ponder.Money(7).USD() || u.Models[0].Model != "p/cheap" || v.Session.Model == "p/cheap" {
		t.Errorf("usage: %+v of %s", u, v.Session.Model)
	}
	if v.Session.Budget.Calls != 0 || !v.Corrections[0].Withdrawn {
		t.Errorf("after the undo: %+v, %+v", v.Session.Budget, v.Corrections)
	}
}
