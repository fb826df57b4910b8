// Package calibration learns what a claimed confidence is worth.
//
// A [Case] is an answer whose outcome is known: how sure its author claimed to be,
// what spoke for it ([Basis]), and whether it was right. [Fit] learns a [Map] from
// cases, and [Map.Of] says how often answers of such a claim and basis are right.
// Until there are enough cases it says nothing, rather than something wrong: see
// [Wanted].
//
// [CrossValidate] says how good such a map is, judged by cases that it was not
// learned from; [Brier], [LogLoss], [ECE] and [Reliability] are the measures.
//
// # The method
//
// It is made for few cases, 20 to some thousands: a logistic regression on ln p and
// -ln(1-p) of the claim p (beta calibration, Kull, Silva Filho and Flach 2017, which
// has Platt's scaling as a special case) and on the shares of the basis. Penalties
// pull the map towards what is claimed: slopes of 1 and weights of 0, so that with
// few cases it changes little. How strong they are is a weighted average over a
// grid, with the likelihood of each in cross-validation as its weight. The slopes
// are never negative: of two claims on the same basis, the higher is worth no less.
//
// Everything is pure and deterministic: neither the order of the cases nor the clock
// matters. Values are safe for concurrent use.
package calibration

import (
	"cmp"
	"math"
	"slices"
)

// A Case is an answer whose outcome is known.
type Case struct {
	Claimed float64 // how sure its author was, 0 to 1
	Basis   Basis
	Outcome float64 // 1: it was right; 0: it was wrong; between: it was right in part
}

// Basis is what speaks for an answer beside what its author claims. Each is a
// share from 0 to 1.
type Basis struct {
	Agreement     float64 // of independent lines of thought, those that came to the same
	Support       float64 // of thoughts, those that rest on evidence
	Contradiction float64 // of thoughts, those that others contradict
	Stability     float64 // of the confidence, over time
}

// A Map says what claims are worth. The zero Map is uncalibrated.
type Map struct {
	weights weights
	cases   int
	lacking Lacking
}

// Wanted is how many cases it takes to be calibrated. Among them must be a right
// answer and a wrong one, or parts that come to one.
const Wanted = 20

// Lacking is what is missing to be calibrated. The zero Lacking is nothing.
type Lacking struct {
	Cases int  // so many more are wanted
	Right bool // a right answer is
	Wrong bool // a wrong one is
}

// Fit learns a map from cases. Those that are none, with a claim or an outcome that
// is not a number, or an outcome that is not from 0 to 1, do not count; claims
// beyond 0 and 1 are taken as 0 and 1.
func Fit(cases []Case) Map {
	cases = sound(cases)
	m := Map{cases: len(cases), lacking: lacking(cases)}
	if m.lacking == (Lacking{}) {
		m.weights = learn(cases)
	}
	return m
}

// Of returns the share of answers of such a claim and basis that turn out to be
// right, from 0 to 1 exclusive. It reports false if the map is uncalibrated, or
// claimed is not a number. It never falls when claimed rises.
func (m Map) Of(claimed float64, basis Basis) (p float64, ok bool) {
	if !m.Calibrated() || math.IsNaN(claimed) {
		return 0, false
	}
	return m.weights.of(Case{Claimed: unit(claimed), Basis: basis.unit()}), true
}

// Calibrated reports whether the map has been learned from enough cases.
func (m Map) Calibrated() bool { return m.cases > 0 && m.lacking == (Lacking{}) }

// Cases returns how many cases the map was learned from, or would be if it were
// calibrated.
func (m Map) Cases() int { return m.cases }

// Lacking returns what is missing to be calibrated.
func (m Map) Lacking() Lacking {
	if m.cases == 0 {
		return lacking(nil)
	}
	return m.lacking
}

func lacking(cases []Case) Lacking {
	var right float64
	for _, c := range cases {
		right += c.Outcome
	}
	return Lacking{Cases: max(0, Wanted-len(cases)), Right: right < 1, Wrong: float64(len(cases))-right < 1}
}

// sound returns the cases that are some, in an order that does not depend on
// theirs.
func sound(cases []Case) []Case {
	var list []Case
	for _, c := range cases {
		if c.counts() {
			list = append(list, c.unit())
		}
	}
	slices.SortStableFunc(list, compare)
	return list
}

func (c Case) counts() bool { return !math.IsNaN(c.Claimed) && c.Outcome >= 0 && c.Outcome <= 1 }

func (c Case) unit() Case { return Case{unit(c.Claimed), c.Basis.unit(), c.Outcome} }

// compare orders cases by outcome and claim, so that each nth of them is a fair part
// of all: as many were right, and claims are as high.
func compare(a, b Case) int {
	return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Claimed, b.Claimed),
		cmp.Compare(a.Basis.Agreement, b.Basis.Agreement), cmp.Compare(a.Basis.Support, b.Basis.Support),
		cmp.Compare(a.Basis.Contradiction, b.Basis.Contradiction), cmp.Compare(a.Basis.Stability, b.Basis.Stability))
}

func (b Basis) unit() Basis {
	return Basis{unit(b.Agreement), unit(b.Support), unit(b.Contradiction), unit(b.Stability)}
}

// unit returns the number from 0 to 1 that is nearest to v; 0 if v is none.
func unit(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v, 1)
}
