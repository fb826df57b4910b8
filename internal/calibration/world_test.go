package calibration_test

import (
	"math"
	"math/rand/v2"

	"ponder/internal/calibration"
)

// A world is a simulated model with known miscalibration.
type world struct {
	name string
	most float64                                            // allowed calibration error after some hundred cases
	one  func(r *rand.Rand) (p float64, c calibration.Case) // p is the probability that the answer is right
}

// promised is the guaranteed calibration error.
const promised = 0.05

// testWorlds returns the simulated models.
func testWorlds() []world {
	clear := func(claim func(p float64, r *rand.Rand) float64) func(*rand.Rand) (float64, calibration.Case) {
		return func(r *rand.Rand) (float64, calibration.Case) {
			p := randomSkill(r)
			return p, calibration.Case{Claimed: claim(p, r), Basis: randomBasis(r)}
		}
	}
	return []world{
		{"honest", promised, clear(func(p float64, _ *rand.Rand) float64 { return p })},
		{"overconfident: the root", promised, clear(func(p float64, _ *rand.Rand) float64 { return math.Sqrt(p) })},
		{"very overconfident: the fifth root", promised, clear(func(p float64, _ *rand.Rand) float64 { return math.Pow(p, 0.2) })},
		{"underconfident: the square", promised, clear(func(p float64, _ *rand.Rand) float64 { return p * p })},
		{"timid: around 0.5", promised, clear(func(p float64, _ *rand.Rand) float64 { return 0.5 + 0.3*(p-0.5) })},
		{"shifted by 0.2", promised, clear(func(p float64, _ *rand.Rand) float64 { return math.Min(1, p+0.2) })},
		{"S-shaped", promised, clear(func(p float64, _ *rand.Rand) float64 { return p * p * (3 - 2*p) })},
		{"S-shaped the other way", promised, clear(func(p float64, _ *rand.Rand) float64 { return 0.5 - math.Sin(math.Asin(1-2*p)/3) })},
		{"always 0.9", promised, clear(func(float64, *rand.Rand) float64 { return 0.9 })},
		{"0.8, 0.9 or 0.95", promised, clear(func(p float64, _ *rand.Rand) float64 { return []float64{0.8, 0.9, 0.95}[int(p*2.999)] })},
		{"noisy", promised, clear(func(p float64, r *rand.Rand) float64 { return min(max(p+0.25*r.NormFloat64(), 0), 1) })},
		{"backwards", promised, clear(func(p float64, _ *rand.Rand) float64 { return 1 - p/2 })},
		{"a cliff at 0.8", 0.1, func(r *rand.Rand) (float64, calibration.Case) {
			c := calibration.Case{Claimed: r.Float64(), Basis: randomBasis(r)}
			p := c.Claimed
			if p > 0.8 {
				p = 0.5
			}
			return p, c
		}},
		{"claims mean nothing, agreement does", promised, func(r *rand.Rand) (float64, calibration.Case) {
			c := calibration.Case{Claimed: 0.5 + r.Float64()/2, Basis: randomBasis(r)}
			return 0.1 + 0.8*c.Basis.Agreement, c
		}},
		{"right, but for contradictions", promised, func(r *rand.Rand) (float64, calibration.Case) {
			p := randomSkill(r)
			c := calibration.Case{Claimed: p, Basis: randomBasis(r)}
			return p * (1 - 0.7*c.Basis.Contradiction), c
		}},
		{"everything counts", promised, func(r *rand.Rand) (float64, calibration.Case) {
			p := randomSkill(r)
			c := calibration.Case{Claimed: math.Sqrt(p), Basis: randomBasis(r)}
			b := c.Basis
			z := math.Log(p/(1-p)) + 2*(b.Agreement-0.5) + (b.Support - 0.5) - 2*(b.Contradiction-0.2) + (b.Stability - 0.5)
			return 1 / (1 + math.Exp(-z)), c
		}},
	}
}

// randomSkill returns the probability of a right answer to a question, biased towards right.
func randomSkill(r *rand.Rand) float64 { return 0.03 + 0.94*math.Sqrt(r.Float64()) }

// randomBasis returns an uninformative basis.
func randomBasis(r *rand.Rand) calibration.Basis {
	return calibration.Basis{Agreement: r.Float64(), Support: r.Float64(), Contradiction: r.Float64() * r.Float64(), Stability: float64(r.IntN(4)) / 3}
}

// randomCases returns n random cases.
func (w world) randomCases(n int, r *rand.Rand) []calibration.Case {
	list := make([]calibration.Case, n)
	for i := range list {
		p, c := w.one(r)
		if r.Float64() < p {
			c.Outcome = 1
		}
		list[i] = c
	}
	return list
}

func forecastAll(m calibration.Map, cases []calibration.Case) []calibration.Forecast {
	list := make([]calibration.Forecast, 0, len(cases))
	for _, c := range cases {
		if p, ok := m.Estimate(c.Claimed, c.Basis); ok {
			list = append(list, calibration.Forecast{P: p, Outcome: c.Outcome})
		}
	}
	return list
}
