package session_test

import (
	"context"
	"fmt"

	"ponder"
	"ponder/engine"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/memory"
)

// A session thinks about one question within its budget, here of ten calls.
func Example() {
	ctx := context.Background()
	store := memory.New()
	model := []ponder.Model{{Model: &llmtest.Model{}, Price: ponder.Price{Source: ponder.PriceLocal}}}
	e, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{session.New()},
		Models: map[ponder.Role][]ponder.Model{ponder.Slow: model, ponder.Frontier: model},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Open(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)
	start := ponder.RunStarted{Mode: session.Name, Input: "Why do large projects run late?", Budget: ponder.Budget{Cost: ponder.Cost{Calls: 10}}}
	if err := store.Create(ctx, ponder.Thread{ID: "thr_1", Kind: ponder.KindSession}, ponder.Event{Run: "run_1", Body: start}); err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Work(ctx, "thr_1"); err != nil {
		fmt.Println(err)
		return
	}
	end, err := ponder.Await(ctx, store, "thr_1", "run_1")
	fmt.Println(end.Status, end.Answer != "", err)
	// Output: completed true <nil>
}
