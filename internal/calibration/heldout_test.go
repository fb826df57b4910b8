package calibration_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ponder/internal/calibration"
	"ponder/internal/racetest"
)

const (
	seedOfWorlds = 20
	heldOut      = 5000 // a perfect map has an ECE of about 0.015
)

// TestHeldOut checks the calibration error on new questions. It logs the figures in
// docs/calibration.md.
func TestHeldOut(t *testing.T) {
	racetest.Skip(t, "pure functions, which fit maps to thousands of cases")
	const seeds = 5
	sizes := []int{20, 50, 100, 300, 1000}
	for _, w := range testWorlds() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			claimed := newFigures(calibration.Claims(w.randomCases(heldOut, rand.New(rand.NewPCG(seedOfWorlds, 0)))))
			line := fmt.Sprintf("| %s | %.3f", w.name, claimed.ece)
			for _, n := range sizes {
				mean, worst := figures{}, figures{}
				for seed := range uint64(seeds) {
					r := rand.New(rand.NewPCG(seedOfWorlds+seed, uint64(n)))
					m := calibration.Fit(w.randomCases(n, r))
					if !m.IsCalibrated() {
						t.Fatalf("%d cases lack %+v", n, m.Missing())
					}
					f := newFigures(forecastAll(m, w.randomCases(heldOut, r)))
					mean = figures{mean.ece + f.ece/seeds, mean.wide + f.wide/seeds, mean.brier + f.brier/seeds}
					worst = figures{max(worst.ece, f.ece), max(worst.wide, f.wide), max(worst.brier, f.brier)}
				}
				line += fmt.Sprintf(" | %.3f", mean.ece)
				switch {
				case n == 300 && mean.ece > w.most:
					t.Errorf("learned from %d: the mean ECE is %.3f, more than %.2f", n, mean.ece, w.most)
				case n == 1000 && max(worst.ece, worst.wide) > w.most:
					t.Errorf("learned from %d: the worst ECE is %.3f, and %.3f with bins of equal width, more than %.2f", n, worst.ece, worst.wide, w.most)
				case n >= 300 && mean.brier > claimed.brier+0.003:
					t.Errorf("learned from %d: the Brier score is %.4f, and was %.4f", n, mean.brier, claimed.brier)
				}
			}
			t.Log(line + " |")
		})
	}
}

type figures struct{ ece, wide, brier float64 }

func newFigures(list []calibration.Forecast) figures {
	return figures{calibration.ECE(list), wideECE(list), calibration.Brier(list)}
}

// wideECE is the calibration error with 15 bins of equal width, as in Guo et al.
func wideECE(list []calibration.Forecast) (sum float64) {
	const bins = 15
	var off [bins]float64
	for _, f := range list {
		off[min(bins-1, int(f.P*bins))] += f.P - f.Outcome
	}
	for _, o := range off {
		sum += math.Abs(o)
	}
	return sum / float64(len(list))
}

// TestCrossValidateIsHonest checks that cross-validation predicts the quality on new cases on
// average.
func TestCrossValidateIsHonest(t *testing.T) {
	racetest.Skip(t, "pure functions, with thousands of random cases")
	const seeds = 30
	for _, name := range []string{"overconfident: the root", "always 0.9", "claims mean nothing, agreement does"} {
		t.Run(name, func(t *testing.T) {
			all := testWorlds()
			w := all[slices.IndexFunc(all, func(w world) bool { return w.name == name })]
			var said, true float64
			for seed := range uint64(seeds) {
				r := rand.New(rand.NewPCG(seedOfWorlds, seed))
				cases := w.randomCases(60, r)
				said += calibration.Brier(calibration.CrossValidate(cases)) / seeds
				true += calibration.Brier(forecastAll(calibration.Fit(cases), w.randomCases(1000, r))) / seeds
			}
			if math.Abs(said-true) > 0.015 {
				t.Errorf("cross-validation says %.4f, and it is %.4f", said, true)
			}
		})
	}
}

// TestFewCasesChangeLittle checks that few consistent cases leave claims almost unchanged.
func TestFewCasesChangeLittle(t *testing.T) {
	var cases []calibration.Case
	for i := range 20 {
		c := calibration.Case{Claimed: 0.8, Outcome: 1}
		if i%5 == 0 {
			c.Outcome = 0
		}
		cases = append(cases, c)
	}
	m := calibration.Fit(cases)
	for _, claimed := range []float64{0.3, 0.5, 0.7, 0.8, 0.9} {
		p, ok := m.Estimate(claimed, calibration.Basis{})
		if !ok || math.Abs(p-claimed) > 0.05 {
			t.Errorf("a claim of %.2f is worth %.3f, %t", claimed, p, ok)
		}
	}
}

// TestOf checks plausible values of a map.
func TestOf(t *testing.T) {
	var cases []calibration.Case
	for i := range 200 {
		c := calibration.Case{Claimed: 0.9, Basis: calibration.Basis{Agreement: float64(i % 2)}}
		if i%2 == 1 && i%20 != 1 || i%20 == 0 { // right: 9 of 10 where foci agree, else 1 of 10
			c.Outcome = 1
		}
		cases = append(cases, c)
	}
	m := calibration.Fit(cases)
	for _, tt := range []struct{ agreement, want float64 }{{0, 0.1}, {1, 0.9}} {
		p, ok := m.Estimate(0.9, calibration.Basis{Agreement: tt.agreement})
		if !ok || math.Abs(p-tt.want) > 0.04 {
			t.Errorf("agreement %.0f: %.3f, %t; want about %.1f", tt.agreement, p, ok, tt.want)
		}
	}
	if m.Cases() != 200 {
		t.Errorf("%d cases", m.Cases())
	}
}
