package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

const (
	level     = 0.05
	resamples = 5000
	flips     = 10_000 // random flips, if there are too many to try all
	allFlips  = 14     // differences up to which all flips are tried
	power     = 0.8
)

// Quantiles of the normal distribution: of 1-level/2 and of power.
const (
	z975 = 1.959963985
	z80  = 0.841621234
)

type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (i Interval) Zero() bool { return i.Low <= 0 && i.High >= 0 }

// Mean returns zero for an empty list.
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

// standardDeviation returns the sample standard deviation.
func standardDeviation(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	m, sum := Mean(xs), 0.0
	for _, x := range xs {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(xs)-1))
}

// Bootstrap returns the interval of a mean from percentiles of resampled means. It widens the
// percentiles for small samples (the expanded percentile interval of Hesterberg, What Teachers
// Should Know About the Bootstrap, 2015).
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
		p = normalCDF(-math.Sqrt(float64(n)/float64(n-1)) * studentQuantile(1-level/2, float64(n-1)))
	}
	return Interval{sortedQuantile(means, p), sortedQuantile(means, 1-p)}
}

func sortedQuantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := p * float64(len(sorted)-1)
	i := min(len(sorted)-1, max(0, int(at)))
	j := min(len(sorted)-1, i+1)
	return sorted[i] + (at-float64(i))*(sorted[j]-sorted[i])
}

// SignFlip returns the p-value of the mean of paired differences: the share of sign flips with
// a mean as far from zero. It tries all, or 10,000 random ones.
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

// countFlips counts the flips with a sum at least as far from zero as want.
func countFlips(xs []float64, sum, want float64) int {
	if len(xs) == 0 {
		if math.Abs(sum) >= want {
			return 1
		}
		return 0
	}
	return countFlips(xs[1:], sum+xs[0], want) + countFlips(xs[1:], sum-xs[0], want)
}

// Holm adjusts p-values for multiple comparisons.
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
	out, running := make([]float64, len(ps)), 0.0
	for rank, i := range order {
		running = max(running, min(1, float64(len(ps)-rank)*ps[i]))
		out[i] = running
	}
	return out
}

// NeededQuestions returns the number of questions that shows a mean difference like that of xs with a
// power of 0.8; zero without a difference.
func NeededQuestions(xs []float64) int {
	d, s := Mean(xs), standardDeviation(xs)
	if math.Abs(d) < 1e-12 || s == 0 {
		return 0
	}
	n := math.Pow((z975+z80)*s/d, 2) + z975*z975/2
	return int(math.Ceil(min(n, 1e9)))
}

// DetectableDifference returns the smallest mean difference that len(xs) questions with the deviation of xs
// show with a power of 0.8.
func DetectableDifference(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	return (studentQuantile(1-level/2, float64(len(xs)-1)) + z80) * standardDeviation(xs) / math.Sqrt(float64(len(xs)))
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// studentQuantile returns the p-quantile of Student's t with df degrees of freedom, for p in 0.5..1.
func studentQuantile(p, df float64) float64 {
	low, high := 0.0, 1.0
	for studentTail(high, df) > 1-p && high < 1e12 {
		low, high = high, 2*high
	}
	for range 80 {
		if mid := (low + high) / 2; studentTail(mid, df) > 1-p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

func studentTail(t, df float64) float64 { return incompleteBeta(df/(df+t*t), df/2, 0.5) / 2 }

// incompleteBeta returns the regularised incomplete beta function by its continued fraction (Numerical
// Recipes, 6.4).
func incompleteBeta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - incompleteBeta(1-x, b, a)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) * betaFraction(x, a, b) / a
}

// betaFraction evaluates the continued fraction by Lentz's method.
func betaFraction(x, a, b float64) float64 {
	const tiny = 1e-300
	guard := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/guard(1-(a+b)*x/(a+1))
	h := d
	for i := 1; i <= 500; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/guard(1+even*d), guard(1+even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/guard(1+odd*d), guard(1+odd/c)
		step := d * c
		if h *= step; math.Abs(step-1) < 1e-14 {
			break
		}
	}
	return h
}

type Measure string

const (
	ByChecks Measure = "checks"
	ByJudge  Measure = "judge" // share of pairs won minus share lost
)

type Finding string

const (
	Better       Finding = "better"
	Worse        Finding = "worse"
	NoDifference Finding = "no difference" // the interval includes zero
	Unclear      Finding = "unclear"       // the interval excludes zero, but the p-value is not significant
)

// A Comparison is the difference between a variant and the baseline, over the means of each
// question's samples.
type Comparison struct {
	Variant    string   `json:"variant"`
	Against    string   `json:"against"`
	By         Measure  `json:"by"`
	Questions  int      `json:"questions"`
	Up         int      `json:"questions_up"`
	Down       int      `json:"questions_down"`
	Difference float64  `json:"difference"`
	Interval   Interval `json:"interval"`
	P          float64  `json:"p"`
	Adjusted   float64  `json:"p_adjusted"`                 // by Holm
	Needed     int      `json:"questions_needed,omitempty"` // to show this difference; zero without one
	Detectable float64  `json:"seeable_difference"`         // that this number of questions would show
	Finding    Finding  `json:"finding"`
}

func (x Experiment) compareVariants(by Measure, items []Item) (list []Comparison) {
	var ps []float64
	for i, name := range x.Variants {
		xs := pairDifferences(by, items, i)
		if i == 0 || len(xs) == 0 {
			continue
		}
		c := Comparison{Variant: name, Against: x.Variants[0], By: by, Questions: len(xs), Difference: Mean(xs),
			Interval: Bootstrap(xs, x.Seed), P: SignFlip(xs, x.Seed), Needed: NeededQuestions(xs), Detectable: DetectableDifference(xs)}
		for _, d := range xs {
			if d > 0 {
				c.Up++
			} else if d < 0 {
				c.Down++
			}
		}
		list, ps = append(list, c), append(ps, c.P)
	}
	for i, p := range Holm(ps) {
		list[i].Adjusted = p
		list[i].Finding = list[i].decideFinding()
	}
	return list
}

func pairDifferences(by Measure, items []Item, variant int) (xs []float64) {
	for _, it := range items {
		switch {
		case by == ByJudge && it.Preferred[variant] != nil:
			xs = append(xs, *it.Preferred[variant])
		case by == ByChecks && it.Right[0] != nil && it.Right[variant] != nil:
			xs = append(xs, *it.Right[variant]-*it.Right[0])
		}
	}
	return xs
}

func (c Comparison) decideFinding() Finding {
	switch {
	case c.Interval.Zero():
		return NoDifference
	case c.Adjusted >= level:
		return Unclear
	case c.Difference > 0:
		return Better
	}
	return Worse
}

// Summary describes the result in words.
func (c Comparison) Summary() string {
	text := fmt.Sprintf("%s (95 %%: %s to %s, p = %s)", Points(c.Difference), signedPoints(c.Interval.Low), signedPoints(c.Interval.High), pText(c.P))
	switch c.Finding {
	case Better, Worse:
		return text + ": " + string(c.Finding) + "."
	case Unclear:
		return text + fmt.Sprintf(": unclear. The interval does not include zero, but with %s, chance can explain the difference (p = %s%s); use more questions.",
			questionsText(c.Questions), pText(c.Adjusted), c.adjustmentText())
	}
	text += ": no difference, because the interval includes zero. "
	if c.Up == 0 && c.Down == 0 {
		return text + fmt.Sprintf("Both variants have equal results on each of %s.", questionsText(c.Questions))
	}
	if c.Needed > 0 {
		text += fmt.Sprintf("To detect a difference of this size, use about %s. ", questionsText(c.Needed))
	}
	if c.Detectable > 0 && c.Detectable < 1 {
		text += fmt.Sprintf("With %s, a difference of %s or more is detectable.", questionsText(c.Questions), strings.TrimPrefix(Points(c.Detectable), "+"))
	} else {
		text += fmt.Sprintf("With %s, only the largest differences are detectable.", questionsText(c.Questions))
	}
	return strings.TrimSpace(text)
}

func (c Comparison) adjustmentText() string {
	if c.Adjusted == c.P {
		return ""
	}
	return " for all comparisons"
}

func questionsText(n int) string {
	if n == 1 {
		return "1 question"
	}
	if n >= 1e9 {
		return "more than a billion questions"
	}
	return strconv.Itoa(n) + " questions"
}

// Points formats a difference of shares in percentage points.
func Points(d float64) string {
	if text := signedPoints(d); text == "+1" || text == "-1" {
		return text + " point"
	}
	return signedPoints(d) + " points"
}

// signedPoints formats a difference of shares in hundredths with its sign. It never rounds a
// difference to zero.
func signedPoints(d float64) string {
	v := 100 * d
	switch {
	case math.Abs(v) < 1e-9:
		return "0"
	case math.Abs(v) < 10 && math.Abs(v-math.Round(v)) > 0.05:
		return fmt.Sprintf("%+.1f", v)
	}
	return fmt.Sprintf("%+.0f", v)
}

func pText(p float64) string {
	if p < 0.001 {
		return "less than 0.001"
	}
	return fmt.Sprintf("%.2g", p)
}
