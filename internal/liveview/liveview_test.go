package liveview

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/tui"
	"ponder/mode/session"
)

func TestNewFrame(t *testing.T) {
	at := time.Unix(0, 0)
	events := []ponder.Event{
		{Body: ponder.RunStarted{Mode: session.Name, Input: "Why?", Budget: ponder.Budget{Time: 5 * time.Minute, Cost: ponder.Cost{Calls: 4, Tokens: 60_000}}, Options: json.RawMessage(`{"parallel":2}`)}},
		{Body: ponder.SubQuestion{ID: "q1", Content: "Who?", Priority: 5}},
		{Body: ponder.SubQuestion{ID: "q2", Parent: "q1", Content: "When?", Priority: 9}},
		{Body: ponder.SubQuestion{ID: "q3", Content: "What?", Priority: 2}},
		{Body: ponder.QuestionUpdated{ID: "q3", Dropped: true}},
		{Body: ponder.Progress{Stage: "focus", Iteration: 1, Content: "Who?", Ref: "q1"}},
		{Body: ponder.CallFinished{Model: "sim/m", Spent: ponder.Cost{Calls: 1, Tokens: 12_345, Money: 20_000}, Price: ponder.PriceTable}},
		{Body: ponder.Synthesis{Content: "So.", Confidence: 0.5}},
		{Body: ponder.QuestionUpdated{ID: "q1", Explored: true}},
		{Body: ponder.Progress{Stage: "focus", Iteration: 2, Content: "When?", Ref: "q2"}},
		{Body: ponder.Synthesis{Content: "So, then.", Confidence: 0.7, Trend: "converging"}},
	}
	v := session.NewView()
	for i, ev := range events {
		ev.Seq, ev.Run, ev.Thread, ev.Time = ponder.Seq(i+1), "run_1", "thr_1", at
		v = v.Apply(ev)
	}
	f := NewFrame(v, nil, "thinking")
	want := tui.Frame{
		Title: "Why?", State: "thinking", Share: 0.25, Budget: "1 of 4 calls", Left: "3 left", Foci: []string{"q2 When?"},
		Counts: []string{"0 thoughts", "1 of 3 questions explored", "2 syntheses"},
		Spent:  []string{"0:00 of 5:00", "0 of 60k tokens", "$0.02"},
		Chart:  tui.Chart{Label: "confidence", Values: []float64{0.5, 0.7}, Note: "0.70 (uncalibrated), converging"},
		Tree: tui.Tree{Label: "questions", Branches: []tui.Branch{
			{ID: "q1", Mark: "p5", Text: "Who?", State: tui.Done}, {ID: "q2", Parent: "q1", Mark: "p9", Text: "When?", State: tui.Active, Weight: 9},
			{ID: "q3", Mark: "p2", Text: "What?", State: tui.Dropped, Weight: 2},
		}},
	}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
}

func TestNewItem(t *testing.T) {
	for _, tt := range []struct {
		body ponder.Body
		want string
	}{
		{ponder.Thought{Kind: "insight", Confidence: 0.7, Content: "So."}, "insight 0.70 So."},
		{ponder.Thought{Kind: "insight", Confidence: 0.7, Content: "So.", Against: []string{"c1"}}, "insight 0.70 So. (contradicts c1)"},
		{ponder.Thought{Kind: "insight", Confidence: 0.5, Assumed: true, Content: "So."}, "insight  So."},
		{ponder.SubQuestion{ID: "q3", Priority: 9, Content: "Who?"}, "question p9 q3 Who?"},
		{ponder.Progress{Stage: ponder.StageSteered, Content: "question q7 added", Cancelled: []string{"a", "b"}}, "steered  question q7 added; 2 calls in flight cancelled"},
		{ponder.Progress{Stage: ponder.StageSteered, Content: "there is no question q99", Refused: true}, "refused  there is no question q99"},
		{ponder.Steer{Do: ponder.AddQuestion, Content: "Who?", Args: json.RawMessage(`{"priority":9}`)}, "steer  add question Who?, priority 9"},
		{ponder.Steer{Do: ponder.AddQuestion, Content: "Who?"}, "steer  add question Who?"},
		{ponder.Steer{Do: ponder.RankQuestion, Args: json.RawMessage(`{"question":"q3","priority":2}`)}, "steer  rank question q3, priority 2"},
		{ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{"time_ns":1800000000000,"calls":500,"tokens":50000,"micro_usd":250000}`)},
			"steer  budget: 30m0s, 500 calls, 50,000 tokens, $0.25"},
		{ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{"calls":"many"}`)}, "steer  budget"},
		{ponder.Steer{Do: ponder.AnswerNow}, "steer  answer now"},
		{ponder.Evidence{ID: "e1", Source: "thread:thr_1", Title: "Why? (confidence 0.70)"}, "earlier e1 thr_1 concluded on: Why? (confidence 0.70)"},
		{ponder.Evidence{ID: "e1", Source: "/docs/a.md", Title: "A"}, ""},
		{ponder.Progress{Stage: "merged", Content: "said again: so"}, "again  said again: so"},
		{ponder.Synthesis{Final: true}, ""},
		{ponder.Progress{Stage: "else"}, ""},
		{ponder.CallStarted{}, ""},
	} {
		it, ok := NewItem(ponder.Event{Body: tt.body}, session.NewView(), nil)
		got := ""
		if ok {
			got = it.Kind + " " + it.Mark + " " + it.Text
		}
		if got != tt.want {
			t.Errorf("%T: %q, want %q", tt.body, got, tt.want)
		}
	}
	down := ponder.CallFinished{Outcome: ponder.Outcome{Error: "p/m: overloaded", RetryAt: time.Unix(30, 0)}}
	for at, want := range map[int64]string{0: "p/m: overloaded; retrying in 30s, but the time limit ends in 20s", 20: "p/m: overloaded; retrying in 10s", 29: ""} {
		v := session.NewView()
		v.Session.Budget.Seconds, v.Session.Progress.Elapsed = 60, 40
		it, ok := NewItem(ponder.Event{Internal: true, Time: time.Unix(at, 0), Body: down}, v, nil)
		if ok != (want != "") || ok && it.Text != want {
			t.Errorf("%d s before: %q", 30-at, it.Text)
		}
	}
	if _, ok := NewItem(ponder.Event{Internal: true, Body: ponder.Thought{Content: "secret"}}, session.NewView(), nil); ok {
		t.Error("what is internal is shown")
	}
}
