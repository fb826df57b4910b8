package main

import (
	"context"
	"fmt"
	"math"
)

// An outcome is the result of a strategy on a world.
type outcome struct {
	found []float64 // importance found after each call, up to the budget
	facts float64   // share of the facts
	shown float64   // share of the found importance in the answer
	calls int       // including the answer
	waste int       // calls after the last useful one, without the answer
	kinds map[string]int
	empty int // calls for thoughts without findings
	late  int // of these, calls on a repeated focus
}

func playStrategy(ctx context.Context, s strategy, w *world, budget int) (outcome, error) {
	t := &thinker{world: w}
	if err := s.run(ctx, t, budget); err != nil {
		return outcome{}, fmt.Errorf("%s on world %d: %w", s.name, w.seed, err)
	}
	if len(t.calls) == 0 || len(t.calls) > budget {
		return outcome{}, fmt.Errorf("%s on world %d: %d calls, %d are allowed", s.name, w.seed, len(t.calls), budget)
	}
	return newOutcome(w, t.calls, budget), nil
}

func newOutcome(w *world, calls []callResult, budget int) outcome {
	o := outcome{found: make([]float64, budget+1), calls: len(calls), kinds: make(map[string]int)}
	known, foci, last, sum := make([]bool, len(w.facts)), make(map[int]bool), 0, 0.0
	for i, c := range calls {
		o.kinds[c.kind]++
		for _, f := range c.facts {
			if !known[f] {
				known[f], last = true, i+1
				sum += w.facts[f].weight
				o.facts += 1 / float64(len(w.facts))
			}
		}
		o.found[i+1] = sum
		if c.kind != "thoughts" {
			continue
		}
		if last <= i {
			o.empty++
			if foci[c.node] {
				o.late++
			}
		}
		foci[c.node] = true
	}
	for i := len(calls) + 1; i <= budget; i++ {
		o.found[i] = sum
	}
	o.waste = max(0, len(calls)-1-last)
	for _, f := range calls[len(calls)-1].shown {
		if known[f] {
			o.shown += w.facts[f].weight / sum
		}
	}
	return o
}

// oracleRegret returns the area between the curves of the oracle and the outcome, relative to the
// oracle's.
func (o outcome) oracleRegret(w *world) float64 {
	best, own := 0.0, 0.0
	for i, f := range oracleCurve(w, len(o.found)-1) {
		best += f
		own += o.found[i]
	}
	return 1 - own/best
}

func meanAndError(xs []float64) (m, se float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	for _, x := range xs {
		se += (x - m) * (x - m)
	}
	return m, math.Sqrt(se / float64(max(1, len(xs)-1)) / float64(len(xs)))
}

func mapOutcomes(list []outcome, f func(o outcome) float64) (xs []float64) {
	for _, o := range list {
		xs = append(xs, f(o))
	}
	return xs
}
