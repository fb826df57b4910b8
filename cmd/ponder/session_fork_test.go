package main

import (
	"testing"

	"ponder/internal/app"

	"ponder"
	"ponder/store/memory"
)

func TestConclusion(t *testing.T) {
	call, tool := ponder.CallFinished{}, ponder.ToolResult{}
	for _, tt := range []struct {
		name   string
		events []ponder.Body // after run_started, from 2 on
		want   ponder.Seq
	}{
		{name: "nothing yet", want: 1},
		{name: "time is spent", events: []ponder.Body{call, ponder.Thought{}, ponder.BudgetSpent{What: "time"}, call, ponder.RunFinished{}}, want: 3},
		{name: "answered now", events: []ponder.Body{call, ponder.Steer{Do: ponder.AnswerNow}, ponder.RunFinished{}}, want: 2},
		{name: "cancelled", events: []ponder.Body{ponder.RunPaused{}, ponder.Steer{Do: ponder.Cancel}, ponder.RunFinished{}}, want: 2},
		{name: "steered before", events: []ponder.Body{ponder.Steer{Do: "correct"}, call, ponder.BudgetSpent{}}, want: 3},
		{name: "ended", events: []ponder.Body{call, ponder.Thought{}, tool, ponder.Synthesis{Final: true}, ponder.RunFinished{}}, want: 3},
		{name: "it failed", events: []ponder.Body{call, ponder.CallFinished{Outcome: ponder.Outcome{Error: "no"}}, ponder.RunFinished{}}, want: 2},
		{name: "what was dropped decides nothing", events: []ponder.Body{call, ponder.CallFinished{Outcome: ponder.Outcome{Dropped: true}}, ponder.RunFinished{}}, want: 1},
		{name: "it thinks", events: []ponder.Body{call, ponder.Synthesis{}}, want: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := memory.New()
			evs := []ponder.Event{{Run: "run_1", Body: ponder.RunStarted{}}}
			for _, b := range tt.events {
				evs = append(evs, ponder.Event{Run: "run_1", Body: b})
			}
			if err := store.Create(t.Context(), ponder.Thread{ID: "thr_1"}, evs...); err != nil {
				t.Fatal(err)
			}
			began, got, err := app.Conclusion(t.Context(), store, "thr_1", "run_1")
			if err != nil || began != 1 || got != tt.want {
				t.Errorf("began %d, %d, %v; want %d", began, got, err, tt.want)
			}
		})
	}
}
