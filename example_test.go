package ponder_test

import (
	"context"
	"fmt"
	"strings"

	"ponder"
	"ponder/engine"
	"ponder/store/memory"
)

// upper is the state of a run that answers with its input in capital letters.
type upper struct{ input string }

func (s upper) Apply(ponder.Event) ponder.State { return s }

func (s upper) Next(ponder.Moment) []ponder.Action {
	return []ponder.Action{ponder.Finish{Answer: strings.ToUpper(s.input), Reason: "nothing else to do"}}
}

// A mode is a pure function from events to actions. The engine performs the actions and
// appends their results to the log.
func Example() {
	ctx := context.Background()
	store := memory.New()
	mode := ponder.Mode{Name: "upper", Version: 1, Start: func(r ponder.Run) ponder.State { return upper{r.Input} }}
	e, err := engine.New(engine.Config{Store: store, Modes: []ponder.Mode{mode}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Open(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close(ctx)
	start := ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "upper", Input: "deep sea"}}
	if err := store.Create(ctx, ponder.Thread{ID: "thr_1", Kind: ponder.KindSession}, start); err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Work(ctx, "thr_1"); err != nil {
		fmt.Println(err)
		return
	}
	end, err := ponder.Await(ctx, store, "thr_1", "run_1")
	fmt.Println(end.Status, end.Answer, err)
	// Output: completed DEEP SEA <nil>
}

// A price in USD per million tokens gives the cost of a usage.
func ExamplePrice() {
	p := ponder.Price{Source: ponder.PriceTable, Input: 3, Output: 15}
	fmt.Println(p.Known(), ponder.Price{}.Known())
	// Output: true false
}
