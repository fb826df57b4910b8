package enginetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm/llmtest"
	"ponder/mode/session"
)

// An hour of thinking takes a moment, because a bubble of testing/synctest has a clock of
// its own.
func Example() {
	_ = func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			model := &llmtest.Model{Latency: llmtest.Delay{Mean: time.Minute}}
			free := ponder.Price{Source: ponder.PriceLocal}
			e := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{session.New()}, Models: enginetest.Models(model, free)})
			end := e.Ask(session.Name, "Why do large projects run late?", nil, ponder.Budget{Time: time.Hour})
			if end.Status != ponder.Completed {
				t.Errorf("the session is %s: %s", end.Status, end.Reason)
			}
		})
	}
}
