package llm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEstimator(t *testing.T) {
	report := func(n int) Usage { return Usage{Input: n} }
	tests := []struct {
		name  string
		learn []Usage // for 1,000 bytes each
		want  int     // tokens in 1,000 bytes
	}{
		{"nothing known", nil, 278},
		{"one report", []Usage{report(400)}, 303},
		{"caches count", []Usage{{Input: 100, CacheRead: 200, CacheWrite: 100}}, 303},
		{"the output does not", []Usage{{Input: 400, Output: 1e9}}, 303},
		{"guesses do not", []Usage{{Input: 400, Estimated: true}}, 278},
		{"two requests in one do not", []Usage{{Input: 800, Hedged: true}}, 278},
		{"nothing reported", []Usage{{}}, 278},
		{"negative", []Usage{report(-5)}, 278},
		{"absurdly many", []Usage{report(math.MaxInt)}, 423},
		{"absurdly few", []Usage{report(1)}, 248},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var e Estimator
			for _, u := range test.learn {
				e.Learn("m", 1000, u)
			}
			if got := e.Tokens("m", 1000); got != test.want {
				t.Errorf("Tokens = %d, want %d", got, test.want)
			}
			if got := e.Tokens("other", 1000); got != 278 {
				t.Errorf("other model: %d", got)
			}
		})
	}
}

func TestEstimatorConverges(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, truth := range []float64{0.15, 0.25, 0.5, 0.9} {
		var e Estimator
		for range 30 {
			bytes := 500 + rng.IntN(50_000)
			e.Learn("m", bytes, Usage{Input: int(truth * float64(bytes) * (0.95 + 0.1*rng.Float64()))})
		}
		if got := float64(e.Tokens("m", 1_000_000)) / 1e6; math.Abs(got/truth-1) > 0.05 {
			t.Errorf("rate = %.3f, want about %.3f", got, truth)
		}
	}
}

func TestEstimatorBounds(t *testing.T) {
	var e Estimator
	rng := rand.New(rand.NewPCG(13, 14))
	for range 20_000 {
		model := fmt.Sprint("m", rng.IntN(2_000))
		e.Learn(model, rng.IntN(1e6)-100, Usage{Input: int(rng.Uint64() >> rng.IntN(64)), CacheRead: int(rng.Uint64() >> rng.IntN(64))})
		if got := e.Tokens(model, 8_000); got < 1_000 || got > 8_000 {
			t.Fatalf("8,000 bytes are %d tokens", got)
		}
	}
	if len(e.rates) > maxEstimated {
		t.Errorf("%d models", len(e.rates))
	}
	if e.Tokens("m", -1) != 0 || e.Tokens("m", 0) != 0 {
		t.Error("no text is not 0 tokens")
	}
}

func TestEstimatorUsage(t *testing.T) {
	var e Estimator
	want := Usage{Input: 278, Output: 100, Estimated: true}
	if diff := cmp.Diff(want, e.Usage("m", 1000, 360)); diff != "" {
		t.Error(diff)
	}
}

func TestEstimatorConcurrent(t *testing.T) {
	var e Estimator
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 1_000 {
				e.Learn(fmt.Sprint(j%5), 1_000, Usage{Input: 100 * (i + 1)})
				e.Tokens(fmt.Sprint(j%5), 100)
			}
		})
	}
	wg.Wait()
	for m := range 5 {
		if got := e.Tokens(fmt.Sprint(m), 1_000); got < 125 || got > 800 {
			t.Errorf("model %d: %d", m, got)
		}
	}
}
