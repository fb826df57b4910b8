package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"ponder/internal/fileio"
)

type scenario struct {
	name    string
	measure func(context.Context) ([]figure, error)

	// long, for scenarios that run only on request, measures for a duration.
	long func(context.Context, time.Duration) ([]figure, error)
}

var scenarios = []scenario{
	{name: "one session, 20 ms a call", measure: paceScenario(load{1, 300, 20 * time.Millisecond, 0}, paceGoals{ratio: 1.10})},
	{name: "1000 sessions, 1 s a call", measure: paceScenario(load{1000, 40, time.Second, 0.5}, paceGoals{1.02, 0.5, 20, 2.0, 64})},
	{name: "one session of 5000 thoughts", measure: longSessionScenario(longLoad)},
	{name: "a conversation of 100000 events", measure: openingScenario(100_000)},
	{name: "10000 sessions, 20 s a call", measure: memoryScenario(load{10_000, 3, 20 * time.Second, 0.5})},
	{name: "worlds", measure: measureWorlds},
	{name: "ranking of cranfield", measure: rankingScenario("cranfield", publishedScores{0.384, 0.329})},
	{name: "ranking of cisi", measure: rankingScenario("cisi", publishedScores{0.368, 0.242})},
	{name: "evidence in conversations", measure: conversationScenario("locomo-dev.json", 0.769)},
	{name: "evidence in meetings", measure: conversationScenario("qmsum-val.json", 0)},
	{name: "text of pages", measure: measureExtraction},
	{name: "claims", measure: measureClaims},
	{name: "conflicts", measure: measureConflicts},
	{name: "copies", measure: measureCopies},
	{name: "findings", measure: measureFindingHalves},
	{name: "200000 passages", measure: libraryScenario(200_000)},
	{name: "100 conversations at once", measure: talkScenario(talkLoad{100, 10, 400 * time.Millisecond, 20 * time.Millisecond, 2 * time.Second})},
	{name: "a day of the subconscious", measure: measureDay},
	{name: "research", measure: researchScenario(researchLoad{12, 3, 600 * time.Millisecond, 800 * time.Millisecond, 250 * time.Millisecond, 900 * time.Millisecond, 150 * time.Millisecond})},
	{name: "serving: turns", measure: turnScenario(turnLoad{20, 20, 20 * time.Millisecond, 2 * time.Millisecond})},
	{name: "serving: 5000 watchers", measure: watcherScenario(watchLoad{5000, 60, 300 * time.Millisecond})},
	{name: "serving: a random client", measure: randomScenario(randomLoad{clients: 12, lasts: time.Minute, warm: 10 * time.Second, seed: 1})},
	{name: "serving: an hour", long: measureServeLong},
	{name: "serving: languages", measure: languageScenario(languageLoad{talks: 16, turns: 12, streams: 4, streamTurns: 5, between: time.Millisecond})},
	{name: "serving: sessions, 1 s a call", measure: sessionScenario(sessionLoad{[]int{100, 300, 1000}, time.Second, 15 * time.Second, 20 * time.Second})},
	{name: "serving: requests", measure: requestScenario(requestLoad{16, 10 * time.Second, 50})},
}

// measureOne runs one scenario in this process. Scenarios on request run for lasts.
func measureOne(ctx context.Context, name, profile string, lasts time.Duration, out io.Writer) error {
	for _, s := range scenarios {
		if s.name != name {
			continue
		}
		if profile != "" {
			f, err := fileio.OpenState(profile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		if s.long != nil {
			s.measure = func(ctx context.Context) ([]figure, error) { return s.long(ctx, lasts) }
		}
		figures, err := s.measure(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(result{s.name, figures})
	}
	return fmt.Errorf("no scenario %q", name)
}

// A paceGoals holds maximal values of a pace; zero means none.
type paceGoals struct {
	ratio    float64 // wall time over model time
	p50, p99 float64 // ms between calls
	cpu      float64 // of a call, relative to storing one in a table
	memory   float64 // KiB per session
}

// paceScenario measures how fast sessions proceed from call to call.
func paceScenario(l load, goal paceGoals) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		bare, err := measureConnections(ctx, l)
		if err != nil {
			return nil, err
		}
		call, kept, err := bareCalls(ctx, l)
		if err != nil {
			return nil, err
		}
		r, err := l.buildRig(ctx)
		if err != nil {
			return nil, err
		}
		defer r.close()
		before, spent := heapAndStacks(), cpuTime()
		wait, err := l.startSessions(ctx, r)
		if err != nil {
			return nil, err
		}
		select {
		case <-r.meter.peakReached:
		case <-time.After(time.Minute): // a session that is ahead is not always in flight
		}
		grown := heapAndStacks() - before
		took, err := wait()
		if err != nil {
			return nil, err
		}
		used, m := cpuTime()-spent, r.meter
		var wall time.Duration
		for _, t := range took {
			wall += t
		}
		n := float64(l.sessions)
		return []figure{
			{Name: "wall over pure model time", Value: float64(wall) / float64(m.modelTime), Goal: goal.ratio},
			{Name: "gap between calls, p50", Value: quantileMillis(m.gaps, 0.50), Unit: "ms", Goal: goal.p50},
			{Name: "gap between calls, p99", Value: quantileMillis(m.gaps, 0.99), Unit: "ms", Goal: goal.p99},
			{Name: "CPU of a call over one stored in a table", Value: float64(used) / float64(m.calls) / float64(kept), Goal: goal.cpu},
			{Name: "CPU of a call, the client's included", Value: toMillis(used) / float64(m.calls), Unit: "ms"},
			{Name: "CPU of a bare call, without an engine", Value: toMillis(call), Unit: "ms"},
			{Name: "CPU of one stored in a table, with the client", Value: toMillis(kept), Unit: "ms"},
			{Name: "memory of a session, without its connection", Value: (grown - bare) / n / 1024, Unit: "KiB", Goal: goal.memory},
			{Name: "memory of a connection", Value: bare / n / 1024, Unit: "KiB"},
			{Name: "calls", Value: float64(m.calls)},
			{Name: "the disk alone: a durable write of 8 KiB, p50", Value: syncTime(), Unit: "ms"},
		}, nil
	}
}

// memoryScenario measures the memory of many sessions with calls in flight.
func memoryScenario(l load) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		r, err := l.buildRig(ctx)
		if err != nil {
			return nil, err
		}
		defer r.close()
		began := time.Now()
		wait, err := l.startSessions(ctx, r)
		if err != nil {
			return nil, err
		}
		<-r.meter.peakReached
		allBusy, rss := time.Since(began), residentBytes()
		if _, err := wait(); err != nil {
			return nil, err
		}
		m := r.meter
		return []figure{
			{Name: "resident memory with all in a call", Value: rss / (1 << 20), Unit: "MiB", Goal: 1024},
			{Name: "resident memory, at most", Value: maxResident() / (1 << 20), Unit: "MiB", Goal: 1024},
			{Name: "time until all are in a call", Value: allBusy.Seconds(), Unit: "s"},
			{Name: "gap between calls, p50", Value: quantileMillis(m.gaps, 0.50), Unit: "ms"},
			{Name: "gap between calls, p99", Value: quantileMillis(m.gaps, 0.99), Unit: "ms"},
		}, nil
	}
}

// syncTime returns the duration of a small durable write, a lower bound of the median gap.
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
	return quantileMillis(took, 0.5)
}

// residentBytes returns the resident memory of this process.
func residentBytes() float64 {
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

// maxResident returns the peak resident memory of this process.
func maxResident() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0
	}
	return kib * 1024
}
