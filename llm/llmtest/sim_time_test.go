package llmtest_test

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/llm/llmtest"
)

func TestSimLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := llmtest.SimConfig{
			Chunks: 4, FirstToken: llmtest.Delay{Mean: 3 * time.Second}, Token: llmtest.Delay{Mean: 250 * time.Millisecond},
		}
		client := llmtest.Pipe(t, llmtest.NewSim(config))
		for name, c := range newCalls(story, true) {
			start := time.Now()
			a := c.send(t, client, "http://sim")
			if took := time.Since(start); a.err != nil || took != 4*time.Second {
				t.Errorf("%s took %v, want 3s and 4 times 250ms", name, took)
			}
		}
		start := time.Now()
		newCalls(story, false)["openai"].send(t, client, "http://sim")
		if took := time.Since(start); took != 4*time.Second {
			t.Errorf("a whole answer took %v, want 4s", took)
		}
	})
}

func TestSimScriptLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := llmtest.Pipe(t, llmtest.NewSim(llmtest.SimConfig{
			FirstToken: llmtest.Delay{Mean: time.Second},
			Script:     llmtest.Script{{Reply: []byte(`"So."`), Latency: &llmtest.Delay{Mean: 7 * time.Second}}},
		}))
		for _, streamed := range []bool{true, false} {
			start := time.Now()
			newCalls(story, streamed)["openai"].send(t, client, "http://sim")
			if took := time.Since(start); took != 7*time.Second {
				t.Errorf("streamed %v: it took %v, want 7s", streamed, took)
			}
		}
	})
}

func TestSimJitter(t *testing.T) {
	for name, delay := range map[string]llmtest.Delay{
		"even":      {Mean: time.Second, Jitter: 0.5},
		"lognormal": {Mean: time.Second, Jitter: 0.6, Lognormal: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := llmtest.Pipe(t, llmtest.NewSim(llmtest.SimConfig{FirstToken: delay}))
				var all []time.Duration
				var sum time.Duration
				for i := range 400 {
					start := time.Now()
					newCalls(strings.Repeat("why? ", i+1), true)["openai"].send(t, client, "http://sim")
					all = append(all, time.Since(start))
					sum += all[i]
				}
				slices.Sort(all)
				mean := sum / 400
				if mean < 900*time.Millisecond || mean > 1100*time.Millisecond {
					t.Errorf("mean is %v, want about a second", mean)
				}
				switch {
				case delay.Lognormal && all[399] < 2500*time.Millisecond:
					t.Errorf("the longest of 400 is %v, want a long tail", all[399])
				case !delay.Lognormal && (all[0] < 500*time.Millisecond || all[399] > 1500*time.Millisecond || all[0] > 550*time.Millisecond):
					t.Errorf("times are from %v to %v, want 0.5s to 1.5s", all[0], all[399])
				}
			})
		})
	}
}

func TestSimLimitsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := llmtest.Pipe(t, llmtest.NewSim(llmtest.SimConfig{PerMinute: 60, Burst: 3}))
		ask := func(name string) answer { return newCalls(story, true)[name].send(t, client, "http://sim") }
		for i := range 3 {
			if a := ask("openai"); a.status != http.StatusOK || a.header.Get("x-ratelimit-remaining-requests") != []string{"2", "1", "0"}[i] {
				t.Errorf("request %d: status %d, headers %v", i, a.status, a.header)
			}
		}
		a := ask("openai")
		if a.status != 429 || a.header.Get("Retry-After") != "1" || a.header.Get("Retry-After-Ms") != "1000" || !strings.Contains(a.body, "try again in 1s") {
			t.Errorf("status %d, headers %v, %s", a.status, a.header, a.body)
		}
		if a := ask("anthropic"); a.status != 429 || a.header.Get("Retry-After") != "1" || a.header.Get("anthropic-ratelimit-requests-remaining") != "0" {
			t.Errorf("status %d, headers %v", a.status, a.header)
		}
		if a := ask("gemini"); a.status != 429 || !strings.Contains(a.body, `"retryDelay":"1s"`) || a.header.Get("Retry-After") != "" {
			t.Errorf("status %d, headers %v, %s", a.status, a.header, a.body)
		}
		time.Sleep(time.Second) // virtual
		if a := ask("openai"); a.status != http.StatusOK {
			t.Errorf("status %d after the time it said", a.status)
		}
		if a := ask("openai"); a.status != 429 {
			t.Errorf("status %d for a second request in that second", a.status)
		}
	})
}

func TestSimLimitsParallelRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := llmtest.Pipe(t, llmtest.NewSim(llmtest.SimConfig{Parallel: 2, FirstToken: llmtest.Delay{Mean: time.Second}}))
		statuses := make(chan int, 5)
		for range cap(statuses) {
			go func() { statuses <- newCalls(story, true)["openai"].send(t, client, "http://sim").status }()
		}
		count := map[int]int{}
		for range cap(statuses) {
			count[<-statuses]++
		}
		if count[200] != 2 || count[429] != 3 {
			t.Errorf("statuses are %v, want 2 of 200 and 3 of 429", count)
		}
	})
}

func TestRetryForms(t *testing.T) {
	tests := []struct {
		form   llmtest.RetryForm
		header string
		want   string
	}{
		{llmtest.RetrySeconds, "Retry-After", "3"}, {llmtest.RetryFraction, "Retry-After", "2.5"},
		{llmtest.RetryMillis, "Retry-After-Ms", "2500"}, {llmtest.RetryNever, "X-Should-Retry", "false"},
		{llmtest.RetryDate, "Retry-After", "GMT"}, {llmtest.RetryNone, "Retry-After", ""},
	}
	for _, test := range tests {
		t.Run(string(test.form), func(t *testing.T) {
			config := newBehaviourConfig(llmtest.RateLimit)
			config.RetryForm, config.RetryAfter = test.form, llmtest.Delay{Mean: 2500 * time.Millisecond}
			a := newCalls(story, true)["anthropic"].sendTo(t, config)
			if got := a.header.Get(test.header); a.status != 429 || got != test.want && !strings.HasSuffix(got, "GMT") {
				t.Errorf("status %d, %s is %q, want %q", a.status, test.header, got, test.want)
			}
		})
	}
}

// Disconnects are noticed at once, before and during an answer.
func TestSimNoticesCancelling(t *testing.T) {
	for _, b := range []llmtest.Behaviour{llmtest.Hang, llmtest.Stall, llmtest.Endless} {
		t.Run(string(b), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				records := make(chan llmtest.Record, 1)
				config := newBehaviourConfig(b)
				config.Record = func(r llmtest.Record) { records <- r }
				sim := llmtest.NewSim(config)
				client := llmtest.Pipe(t, sim)
				ctx, cancel := context.WithCancel(t.Context())
				c := newCalls(story, true)["openai"]
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sim"+c.path, strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					time.Sleep(10 * time.Second) // virtual
					cancel()
				}()
				if resp, err := client.Do(req); err == nil {
					for in := bufio.NewScanner(resp.Body); in.Scan(); {
					}
					resp.Body.Close()
				}
				r := <-records
				if took := r.Ended.Sub(r.Time); !r.Cancelled || r.Whole || took < 10*time.Second || took > 10100*time.Millisecond {
					t.Errorf("after %v the record is %+v", took, r)
				}
				if st := sim.Stats(); st.Cancelled != 1 || st.Active != 0 {
					t.Errorf("stats are %+v", st)
				}
			})
		})
	}
}
