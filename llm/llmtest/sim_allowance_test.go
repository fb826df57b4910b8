package llmtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/llmtest"
	"ponder/llm/openai"
)

// A limitHider transport hides limits, except refusals.
type limitHider struct{ http.RoundTripper }

func (d limitHider) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(req)
	if err == nil {
		for name := range resp.Header {
			if strings.Contains(name, "Ratelimit") {
				resp.Header.Del(name)
			}
		}
	}
	return resp, err
}

// runCrowd sends 150 requests through a gate, 8 at a time until each succeeds, against a
// limit of 60 a minute.
func runCrowd(t *testing.T, burst int, seesLimits bool, provider func(*http.Client) llm.Provider) (refused int, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		client := llmtest.Pipe(t, llmtest.NewSim(llmtest.SimConfig{
			PerMinute: 60, Burst: burst, FirstToken: llmtest.Delay{Mean: 500 * time.Millisecond}, Chunks: 1,
			Record: func(r llmtest.Record) {
				if r.Status == http.StatusTooManyRequests {
					n.Add(1)
				}
			},
		}))
		if !seesLimits {
			client.Transport = limitHider{client.Transport}
		}
		m := llm.NewGate(llm.GateConfig{}).Provider(provider(client)).Model("m")
		start := time.Now()
		var left atomic.Int32
		left.Store(150)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					for {
						_, err := llm.Collect(m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "Say so.")}}))
						if err == nil {
							break
						}
						if llm.ClassOf(err) != llm.RateLimited {
							t.Error(err)
							return
						}
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		}
		wg.Wait()
		took, refused = time.Since(start), int(n.Load())
		client.CloseIdleConnections()
	})
	return refused, took
}

// Visible limits avoid most refusals at hardly any cost.
func TestGateHearsAllowance(t *testing.T) {
	for name, provider := range map[string]func(*http.Client) llm.Provider{
		"openai": func(c *http.Client) llm.Provider {
			return openai.New(openai.Config{BaseURL: "http://sim/v1", HTTP: c})
		},
		"responses": func(c *http.Client) llm.Provider {
			return openai.New(openai.Config{BaseURL: "http://sim/v1", HTTP: c, Responses: true})
		},
		"anthropic": func(c *http.Client) llm.Provider {
			return anthropic.New(anthropic.Config{BaseURL: "http://sim", HTTP: c})
		},
	} {
		for _, burst := range []int{0, 10} { // with 10 it enforces another limit than it reports
			t.Run(fmt.Sprint(name, " ", burst), func(t *testing.T) {
				refused, took := runCrowd(t, burst, true, provider)
				without, took2 := runCrowd(t, burst, false, provider)
				t.Logf("refused %d in %v, without hearing %d in %v", refused, took, without, took2)
				if refused*5 > without || took > took2*11/10 {
					t.Errorf("refused %d in %v, without hearing %d in %v", refused, took, without, took2)
				}
			})
		}
	}
}
