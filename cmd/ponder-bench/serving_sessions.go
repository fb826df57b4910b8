package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"ponder/client"
	"ponder/llm/llmtest"
)

// A sessionLoad is sessions of `ponder serve` with its defaults, one call after another each. The
// number of sessions grows in steps.
type sessionLoad struct {
	sessions     []int
	call         time.Duration
	warm, during time.Duration // of each step
}

// sessionScenario measures the calls of sessions as a share of the ideal, in which every session has
// always a call in flight. The CPU of the machine may allow fewer.
func sessionScenario(l sessionLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) (figures []figure, err error) {
		s, err := startServe(ctx, llmtest.SimConfig{Seed: 1, Chunks: 4, FirstToken: llmtest.Delay{Mean: l.call, Jitter: 0.2}})
		if err != nil {
			return nil, err
		}
		defer s.stop()
		running := 0
		for _, n := range l.sessions {
			if err := s.startMany(ctx, running, n); err != nil {
				return nil, err
			}
			running = n
			if err := sleepFor(ctx, l.warm); err != nil {
				return nil, err
			}
			cpu, simCPU, began := s.cpuTime(), processCPU(s.simPID), time.Now()
			first, err := s.modelStats(ctx)
			if err == nil {
				err = sleepFor(ctx, l.during)
			}
			if err != nil {
				return nil, err
			}
			last, err := s.modelStats(ctx)
			if err != nil {
				return nil, err
			}
			text, err := s.fetchText(ctx, "/metrics")
			if err != nil {
				return nil, err
			}
			took, used, simUsed := time.Since(began), s.cpuTime()-cpu, processCPU(s.simPID)-simCPU
			if open := metricValue(text, `ponder_open_runs{mode="session"}`); int(open) != n {
				return nil, fmt.Errorf("%v of %d sessions are open: the others ended", open, n)
			}
			calls := float64(last.Answers - first.Answers)
			figures = append(figures,
				figure{Name: fmt.Sprintf("calls of %d sessions, of the ideal", n), Value: 100 * calls / (float64(n) * took.Seconds() / l.call.Seconds()), Unit: "%", Goal: 95, Minimum: true},
				figure{Name: fmt.Sprintf("calls of %d sessions", n), Value: calls / took.Seconds(), Unit: "/s"},
				figure{Name: fmt.Sprintf("requests in flight with %d sessions", n), Value: float64(last.Active)},
				figure{Name: fmt.Sprintf("limit of requests with %d sessions", n), Value: metricValue(text, `ponder_server_call_limit{provider="openai"}`)},
				figure{Name: fmt.Sprintf("calls that wait for the limit with %d sessions", n), Value: metricValue(text, `ponder_server_calls{provider="openai",state="waiting"}`)},
				figure{Name: fmt.Sprintf("CPU of a call with %d sessions", n), Value: toMillis(used) / calls, Unit: "ms"},
				figure{Name: fmt.Sprintf("CPU of the server with %d sessions", n), Value: used.Seconds() / took.Seconds(), Unit: "cores"},
				figure{Name: fmt.Sprintf("CPU of the simulated model server with %d sessions", n), Value: simUsed.Seconds() / took.Seconds(), Unit: "cores"},
			)
		}
		return figures, nil
	}
}

// startMany starts sessions until there are as many as wanted.
func (s *serveProcess) startMany(ctx context.Context, have, want int) error {
	const starters = 8
	errs := make(chan error, starters)
	next := make(chan int)
	var work sync.WaitGroup
	for range starters {
		work.Go(func() {
			for i := range next {
				q := client.Question{Question: fmt.Sprintf("Why do pumps of kind %d fail in winter?", i), Minutes: 600, Synthesis: 3600, Parallel: 1, ToTheEnd: true}
				if _, err := s.Start(ctx, q); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for i := have; i < want; i++ {
		next <- i
	}
	close(next)
	work.Wait()
	close(errs)
	return <-errs
}

// modelStats returns the counts of the simulated model server.
func (s *serveProcess) modelStats(ctx context.Context) (stats llmtest.Stats, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.sim+"/sim/stats", nil)
	if err != nil {
		return stats, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return stats, err
	}
	defer resp.Body.Close()
	return stats, json.NewDecoder(resp.Body).Decode(&stats)
}

// metricValue returns the value of a series in the text of metrics, or zero.
func metricValue(text, series string) (value float64) {
	_, rest, _ := strings.Cut(text, "\n"+series+" ")
	if _, err := fmt.Sscan(rest, &value); err != nil {
		return 0
	}
	return value
}

func sleepFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
