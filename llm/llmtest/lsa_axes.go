package llmtest

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
)

// A sparse is a vector that is mostly zeros, by place.
type sparse []entry

type entry struct {
	at    int
	value float64
}

func (s sparse) dot(v []float64) (sum float64) {
	for _, e := range s {
		sum += e.value * v[e.at]
	}
	return sum
}

// lsaRounds is how often the axes are turned towards where the rows differ most.
const lsaRounds = 4

// principal returns up to n vectors of length 1, at right angles to each other,
// that span nearly what the first right singular vectors of the rows do, in about
// their order: a subspace is iterated from a random one (Halko, Martinsson and
// Tropp, 2011). A turn within it does not change an angle, so it stays.
func principal(rows []sparse, width, n int) [][]float64 {
	n = min(n, len(rows), width)
	left := columns(n, func(i int) []float64 {
		rng := rand.New(rand.NewPCG(uint64(i), lsaRounds))
		start := make([]float64, width)
		for j := range start {
			start[j] = rng.NormFloat64()
		}
		return times(rows, start)
	})
	for range lsaRounds {
		left = straighten(left)
		left = columns(len(left), func(i int) []float64 { return times(rows, timesTransposed(rows, left[i], width)) })
	}
	left = straighten(left)
	return straighten(columns(len(left), func(i int) []float64 { return timesTransposed(rows, left[i], width) }))
}

// columns makes n columns, on all cores.
func columns(n int, make1 func(i int) []float64) [][]float64 {
	out := make([][]float64, n)
	var wg sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for c := range cores {
		wg.Go(func() {
			for i := c; i < n; i += cores {
				out[i] = make1(i)
			}
		})
	}
	wg.Wait()
	return out
}

// times returns the product of each row with a vector.
func times(rows []sparse, v []float64) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = r.dot(v)
	}
	return out
}

// timesTransposed returns the sum of the rows, each as often as a vector says.
func timesTransposed(rows []sparse, v []float64, width int) []float64 {
	out := make([]float64, width)
	for i, r := range rows {
		for _, e := range r {
			out[e.at] += e.value * v[i]
		}
	}
	return out
}

// straighten returns vectors of length 1 at right angles that span what some do,
// the first as the first does, and so on. Those that add nothing are left out. It
// changes what it is given.
func straighten(vectors [][]float64) [][]float64 {
	out := vectors[:0]
	for _, v := range vectors {
		before := norm(v)
		for range 2 { // for the first time leaves what is lost in rounding
			for _, axis := range out {
				along := 0.0
				for i, x := range axis {
					along += x * v[i]
				}
				for i, x := range axis {
					v[i] -= along * x
				}
			}
		}
		length := norm(v)
		if length <= 1e-9*before || before == 0 {
			continue
		}
		for i := range v {
			v[i] /= length
		}
		out = append(out, v)
	}
	return out
}

func norm(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}
