package research_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/racetest"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/research"
	"ponder/store/memory"
)

const (
	modelTakes  = 5 * time.Second
	searchTakes = 2 * time.Second
	memoryTakes = 700 * time.Millisecond
	pageTakes   = time.Second
)

type input struct{ Query, URL string }

func newTool(name string, takes time.Duration, do func(input) string) ponder.Tool {
	t := ponder.NewTool(name, "Look.", json.RawMessage(`{}`), func(ctx context.Context, in input) (string, error) {
		select {
		case <-time.After(takes):
			return do(in), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	t.Untrusted = name != research.SearchTool
	return t
}

func hitJSON(source, quote string) string {
	return fmt.Sprintf(`{"hits":[{"source":%q,"quote":%q,"start":0,"end":%d,"score":0.8}]}`, source, quote, len(quote))
}

func newConfig(answer func(*llm.Request) string) engine.Config {
	m := &llmtest.Model{Latency: llmtest.Delay{Mean: modelTakes}, Answer: func(req *llm.Request) (llm.Message, error) {
		return llm.Say(llm.Assistant, answer(req)), nil
	}}
	return engine.Config{
		Modes: []ponder.Mode{research.New()}, Models: enginetest.Models(m, ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 5}),
		Tools: []ponder.Tool{
			newTool(research.SearchTool, memoryTakes, func(in input) string { return hitJSON("/docs/a.md", "The notes say that the sea is deep.") }),
			newTool(research.WebSearchTool, searchTakes, func(in input) string {
				n := len(in.Query) % 5
				return fmt.Sprintf(`{"results":[{"url":"https://a.test/%d","title":"A","snippet":"The sea is %d metres deep.","score":0.7}]}`, n, 4000+n)
			}),
			newTool(research.WebFetchTool, pageTakes, func(in input) string { return hitJSON(in.URL, "What "+in.URL+" says of the sea is long.") }),
		},
	}
}

func goodAnswer(req *llm.Request) string {
	switch {
	case req.Schema == nil:
		return "The sea is 4,001 metres deep [e2]."
	case req.Schema.Name == "research_plan":
		return `{"plan":["Find it."],"importantTerms":[],"webQueries":["depth of the sea today"],"memoryQueries":["sea depth"]}`
	case req.Schema.Name == "verdicts":
		return `{"verdicts":[]}`
	}
	return `{"enough":true,"why":"It is there."}`
}

const question = "How deep is the sea on average, and why do sources differ?"

// The critical path is plan, search, page and answer; early results appear at once.
func TestCriticalPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := enginetest.Start(t, newConfig(goodAnswer))
		began := time.Now()
		fin := mind.Ask(research.Name, question, research.Options{Docs: []string{"/docs"}, Web: true, MaxRounds: 1}, ponder.Budget{})
		took := time.Since(began)
		if fin.Status != ponder.Completed || !strings.Contains(fin.Answer, "4,001") {
			t.Fatalf("finished %+v", fin)
		}
		if most := (modelTakes + searchTakes + pageTakes + modelTakes) * 103 / 100; took > most {
			t.Errorf("it took %v, more than %v", took, most)
		}
		var result time.Duration
		for _, ev := range mind.Events() {
			switch b := ev.Body.(type) {
			case ponder.ToolResult:
				result = ev.Elapsed
			case ponder.Evidence:
				if ev.Elapsed != result || result > memoryTakes+30*time.Millisecond {
					t.Errorf("%s came at %v, its result at %v", b.ID, ev.Elapsed, result)
				}
				return
			}
		}
	})
}

// If a process dies at any time, another continues: the log stays, answered calls are not repeated,
// and there is an answer.
func TestProcessesEnd(t *testing.T) {
	for ms := 300; ms < 14000; ms += 900 * racetest.Stride(4) {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			c := newConfig(goodAnswer)
			c.Store = store
			mind := enginetest.Start(t, c)
			mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: research.Name, Input: question, Options: json.RawMessage(`{"docs":["/docs"],"web":true}`)})
			time.Sleep(time.Duration(ms) * time.Millisecond)
			mind.Stop()
			before := mind.Events()
			mind = enginetest.Start(t, c)
			fin := mind.Await(enginetest.Run)
			if fin.Status != ponder.Completed || fin.Answer == "" {
				t.Errorf("after %d ms: %+v", ms, fin)
			}
			after := mind.Events()
			if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
				t.Errorf("after %d ms the log has changed:\n%s", ms, diff)
			}
			finals := 0
			for _, ev := range after {
				if b, ok := ev.Body.(ponder.Synthesis); ok && b.Final {
					finals++
				}
			}
			if finals != 1 {
				t.Errorf("after %d ms: %d answers", ms, finals)
			}
		})
	}
}

// An unreadable answer is retried once, across processes.
func TestProcessesEndWhereItAsksAgain(t *testing.T) {
	for ms := 300; ms < 38000; ms += 1100 * racetest.Stride(4) {
		synctest.Test(t, func(t *testing.T) {
			c := newConfig(func(req *llm.Request) string {
				if req.Schema != nil && len(req.Messages) == 1 {
					return "I would look at some books."
				}
				return doubtfulAnswer(req)
			})
			c.Store = memory.New()
			mind := enginetest.Start(t, c)
			mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: research.Name, Input: question, Options: json.RawMessage(`{"docs":["/docs"],"web":true,"maxRounds":2}`)})
			time.Sleep(time.Duration(ms) * time.Millisecond)
			mind.Stop()
			mind = enginetest.Start(t, c)
			if fin := mind.Await(enginetest.Run); fin.Status != ponder.Completed || fin.Answer == "" {
				t.Errorf("after %d ms: %+v", ms, fin)
			}
			answers := make(map[string]int)
			for _, ev := range mind.Events() {
				if b, ok := ev.Body.(ponder.CallFinished); ok && b.Error == "" {
					key, _, _ := strings.Cut(ev.Cause, "#")
					answers[key]++
				}
			}
			want := map[string]int{"planned": 1, "planned~2": 1, "reflect-1": 1, "reflect-1~2": 1, "write-1": 1, "judge-1": 1, "judge-1~2": 1}
			if diff := cmp.Diff(want, answers); diff != "" {
				t.Errorf("after %d ms (-want +answered):\n%s", ms, diff)
			}
		})
	}
}

func TestWebHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConfig(goodAnswer)
		c.Tools[1] = newTool(research.WebSearchTool, 24*time.Hour, func(input) string { return "{}" })
		mind := enginetest.Start(t, c)
		began := time.Now()
		fin := mind.Ask(research.Name, question, research.Options{Docs: []string{"/docs"}, Web: true}, ponder.Budget{Time: 3 * time.Minute})
		if took := time.Since(began); fin.Status != ponder.Completed || took > time.Minute {
			t.Errorf("after %v: %+v", took, fin)
		}
	})
}

func TestBudgets(t *testing.T) {
	for name, b := range map[string]ponder.Budget{
		"one call":  {Cost: ponder.Cost{Calls: 1}},
		"two calls": {Cost: ponder.Cost{Calls: 2}},
		"tokens":    {Cost: ponder.Cost{Tokens: 12000}},
		"money":     {Cost: ponder.Cost{Money: 40000}},
		"time":      {Time: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mind := enginetest.Start(t, newConfig(goodAnswer))
				fin := mind.Ask(research.Name, question, research.Options{Docs: []string{"/docs"}, Web: true}, b)
				if fin.Status != ponder.Completed || fin.Answer == "" || b.Calls > 0 && fin.Spent.Calls > b.Calls {
					t.Errorf("finished %+v", fin)
				}
				t.Log(fin.Reason, fin.Spent)
			})
		})
	}
}
