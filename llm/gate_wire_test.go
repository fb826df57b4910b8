package llm_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/gemini"
	"ponder/llm/llmtest"
	"ponder/llm/ollama"
	"ponder/llm/openai"
)

// eachProvider runs a test in a bubble with the simulator behind each adapter.
func eachProvider(t *testing.T, c llmtest.SimConfig, test func(*testing.T, *llmtest.Sim, *llm.Gate, llm.Model)) {
	for name, dial := range map[string]func(*http.Client) llm.Provider{
		"openai": func(c *http.Client) llm.Provider { return openai.New(openai.Config{BaseURL: "http://sim", HTTP: c}) },
		"anthropic": func(c *http.Client) llm.Provider {
			return anthropic.New(anthropic.Config{BaseURL: "http://sim", HTTP: c})
		},
		"gemini": func(c *http.Client) llm.Provider {
			return gemini.New(gemini.Config{BaseURL: "http://sim/v1beta", HTTP: c})
		},
		"ollama": func(c *http.Client) llm.Provider { return ollama.New(ollama.Config{BaseURL: "http://sim", HTTP: c}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, gate := llmtest.NewSim(c), llm.NewGate(llm.GateConfig{})
				client := llmtest.Pipe(t, sim)
				test(t, sim, gate, gate.Provider(dial(client)).Model("m"))
				client.CloseIdleConnections()
			})
		})
	}
}

// askAll sends requests at once and returns how many failed.
func askAll(t *testing.T, m llm.Model, n int, text string) int {
	var failed atomic.Int32
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, fmt.Sprintf("%s %d?", text, i))}, MaxTokens: 50}
			if _, err := llm.Collect(m.Generate(t.Context(), req)); err != nil {
				failed.Add(1)
			}
		})
	}
	wg.Wait()
	return int(failed.Load())
}

// Wrong-key answers to some of many concurrent requests fail only those requests.
func TestRefusalsOverTheWire(t *testing.T) {
	for seed, b := range []llmtest.Behaviour{llmtest.WrongKey, llmtest.WrongKey, llmtest.NoCredit} {
		c := llmtest.SimConfig{Seed: uint64(seed), FirstToken: llmtest.Delay{Mean: time.Second, Jitter: 0.5}, Behaviours: map[llmtest.Behaviour]float64{b: 0.02}}
		eachProvider(t, c, func(t *testing.T, sim *llmtest.Sim, _ *llm.Gate, m llm.Model) {
			failed := askAll(t, m, 60, "What is number")
			if refused := sim.Stats().Behaviours[b]; failed > refused || refused == 0 {
				t.Errorf("%d of 60 failed, and %d were refused", failed, refused)
			}
			sim.Configure(llmtest.SimConfig{})
			time.Sleep(10 * time.Minute)
			if failed := askAll(t, m, 10, "What is"); failed > 0 {
				t.Errorf("%d failed after ten minutes", failed)
			}
		})
	}
}

// A key that is refused for an hour costs few requests, and works within five minutes after
// its repair.
func TestRepairOverTheWire(t *testing.T) {
	c := llmtest.SimConfig{FirstToken: llmtest.Delay{Mean: 100 * time.Millisecond}, Behaviours: map[llmtest.Behaviour]float64{llmtest.WrongKey: 1}}
	eachProvider(t, c, func(t *testing.T, sim *llmtest.Sim, gate *llm.Gate, m llm.Model) {
		for range 60 {
			if failed := askAll(t, m, 10, "What is number"); failed != 10 {
				t.Fatalf("%d of 10 failed", failed)
			}
			time.Sleep(time.Minute)
		}
		if n := sim.Stats().Requests; n < 12 || n > 40 {
			t.Errorf("%d requests in an hour", n)
		}
		if faults := gate.Faults(); len(faults) != 1 || faults[0].Class != llm.Auth || faults[0].Status == 0 {
			t.Errorf("faults: %+v", faults)
		}
		sim.Configure(llmtest.SimConfig{})
		time.Sleep(5 * time.Minute)
		if failed := askAll(t, m, 1, "What is"); failed != 0 {
			t.Error("the model is still refused")
		}
		if failed := askAll(t, m, 60, "What is"); failed != 0 || len(gate.Faults()) > 0 {
			t.Errorf("%d of 60 failed", failed)
		}
	})
}
