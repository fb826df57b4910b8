package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"ponder/llm"
)

// A scenario is something to measure.
type scenario struct {
	name    string
	measure func(context.Context) ([]figure, error)
}

var scenarios = []scenario{
	{"one session, 20 ms a call", pace(load{1, 300, 20 * time.Millisecond, 0}, goals{ratio: 1.10})},
	{"1000 sessions, 1 s a call", pace(load{1000, 40, time.Second, 0.5}, goals{1.02, 0.5, 20, 0.4, 64})},
	{"one session of 5000 thoughts", long(longLoad)},
	{"10000 sessions, 20 s a call", size(load{10_000, 3, 20 * time.Second, 0.5})},
	{"worlds", worlds},
}

// measureOne measures a scenario in this process.
func measureOne(ctx context.Context, name, profile string, out io.Writer) error {
	for _, s := range scenarios {
		if s.name != name {
			continue
		}
		if profile != "" {
			f, err := os.Create(profile)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		figures, err := s.measure(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(result{s.name, figures})
	}
	return fmt.Errorf("no scenario %q", name)
}

// goals are what a pace should be at most; zero is no goal.
type goals struct {
	ratio    float64 // wall over pure model time
	p50, p99 float64 // ms between calls
	cpu      float64 // ms of a call
	memory   float64 // KiB of a session
}

// pace measures how fast sessions go from call to call.
func pace(l load, goal goals) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		bare, err := connections(ctx, l)
		if err != nil {
			return nil, err
		}
		call, err := bareCalls(ctx, l)
		if err != nil {
			return nil, err
		}
		r, err := l.build(ctx)
		if err != nil {
			return nil, err
		}
		defer r.close()
		before, spent := memory(), cpu()
		wait, err := l.start(ctx, r)
		if err != nil {
			return nil, err
		}
		select {
		case <-r.meter.peak:
		case <-time.After(time.Minute): // a session that is ahead is not in flight at every moment
		}
		grown := memory() - before
		took, err := wait()
		if err != nil {
			return nil, err
		}
		used, m := cpu()-spent, r.meter
		var wall time.Duration
		for _, t := range took {
			wall += t
		}
		n := float64(l.sessions)
		return []figure{
			{"wall over pure model time", float64(wall) / float64(m.busy), "", goal.ratio},
			{"gap between calls, p50", quantile(m.gaps, 0.50), "ms", goal.p50},
			{"gap between calls, p99", quantile(m.gaps, 0.99), "ms", goal.p99},
			{"CPU of a call, the client's included", ms(used) / float64(m.calls), "ms", goal.cpu},
			{"CPU of a bare call, without an engine", ms(call), "ms", 0},
			{"memory of a session beside its connection", (grown - bare) / n / 1024, "KiB", goal.memory},
			{"memory of a connection", bare / n / 1024, "KiB", 0},
			{"calls", float64(m.calls), "", 0},
			{"the disk alone: a durable write of 8 KiB, p50", syncTime(), "ms", 0},
		}, nil
	}
}

// connections returns the memory of as many bare calls in flight as the load
// has sessions.
func connections(ctx context.Context, l load) (float64, error) {
	l.mean, l.jitter = 5*time.Second, 0
	r, err := l.build(ctx)
	if err != nil {
		return 0, err
	}
	defer r.close()
	before := memory()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range l.sessions {
		wg.Go(func() {
			_, _ = llm.Collect(r.meter.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "?")}}))
		})
	}
	<-r.meter.peak
	grown := memory() - before
	cancel()
	wg.Wait()
	return grown, nil
}

// bareCalls returns the CPU time of a call that no engine makes: as many of them
// at a time as the load has sessions, with requests as long as a session's.
func bareCalls(ctx context.Context, l load) (time.Duration, error) {
	const each, size = 4, 4 << 10
	r, err := l.build(ctx)
	if err != nil {
		return 0, err
	}
	defer r.close()
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, strings.Repeat("a word ", size/7))}}
	errs := make([]error, l.sessions)
	before := cpu()
	var wg sync.WaitGroup
	for i := range l.sessions {
		wg.Go(func() {
			for range each {
				if _, err := llm.Collect(r.meter.Model.Generate(ctx, req)); err != nil {
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	return (cpu() - before) / time.Duration(each*l.sessions), errors.Join(errs...)
}

// size measures what many sessions take that are all in a call.
func size(l load) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		r, err := l.build(ctx)
		if err != nil {
			return nil, err
		}
		defer r.close()
		began := time.Now()
		wait, err := l.start(ctx, r)
		if err != nil {
			return nil, err
		}
		<-r.meter.peak
		allBusy, rss := time.Since(began), resident()
		if _, err := wait(); err != nil {
			return nil, err
		}
		m := r.meter
		return []figure{
			{"resident memory with all in a call", rss / (1 << 20), "MiB", 1024},
			{"resident memory at the end", resident() / (1 << 20), "MiB", 1024},
			{"until all are in a call", allBusy.Seconds(), "s", 0},
			{"gap between calls, p50", quantile(m.gaps, 0.50), "ms", 0},
			{"gap between calls, p99", quantile(m.gaps, 0.99), "ms", 0},
		}, nil
	}
}

// syncTime returns how long the disk takes for a small durable write: no gap can
// be shorter on the median.
func syncTime() float64 {
	f, err := os.CreateTemp("", "ponder-bench")
	if err != nil {
		return 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []time.Duration
	for range 100 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 8<<10)); err != nil || f.Sync() != nil {
			return 0
		}
		took = append(took, time.Since(began))
	}
	return quantile(took, 0.5)
}

// resident returns the memory of this process as the system counts it.
func resident() float64 {
	js, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var all, rss float64
	if _, err := fmt.Sscan(string(js), &all, &rss); err != nil {
		return 0
	}
	return rss * float64(os.Getpagesize())
}
