// Package calibration estimates how often answers with a claimed confidence are right.
//
// A [Case] is an answer with a known outcome: the claimed confidence, supporting figures ([Basis])
// and whether it was right. [Fit] learns a [Map] from cases. [Map.Estimate] returns the share of right
// answers for a claim and basis. With too few cases it returns nothing, see [MinCases].
//
// [CrossValidate] evaluates a map on cases that it was not fitted on, with the measures [Brier],
// [LogLoss], [ECE] and [Reliability].
//
// # Method
//
// The method suits 20 to some thousand cases. It is a logistic regression on ln p and -ln(1-p) of
// the claim p (beta calibration, Kull, Silva Filho and Flach 2017, which includes Platt scaling)
// and on the basis. Penalties pull the slopes to 1 and the weights to 0, so that few cases change
// little. The result averages over a grid of penalties, weighted by their likelihood in
// cross-validation. Slopes are never negative: with equal basis, a higher claim is never worth
// less.
//
// All functions are pure and deterministic and ignore the order of cases. Values are safe for
// concurrent use.
package calibration

import (
	"cmp"
	"math"
	"slices"
)

// A Case is an answer with a known outcome.
type Case struct {
	Claimed float64 // claimed confidence, 0 to 1
	Basis   Basis
	Outcome float64 // 1 right, 0 wrong, between: partly right
}

// A Basis holds figures from 0 to 1 that support an answer besides the claim.
type Basis struct {
	Agreement     float64 // share of independent lines of thought with the same result
	Support       float64 // share of thoughts based on evidence
	Contradiction float64 // share of thoughts that others contradict
	Stability     float64 // stability of the confidence over time
}

// A Map converts claims to frequencies. The zero Map is uncalibrated.
type Map struct {
	weights weights
	cases   int
	missing MissingCases
}

// MinCases is the number of cases for a calibration. They must sum up to at least one right and one
// wrong answer.
const MinCases = 20

// A MissingCases lists the missing cases. The zero Lacking means none.
type MissingCases struct {
	Cases int  // number of missing cases
	Right bool // no right answer yet
	Wrong bool // no wrong answer yet
}

// Fit learns a map. It ignores cases with a NaN claim or an outcome outside 0 to 1, and clamps
// claims to 0 to 1.
func Fit(cases []Case) Map {
	cases = validCases(cases)
	m := Map{cases: len(cases), missing: findMissing(cases)}
	if m.missing == (MissingCases{}) {
		m.weights = learnWeights(cases)
	}
	return m
}

// Estimate returns the share of right answers with this claim and basis, from 0 to 1 exclusive. It
// returns false if the map is uncalibrated or claimed is NaN. The result never falls when claimed
// rises.
func (m Map) Estimate(claimed float64, basis Basis) (p float64, ok bool) {
	if !m.IsCalibrated() || math.IsNaN(claimed) {
		return 0, false
	}
	return m.weights.forecastCase(Case{Claimed: clampUnit(claimed), Basis: basis.clamp()}), true
}

// IsCalibrated reports whether there were enough cases.
func (m Map) IsCalibrated() bool { return m.cases > 0 && m.missing == (MissingCases{}) }

// Cases returns the number of valid cases.
func (m Map) Cases() int { return m.cases }

// Missing returns the cases that a calibration still needs.
func (m Map) Missing() MissingCases {
	if m.cases == 0 {
		return findMissing(nil)
	}
	return m.missing
}

func findMissing(cases []Case) MissingCases {
	var right float64
	for _, c := range cases {
		right += c.Outcome
	}
	return MissingCases{Cases: max(0, MinCases-len(cases)), Right: right < 1, Wrong: float64(len(cases))-right < 1}
}

func validCases(cases []Case) []Case {
	var list []Case
	for _, c := range cases {
		if c.isValid() {
			list = append(list, c.clamp())
		}
	}
	slices.SortStableFunc(list, compareCases)
	return list
}

func (c Case) isValid() bool { return !math.IsNaN(c.Claimed) && c.Outcome >= 0 && c.Outcome <= 1 }

func (c Case) clamp() Case { return Case{clampUnit(c.Claimed), c.Basis.clamp(), c.Outcome} }

// compareCases orders cases by outcome and claim, so that every nth case is a stratified sample.
func compareCases(a, b Case) int {
	return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Claimed, b.Claimed),
		cmp.Compare(a.Basis.Agreement, b.Basis.Agreement), cmp.Compare(a.Basis.Support, b.Basis.Support),
		cmp.Compare(a.Basis.Contradiction, b.Basis.Contradiction), cmp.Compare(a.Basis.Stability, b.Basis.Stability))
}

func (b Basis) clamp() Basis {
	return Basis{clampUnit(b.Agreement), clampUnit(b.Support), clampUnit(b.Contradiction), clampUnit(b.Stability)}
}

// clampUnit clamps v to 0 to 1; NaN gives 0.
func clampUnit(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v, 1)
}
