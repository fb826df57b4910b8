package completions_test

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"ponder/llm"
)

// A fickle model fails once and then gives another answer.
type fickle struct{ asked atomic.Int32 }

func (*fickle) Name() string { return "test/fickle" }

func (m *fickle) Generate(_ context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.asked.Add(1) == 1 {
			for _, text := range []string{" Perhaps", " it", " is"} {
				time.Sleep(time.Second)
				if !yield(llm.Delta{Text: text}, nil) {
					return
				}
			}
			yield(llm.Delta{}, &llm.Error{Class: llm.Transient, Model: m.Name(), Message: "broken"})
			return
		}
		for _, text := range []string{"So ", "it is."} {
			time.Sleep(time.Second)
			if !yield(llm.Delta{Text: text}, nil) {
				return
			}
		}
		yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, "So it is."), Finish: llm.FinishStop, Model: m.Name()}}, nil)
	}
}
