package main

import (
	"context"
	"fmt"
	"slices"
)

// Sizes of the scenario "worlds".
const (
	worldCount   = 50
	loopCount    = 10 // per kind
	loopBudget   = 40
	worldSeed    = 1000
	regretBudget = 40 // and larger budgets
)

var budgets = []int{10, 20, 40, 80}

// measureWorlds measures how well strategies spend calls on simulated worlds with known answers, compared
// with an oracle. See worlds.md.
func measureWorlds(ctx context.Context) ([]figure, error) {
	var list []*world
	for i := range worldCount {
		list = append(list, newWorld(worldSeed+uint64(i)))
	}
	figures := oracleFigures(list)
	for _, s := range strategies {
		more, err := s.measureFigures(ctx, list)
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
	}
	more, err := measureMerging(ctx, list)
	return append(figures, more...), err
}

// meanPercent returns the mean of shares with its standard error as a figure.
func meanPercent(name string, shares []float64) figure {
	m, se := meanAndError(shares)
	return figure{Name: name, Value: 100 * m, Unit: fmt.Sprintf("%% ± %.1f", 100*se)}
}

// meanCount returns the mean of numbers with its standard error as a figure.
func meanCount(name string, xs []float64, goal float64) figure {
	m, se := meanAndError(xs)
	return figure{Name: name, Value: m, Unit: fmt.Sprintf("± %.1f", se), Goal: goal}
}

func oracleFigures(list []*world) (figures []figure) {
	for _, budget := range budgets {
		var xs []float64
		for _, w := range list {
			xs = append(xs, oracleCurve(w, budget)[budget])
		}
		figures = append(figures, meanPercent(fmt.Sprintf("oracle: importance found in %d calls", budget), xs))
	}
	return figures
}

func (s strategy) measureFigures(ctx context.Context, list []*world) (figures []figure, err error) {
	for _, budget := range budgets {
		var outs []outcome
		for _, w := range list {
			o, err := playStrategy(ctx, s, w, budget)
			if err != nil {
				return nil, err
			}
			outs = append(outs, o)
		}
		figures = append(figures, s.budgetFigures(list, outs, budget)...)
	}
	loops, err := s.loopFigures(ctx)
	if err != nil {
		return nil, err
	}
	for i := range loops {
		loops[i].Name = s.name + ": " + loops[i].Name
	}
	return append(figures, loops...), nil
}

// budgetFigures returns the uses of the calls of a budget and their results.
func (s strategy) budgetFigures(list []*world, outs []outcome, budget int) (figures []figure) {
	name := func(what string) string { return fmt.Sprintf("%s: %s, %d calls", s.name, what, budget) }
	share := func(what string, f func(o outcome) float64) {
		figures = append(figures, meanPercent(name(what), mapOutcomes(outs, f)))
	}
	number := func(what string, f func(o outcome) float64) {
		figures = append(figures, meanCount(name(what), mapOutcomes(outs, f), 0))
	}
	share("importance found", func(o outcome) float64 { return o.found[budget] })
	share("importance per call made", func(o outcome) float64 { return o.found[budget] / float64(o.calls) })
	share("facts found", func(o outcome) float64 { return o.facts })
	if budget < regretBudget {
		return figures
	}
	var regrets []float64
	for i, o := range outs {
		regrets = append(regrets, o.oracleRegret(list[i]))
	}
	figures = append(figures, meanPercent(name("regret"), regrets))
	share("share of the findings in the answer", func(o outcome) float64 { return o.shown })
	number("calls made", callsMade)
	number("calls after the last new fact", wastedCalls)
	if budget == regretBudget {
		share("calls for questions", func(o outcome) float64 { return float64(o.kinds["questions"]) / float64(o.calls) })
		share("calls for syntheses", func(o outcome) float64 { return float64(o.kinds["synthesis"]) / float64(o.calls) })
		share("calls for thoughts that found nothing", func(o outcome) float64 { return float64(o.empty) / float64(o.calls) })
		share("of these, on an earlier focus", func(o outcome) float64 { return float64(o.late) / float64(max(1, o.empty)) })
	}
	return figures
}

// loopFigures measures when a strategy notices that nothing new follows.
func (s strategy) loopFigures(ctx context.Context) (figures []figure, err error) {
	for _, c := range []struct {
		name string
		make func(seed uint64) *world
		goal float64
		what func(o outcome) float64
	}{
		{"calls until a verbatim loop ends", func(seed uint64) *world { return loopWorld(seed, styleVerbatim) }, 3, wastedCalls},
		{"calls until a paraphrased loop ends", func(seed uint64) *world { return loopWorld(seed, styleReworded) }, 3, wastedCalls},
		{"calls until remarks without claims end", func(seed uint64) *world { return loopWorld(seed, styleVague) }, 0, wastedCalls},
		{"calls of a trivial question that is marked as such", func(seed uint64) *world { return trivialWorld(seed, true) }, 3, callsMade},
		{"calls of a trivial question", func(seed uint64) *world { return trivialWorld(seed, false) }, 3, callsMade},
	} {
		var xs []float64
		for i := range loopCount {
			o, err := playStrategy(ctx, s, c.make(worldSeed+uint64(i)), loopBudget)
			if err != nil {
				return nil, err
			}
			xs = append(xs, c.what(o))
		}
		figures = append(figures, meanCount(c.name, xs, c.goal))
		if c.goal > 0 && s.name == strategies[0].name {
			figures = append(figures, figure{Name: c.name + ", the worst", Value: slices.Max(xs), Goal: c.goal})
		}
	}
	return figures, nil
}

func wastedCalls(o outcome) float64 { return float64(o.waste) }

func callsMade(o outcome) float64 { return float64(o.calls) }
