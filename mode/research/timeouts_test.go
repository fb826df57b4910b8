package research_test

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/research"
)

// dead never answers requests with the named schema ("answer": no schema, "": all) and passes
// others on.
type dead struct {
	llm.Model
	at string
}

func (d dead) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	name := "answer"
	if req.Schema != nil {
		name = req.Schema.Name
	}
	if d.at != "" && d.at != name {
		return d.Model.Generate(ctx, req)
	}
	return (&llmtest.Model{Behaviours: []llmtest.Behaviour{llmtest.Hang}}).Generate(ctx, req)
}

func doubtfulAnswer(req *llm.Request) string {
	switch {
	case req.Schema == nil:
		return "The sea of the north is a little deeper than it was said to be, at most [e1]."
	case req.Schema.Name == "research_reflection":
		return `{"enough":false,"why":"More.","webQueries":["depth of the sea in winter"]}`
	}
	return goodAnswer(req)
}

// If any call hangs, an answer exists 15 s after the time limit, also without a limit.
func TestModelHangs(t *testing.T) {
	for _, at := range []string{"", "research_plan", "research_reflection", "verdicts", "answer"} {
		for budget, most := range map[time.Duration]time.Duration{
			5 * time.Second: 20 * time.Second, 20 * time.Second: 35 * time.Second, time.Minute: 75 * time.Second, 3 * time.Minute: 195 * time.Second,
			24 * time.Hour: 6 * time.Minute,
		} {
			t.Run(cmp.Or(at, "all")+" "+budget.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newConfig(nil)
					m := &llmtest.Model{Latency: llmtest.Delay{Mean: 500 * time.Millisecond}, Answer: func(req *llm.Request) (llm.Message, error) {
						return llm.Say(llm.Assistant, doubtfulAnswer(req)), nil
					}}
					c.Models = enginetest.Models(dead{m, at}, ponder.Price{})
					mind := enginetest.Start(t, c)
					began := time.Now()
					fin := mind.Ask(research.Name, question, research.Options{Docs: []string{"/docs"}, Web: true}, ponder.Budget{Time: budget})
					if took := time.Since(began); fin.Status != ponder.Completed || !strings.Contains(fin.Answer, "[e") || took > most+50*time.Millisecond {
						t.Errorf("after %v: %+v", took, fin)
					}
				})
			})
		}
	}
}
