package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Numbers of the methods.
const (
	level     = 0.05 // of the tests; intervals are of 1-level
	resamples = 5000
	flips     = 10_000 // where there are too many to try all
	allFlips  = 14     // differences of which all flips are tried
	power     = 0.8
)

// Quantiles of the normal distribution: of 1-level/2 and of power.
const (
	z975 = 1.959963985
	z80  = 0.841621234
)

// An Interval is where a number is with a confidence of 95 %.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Zero reports whether the interval includes zero.
func (i Interval) Zero() bool { return i.Low <= 0 && i.High >= 0 }

// Mean returns the mean, zero of nothing.
func Mean(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// deviation returns the standard deviation of the population that a sample is of.
func deviation(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	m, sum := Mean(xs), 0.0
	for _, x := range xs {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(xs)-1))
}

// Bootstrap returns the interval of a mean: percentiles of the means of resamples.
// They are taken further out the fewer values there are, for those of a small sample
// are too narrow otherwise (the expanded percentile interval of Hesterberg, What
// Teachers Should Know About the Bootstrap, 2015).
func Bootstrap(xs []float64, seed uint64) Interval {
	n := len(xs)
	if n == 0 {
		return Interval{}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range n {
			sum += xs[rng.IntN(n)]
		}
		means[i] = sum / float64(n)
	}
	slices.Sort(means)
	p := level / 2
	if n > 1 {
		p = normal(-math.Sqrt(float64(n)/float64(n-1)) * student(1-level/2, float64(n-1)))
	}
	return Interval{quantile(means, p), quantile(means, 1-p)}
}

// quantile returns the p-quantile of sorted values.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := p * float64(len(sorted)-1)
	i := min(len(sorted)-1, max(0, int(at)))
	j := min(len(sorted)-1, i+1)
	return sorted[i] + (at-float64(i))*(sorted[j]-sorted[i])
}

// SignFlip returns the p-value of the mean of paired differences: the share of all
// ways to flip their signs that have a mean as far from zero. It tries all of them,
// or, if they are very many, 10,000.
func SignFlip(xs []float64, seed uint64) float64 {
	xs = slices.DeleteFunc(slices.Clone(xs), func(x float64) bool { return x == 0 })
	want := 0.0
	for _, x := range xs {
		want += x
	}
	want = math.Abs(want) - 1e-9
	if len(xs) <= allFlips {
		return float64(countFlips(xs, 0, want)) / math.Exp2(float64(len(xs)))
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	far := 1
	for range flips {
		sum, bits := 0.0, uint64(0)
		for i, x := range xs {
			if i%64 == 0 {
				bits = rng.Uint64()
			}
			if bits>>(i%64)&1 == 0 {
				x = -x
			}
			sum += x
		}
		if math.Abs(sum) >= want {
			far++
		}
	}
	return float64(far) / (flips + 1)
}

// countFlips counts the ways to flip signs that come at least so far from zero.
func countFlips(xs []float64, sum, want float64) int {
	if len(xs) == 0 {
		if math.Abs(sum) >= want {
			return 1
		}
		return 0
	}
	return countFlips(xs[1:], sum+xs[0], want) + countFlips(xs[1:], sum-xs[0], want)
}

// Holm returns p-values that allow for how many comparisons were made.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ps[a] < ps[b]:
			return -1
		case ps[a] > ps[b]:
			return 1
		}
		return 0
	})
	out, most := make([]float64, len(ps)), 0.0
	for rank, i := range order {
		most = max(most, min(1, float64(len(ps)-rank)*ps[i]))
		out[i] = most
	}
	return out
}

// Needed returns how many questions it takes to see a mean difference like that of
// xs, if it is real, four times out of five; zero if there is none to see.
func Needed(xs []float64) int {
	d, s := Mean(xs), deviation(xs)
	if math.Abs(d) < 1e-12 || s == 0 {
		return 0
	}
	n := math.Pow((z975+z80)*s/d, 2) + z975*z975/2
	return int(math.Ceil(min(n, 1e9)))
}

// Seeable returns the smallest mean difference that as many questions as xs, with
// differences that vary as much, would show four times out of five.
func Seeable(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	return (student(1-level/2, float64(len(xs)-1)) + z80) * deviation(xs) / math.Sqrt(float64(len(xs)))
}
