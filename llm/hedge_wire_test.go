package llm_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// A slow request is hedged; the server sees the loser close at once, and both are billed.
func TestHedgeOverTheWire(t *testing.T) {
	var mu sync.Mutex
	var ended []llmtest.Record
	c := llmtest.SimConfig{
		FirstToken: llmtest.Delay{Mean: time.Second},
		Script: llmtest.Script{{
			Match: regexp.MustCompile("slow"), Times: 1, Latency: &llmtest.Delay{Mean: 40 * time.Second},
			Behaviours: []llmtest.Behaviour{llmtest.Comments},
		}},
		Record: func(r llmtest.Record) {
			if r.PromptBytes > 0 { // a model request
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, r)
			}
		},
	}
	eachProvider(t, c, func(t *testing.T, _ *llmtest.Sim, gate *llm.Gate, m llm.Model) {
		ended = nil
		ask := func(text string) *llm.Response {
			t.Helper()
			answer, err := llm.Collect(m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, text)}, MaxTokens: 50, Hedge: true}))
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		for range 20 {
			ask("What is quick?")
		}
		begun := time.Now()
		twice := ask("What is slow?")
		took := time.Since(begun)
		once := ask("What is slow?")
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(ended) != 23 {
			t.Fatalf("%d requests, want 20, two and one", len(ended))
		}
		slices.SortStableFunc(ended, func(a, b llmtest.Record) int { return a.Time.Compare(b.Time) })
		lost, won := ended[20], ended[21]
		if !lost.Cancelled || lost.Whole || !lost.Time.Equal(begun) || lost.Ended.Sub(begun) != 2*time.Second {
			t.Errorf("the first came after %v and ended after %v, cancelled %v, whole %v; want it ended when the other one begins, after 2s",
				lost.Time.Sub(begun), lost.Ended.Sub(begun), lost.Cancelled, lost.Whole)
		}
		if won.Cancelled || !won.Whole || won.Time.Sub(begun) != time.Second || took != 2*time.Second {
			t.Errorf("the second came after %v, cancelled %v, whole %v; the answer took %v", won.Time.Sub(begun), won.Cancelled, won.Whole, took)
		}
		u, v := twice.Usage, once.Usage
		if !u.Hedged || !u.Estimated || u.Output != v.Output || u.Input <= v.Input || u.Input > 3*v.Input {
			t.Errorf("used %+v, want what one uses, %+v, and what the first has read", u, v)
		}
		if v.Hedged {
			t.Errorf("used %+v by one request", v)
		}
		if load := gate.Load(); load.InFlight != 0 {
			t.Errorf("%d are in flight at the end", load.InFlight)
		}
	})
}
