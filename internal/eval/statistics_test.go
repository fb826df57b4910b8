package eval

import (
	"math"
	"math/rand/v2"
	"testing"

	"ponder/internal/racetest"
)

func checkNear(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestDistributions(t *testing.T) {
	checkNear(t, "normal", normalCDF(-1.959963985), 0.025, 1e-9)
	for df, want := range map[float64]float64{1: 12.7062, 2: 4.30265, 5: 2.57058, 10: 2.22814, 30: 2.04227, 120: 1.97993, 1e6: 1.95997} {
		checkNear(t, "t of 0.975", studentQuantile(0.975, df), want, 2e-5*want)
	}
	checkNear(t, "t of 0.95, 4", studentQuantile(0.95, 4), 2.13185, 1e-5)
}

func TestSignFlip(t *testing.T) {
	for name, c := range map[string]struct {
		xs   []float64
		want float64
		by   float64
	}{
		"nothing":    {nil, 1, 0},
		"all zero":   {[]float64{0, 0, 0}, 1, 0},
		"one":        {[]float64{1}, 1, 0},
		"five":       {[]float64{1, 1, 1, 1, 1}, 2.0 / 32, 0},
		"with zeros": {[]float64{1, 1, 0, 0, 1, 1, 1}, 2.0 / 32, 0},
		"1, 2, 3":    {[]float64{1, 2, 3}, 2.0 / 8, 0},
		"-1, 2, 3":   {[]float64{-1, 2, 3}, 4.0 / 8, 0},
		// Fisher's data of Darwin's maize (The Design of Experiments, section 21): 1726 of
		// 32768 flips are as far from zero.
		"Darwin": {[]float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}, 1726.0 / 32768, 0.005},
	} {
		t.Run(name, func(t *testing.T) { checkNear(t, "p", SignFlip(c.xs, 1), c.want, c.by) })
	}
}

func TestBootstrap(t *testing.T) {
	if got := Bootstrap(nil, 1); got != (Interval{}) {
		t.Errorf("of nothing: %v", got)
	}
	if got := Bootstrap([]float64{2, 2, 2}, 1); got != (Interval{2, 2}) {
		t.Errorf("without variation: %v", got)
	}
	xs := make([]float64, 400)
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range xs {
		xs[i] = rng.NormFloat64()
	}
	m, half := Mean(xs), z975*standardDeviation(xs)/math.Sqrt(float64(len(xs)))
	got := Bootstrap(xs, 1)
	checkNear(t, "low", got.Low, m-half, 0.006)
	checkNear(t, "high", got.High, m+half, 0.006)
	if again := Bootstrap(xs, 1); again != got {
		t.Errorf("the same seed gives %v and %v", got, again)
	}
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, 0.03, 0.9})
	for i, want := range []float64{0.09, 0.04, 0.09, 0.9} {
		checkNear(t, "p", got[i], want, 1e-12)
	}
}

// The textbook number for an effect of half a standard deviation is 34 pairs.
func TestNeeded(t *testing.T) {
	xs := []float64{1.5, -0.5}
	checkNear(t, "needed", float64(NeededQuestions(xs)), 2.8016*2.8016*8+1.92, 1)
	half := []float64{0.5 + math.Sqrt2/2, 0.5 - math.Sqrt2/2}
	checkNear(t, "needed", float64(NeededQuestions(half)), 34, 1)
	if n := NeededQuestions([]float64{1, -1}); n != 0 {
		t.Errorf("to see nothing: %d", n)
	}
}

// simulateExperiment simulates answers to n questions of random difficulty. effect raises the second
// variant's chance.
func simulateExperiment(rng *rand.Rand, n, samples int, effect float64) Experiment {
	x := Experiment{Variants: []string{"plain", "think"}, Samples: samples, Seed: rng.Uint64()}
	for i := range n {
		q := Question{ID: string(rune('a'+i%26)) + string(rune('0'+i/26))}
		x.Questions = append(x.Questions, q)
		easy := 0.1 + 0.6*rng.Float64()
		for s := range samples {
			for v, name := range x.Variants {
				right := rng.Float64() < easy+float64(v)*effect
				x.Answers = append(x.Answers, Answer{Question: q.ID, Variant: name, Sample: s + 1, Right: &right})
			}
		}
	}
	return x
}

const (
	simulated = 500
	simN      = 40
	simTimes  = 3
)

// The interval has its nominal coverage. No effect is rarely found, and a planted one often.
func TestSimulated(t *testing.T) {
	racetest.Skip(t, "one goroutine, which simulates thousands of experiments")
	for name, c := range map[string]struct {
		effect             float64
		minShare, maxShare float64 // share of experiments that find an effect of this sign
	}{
		"no effect":      {0, 0, 0.07},
		"a planted one":  {0.2, 0.8, 1},
		"planted, worse": {-0.2, 0.8, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng, covered, found := rand.New(rand.NewPCG(5, 6)), 0.0, 0.0
			for range simulated {
				x := simulateExperiment(rng, simN, simTimes, c.effect)
				got := x.compareVariants(ByChecks, x.buildItems())[0]
				if got.Interval.Low <= c.effect && c.effect <= got.Interval.High {
					covered += 1.0 / simulated
				}
				if got.Finding == Better && c.effect >= 0 || got.Finding == Worse && c.effect <= 0 {
					found += 1.0 / simulated
				}
			}
			t.Logf("covered in %.1f %%, found in %.1f %%", 100*covered, 100*found)
			if covered < 0.90 || covered > 0.98 {
				t.Errorf("covered in %.1f %%, want 90 to 98", 100*covered)
			}
			if found < c.minShare || found > c.maxShare {
				t.Errorf("found in %.1f %%, want %.0f to %.0f", 100*found, 100*c.minShare, 100*c.maxShare)
			}
		})
	}
}

// For few questions, intervals of a plain bootstrap are too narrow.
func TestCoverageOfFew(t *testing.T) {
	rng, covered := rand.New(rand.NewPCG(3, 4)), 0
	for range simulated {
		xs := make([]float64, 8)
		for i := range xs {
			xs[i] = rng.NormFloat64()
		}
		if Bootstrap(xs, rng.Uint64()).Zero() {
			covered++
		}
	}
	if share := float64(covered) / simulated; share < 0.90 || share > 0.98 {
		t.Errorf("covered in %.1f %%, want 90 to 98", 100*share)
	}
}

func TestNeededIsEnough(t *testing.T) {
	rng, found := rand.New(rand.NewPCG(8, 9)), 0
	const effect = 0.5
	for range simulated {
		xs := make([]float64, 34)
		for i := range xs {
			xs[i] = effect + rng.NormFloat64()
		}
		if !Bootstrap(xs, rng.Uint64()).Zero() {
			found++
		}
	}
	checkNear(t, "power", float64(found)/simulated, power, 0.06)
}
