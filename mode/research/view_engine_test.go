package research

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/llm/llmtest"
)

func engineConfig(f fake) engine.Config {
	model := &llmtest.Model{Latency: llmtest.Delay{Mean: 2 * time.Second}, Answer: func(req *llm.Request) (llm.Message, error) {
		key := "write"
		switch {
		case req.Schema != nil && req.Schema.Name == planSchema.Name:
			key = planKey
		case req.Schema != nil && req.Schema.Name == reflectSchema.Name:
			key = "reflect-1"
		case req.Schema != nil:
			key = "judge-1"
		}
		b := f.answerAction(ponder.Call{Key: key, Request: *req}).(ponder.CallFinished)
		return b.Message, nil
	}}
	c := engine.Config{Modes: []ponder.Mode{New()}, Models: enginetest.Models(model, ponder.Price{})}
	for _, name := range []string{WebSearchTool, WebFetchTool, SearchTool, PersonaTool} {
		do := func(_ context.Context, in json.RawMessage) (string, error) {
			time.Sleep(time.Second)
			b := f.useTool(ponder.Do{Tool: name, Args: in}).(ponder.ToolResult)
			return b.Result, nil
		}
		c.Tools = append(c.Tools, ponder.NewTool(name, "Look.", json.RawMessage(`{}`), do))
	}
	return c
}

// The view of an engine's log has all uses of tools and counts sources as the stream does.
func TestViewOfTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := enginetest.Start(t, engineConfig(trench))
		fin := mind.Ask(Name, deepest, all, ponder.Budget{Time: 3 * time.Minute})
		if fin.Status != ponder.Completed {
			t.Fatalf("finished %+v", fin)
		}
		evs := mind.Events()
		v := viewOf(evs)
		r := v.Research
		if r.Status != ponder.Completed || r.Answer != fin.Answer || r.Elapsed <= 0 || r.Usage.Calls == 0 || r.Model == "" || r.Rounds == 0 {
			t.Errorf("head %+v", r)
		}
		calls := 0
		for _, ev := range evs {
			if _, ok := ev.Body.(ponder.ToolCall); ok {
				calls++
			}
		}
		found := 0
		for _, q := range v.Queries {
			found += q.Found
			if !q.Done || q.Took < 1 || q.Text == "" || q.Round == 0 {
				t.Errorf("query %+v", q)
			}
		}
		if len(v.Queries) != calls || calls == 0 || found != len(v.Evidence) {
			t.Errorf("%d queries of %d uses of tools found %d of %d passages", len(v.Queries), calls, found, len(v.Evidence))
		}
		if !slices.ContainsFunc(v.Evidence, func(e Evidence) bool { return e.Cited }) || len(v.Claims) == 0 {
			t.Errorf("nothing is cited: %+v", v.Claims)
		}
		list, refs := chunksOf(evs)
		sum := refs.Summary()
		if sum.Unique != v.References.Unique || sum.Execution != calls {
			t.Errorf("the stream counts %+v, the run %+v", sum, v.References)
		}
		sent := make(map[string]bool)
		for _, c := range list {
			for _, s := range c.Sources {
				if s.New == sent[s.ID] {
					t.Errorf("%s is new: %v, but was sent: %v", s.ID, s.New, sent[s.ID])
				}
				sent[s.ID] = true
			}
		}
		js, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(viewOf(mind.Events())); !cmp.Equal(js, again) {
			t.Error("folded twice it is another view")
		}
	})
}
