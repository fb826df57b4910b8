package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/memory"
)

var search = ponder.NewTool(session.SearchTool, "Search.", json.RawMessage(`{}`), func(_ context.Context, in struct {
	Query   string
	Exclude []string
}) (string, error) {
	var hits []string
	for i := len(in.Exclude); i < min(len(in.Exclude)+3, 30); i++ {
		quote := fmt.Sprintf("Fact %d holds.", i)
		hits = append(hits, fmt.Sprintf(`{"id":"h%d","source":"/d/%d.md","quote":%q,"start":0,"end":%d,"score":0.5}`, i, i%3, quote, len(quote)))
	}
	return `{"hits":[` + strings.Join(hits, ",") + `]}`, nil
})

func newConfig(m *llmtest.Model) engine.Config {
	return engine.Config{
		Modes: []ponder.Mode{session.New()}, Tools: []ponder.Tool{search},
		Models: enginetest.Models(m, ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 5}),
	}
}

func TestEngine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		model  *llmtest.Model
		budget ponder.Budget
		o      session.Options
		reason string
	}{
		{name: "time", model: &llmtest.Model{}, budget: ponder.Budget{Time: 10 * time.Minute}, reason: "time limit reached"},
		{name: "calls", model: &llmtest.Model{}, budget: ponder.Budget{Cost: ponder.Cost{Calls: 6}}, reason: "limit of calls reached"},
		{name: "tokens", model: &llmtest.Model{}, budget: ponder.Budget{Cost: ponder.Cost{Tokens: 30000}}, reason: "limit of tokens reached"},
		{name: "money", model: &llmtest.Model{}, budget: ponder.Budget{Cost: ponder.Cost{Money: 100000}}, reason: "budget reached"},
		{name: "documents", model: &llmtest.Model{}, budget: ponder.Budget{Time: 5 * time.Minute}, o: session.Options{Docs: []string{"/d"}}, reason: "time limit reached"},
		{name: "without a model", model: &llmtest.Model{}, o: session.Options{Docs: []string{"/d"}, WithoutModel: true}, reason: "the documents have nothing more on this"},
		{name: "malformed", model: &llmtest.Model{Behaviours: []llmtest.Behaviour{llmtest.Malformed}}, budget: ponder.Budget{Time: 5 * time.Minute}, reason: "time limit reached"},
		{
			name: "prose", budget: ponder.Budget{Time: 3 * time.Minute}, reason: "loop: the last 2 calls added almost nothing new",
			model: &llmtest.Model{Answer: func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, "It is what it is."), nil }},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.model.Latency = llmtest.Delay{Mean: 5 * time.Second, Jitter: 0.6}
				mind := enginetest.Start(t, newConfig(tt.model))
				tt.o.ToTheEnd = tt.name != "prose"
				fin := mind.Ask(session.Name, "What is the sea?", tt.o, tt.budget)
				if fin.Status != ponder.Completed || fin.Answer == "" || session.WithoutFigures(fin.Reason) != tt.reason {
					t.Errorf("finished %+v", fin)
				}
				v := session.NewView()
				for _, ev := range mind.Events() {
					v = v.Apply(ev)
				}
				if v.Session.Final != fin.Answer || v.Session.Status != ponder.Completed || (len(v.Session.Confidence) == 0) != (tt.name == "prose") {
					t.Errorf("view %+v", v.Session)
				}
				if tt.budget.Calls > 0 && fin.Spent.Calls > tt.budget.Calls || tt.budget.Tokens > 0 && fin.Spent.Tokens > tt.budget.Tokens {
					t.Errorf("spent %+v", fin.Spent)
				}
			})
		})
	}
}

// An answer that waits for repair is retried at each resume, even after the time limit, without
// further thoughts.
func TestAnswerWaitsToBeMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mended := false
		m := &llmtest.Model{Latency: llmtest.Delay{Mean: 5 * time.Second}}
		plausible := llmtest.Plausible(0)
		m.Answer = func(req *llm.Request) (llm.Message, error) {
			if !mended && strings.Contains(req.Messages[0].Text(), "Write the final answer") {
				return llm.Message{}, &llm.Error{Class: llm.Auth, Model: "test/model", Message: "key rejected", Status: 401, Advice: "set TEST_KEY"}
			}
			return plausible(req)
		}
		mind := enginetest.Start(t, newConfig(m))
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: session.Name, Input: "What is the sea?", Options: json.RawMessage(`{"to_the_end":true}`), Budget: ponder.Budget{Time: time.Minute}})
		for n := range 3 {
			time.Sleep(time.Hour)
			evs := mind.Events()
			if b, ok := evs[len(evs)-1].Body.(ponder.RunPaused); !ok || b.Reason != "test/model: key rejected (401): set TEST_KEY" {
				t.Fatalf("pause %d: %s", n, enginetest.Line(evs[len(evs)-1]))
			}
			mended = n == 2
			mind.Put(enginetest.Run, "", ponder.RunResumed{})
		}
		fin := mind.Await(enginetest.Run)
		evs := mind.Events()
		if fin.Status != ponder.Completed || session.WithoutFigures(fin.Reason) != "time limit reached" || evs[len(evs)-1].Elapsed > 2*time.Minute {
			t.Errorf("after %s: finished %+v", evs[len(evs)-1].Elapsed, fin)
		}
		v := session.NewView()
		for _, ev := range evs {
			if v = v.Apply(ev); v.Session.Progress.Elapsed > 120 {
				t.Fatalf("%s at %g s", enginetest.Line(ev), v.Session.Progress.Elapsed)
			}
		}
		if last := v.Syntheses[len(v.Syntheses)-1]; last.WithoutModel || !last.Final {
			t.Errorf("the answer is %+v", last)
		}
	})
}

func TestStops(t *testing.T) {
	thoughts := func(evs []ponder.Event) (list []string) {
		for _, ev := range evs {
			switch b := ev.Body.(type) {
			case ponder.Thought:
				list = append(list, b.Content)
			case ponder.SubQuestion:
				list = append(list, b.Content)
			}
		}
		return list
	}
	model := func() *llmtest.Model {
		return &llmtest.Model{Latency: llmtest.Delay{Mean: 5 * time.Second, Jitter: 0.6}}
	}
	budget := ponder.Budget{Cost: ponder.Cost{Calls: 12}}
	o := session.Options{Docs: []string{"/d"}, SynthesisInterval: 1e6}
	synctest.Test(t, func(t *testing.T) {
		whole := enginetest.Start(t, newConfig(model()))
		want := whole.Ask(session.Name, "What is the sea?", o, budget)
		wantThoughts := thoughts(whole.Events())
		whole.Stop()

		c := newConfig(model())
		mind := enginetest.Start(t, c)
		js, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: session.Name, Input: "What is the sea?", Options: js, Budget: budget})
		for range 8 {
			time.Sleep(7 * time.Second)
			mind.Stop()
			c.Store = mind.Store
			mind = enginetest.Start(t, c)
		}
		if got := mind.Await(enginetest.Run); got.Answer != want.Answer || got.Reason != want.Reason {
			t.Errorf("finished %+v, want %+v", got, want)
		}
		if got := thoughts(mind.Events()); !slices.Equal(got, wantThoughts) {
			t.Errorf("thoughts %q, want %q", got, wantThoughts)
		}
	})
}

// A log cut after any record continues to the same events without repeating finished calls.
func TestCutAfterEveryEvent(t *testing.T) {
	model := func() *llmtest.Model {
		return &llmtest.Model{Latency: llmtest.Delay{Mean: 5 * time.Second, Jitter: 0.6}}
	}
	budget := ponder.Budget{Cost: ponder.Cost{Calls: 7}}
	o := session.Options{Docs: []string{"/d"}, SynthesisInterval: 15}
	synctest.Test(t, func(t *testing.T) {
		m := model()
		mind := enginetest.Start(t, newConfig(m))
		mind.Ask(session.Name, "What is the sea?", o, budget)
		mind.Stop()
		whole, calls := mind.Events(), m.Counts().Calls
		want := enginetest.Lines(whole)
		for n := 1; n <= len(whole); n++ {
			m, store := model(), memory.New()
			if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, mind.Copy(whole[:n])...); err != nil {
				t.Fatal(err)
			}
			c := newConfig(m)
			c.Store = store
			cut := enginetest.Start(t, c)
			cut.Await(enginetest.Run)
			cut.Stop()
			if diff := cmp.Diff(want, enginetest.Lines(cut.Events())); diff != "" {
				t.Fatalf("cut after event %d (%s): -whole +cut\n%s", n, enginetest.Line(whole[n-1]), diff)
			}
			ended := 0
			for _, ev := range whole[:n] {
				if _, ok := ev.Body.(ponder.CallFinished); ok {
					ended++
				}
			}
			if got := ended + m.Counts().Calls; got != calls {
				t.Errorf("cut after event %d: %d calls finished before or made after, want %d", n, got, calls)
			}
		}
		t.Logf("%d events, %d calls", len(whole), calls)
	})
}
