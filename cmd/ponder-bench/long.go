package main

import (
	"context"
	"fmt"
	"time"
)

// longSessionScenario measures whether the calls of a long session get slower or larger. One session makes
// sequential calls; the first tenth, without the very first calls, is compared with the last.
func longSessionScenario(l load) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		r, err := l.buildRig(ctx)
		if err != nil {
			return nil, err
		}
		defer r.close()
		part := l.calls / 10
		heap := make(map[int]float64)
		r.meter.onCall = func(call int) {
			if call == part || call == l.calls-part {
				heap[call] = heapAndStacks()
			}
		}
		wait, err := l.startSessions(ctx, r)
		if err != nil {
			return nil, err
		}
		if _, err := wait(); err != nil {
			return nil, err
		}
		gaps := r.meter.gaps
		if len(gaps) < 2*part {
			return nil, fmt.Errorf("only %d calls were made", len(gaps))
		}
		early, late := quantileMillis(gaps[part/10:part], 0.5), quantileMillis(gaps[len(gaps)-part:len(gaps)-1], 0.5)
		thoughts, err := r.countThoughts(ctx)
		if err != nil {
			return nil, err
		}
		return []figure{
			{Name: "thoughts", Value: float64(thoughts)},
			{Name: "gap between calls, p50, of the last tenth over the first", Value: late / early, Goal: 1.25},
			{Name: "gap between calls, p50, of the last tenth", Value: late, Unit: "ms"},
			{Name: "memory added between them", Value: (heap[l.calls-part] - heap[part]) / 1024, Unit: "KiB", Goal: 256},
			{Name: "the longest gap", Value: quantileMillis(gaps, 1), Unit: "ms"},
		}, nil
	}
}

// countThoughts counts the thoughts of the first session.
func (r *loadRig) countThoughts(ctx context.Context) (n int, err error) {
	for ev, err := range r.store.Events(ctx, "thr_000000", 0) {
		if err != nil {
			return n, fmt.Errorf("count thoughts: %w", err)
		}
		if ev.Body.Type() == "thought" {
			n++
		}
	}
	return n, nil
}

// longLoad has more than 5,000 thoughts.
var longLoad = load{1, 2400, 2 * time.Millisecond, 0}
