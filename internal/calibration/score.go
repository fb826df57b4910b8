package calibration

import (
	"cmp"
	"math"
	"slices"
)

// A Forecast is a probability that was said, and how it turned out. One whose P is
// NaN was not said, and does not count.
type Forecast struct {
	P       float64 // that the answer is right, 0 to 1
	Outcome float64 // 0 to 1
}

// Claims returns what each case claims. A case that [Fit] leaves out has no P.
func Claims(cases []Case) []Forecast {
	list, order := forecasts(cases)
	for _, i := range order {
		list[i].P = unit(cases[i].Claimed)
	}
	return list
}

// CrossValidate returns what maps make of the claims of cases that they were not
// learned from: each case is forecast by a map that was learned from nine tenths of
// them, of which it is none. None has a P if the cases lack something.
func CrossValidate(cases []Case) []Forecast {
	list, order := forecasts(cases)
	clean := sound(cases)
	if lacking(clean) != (Lacking{}) {
		return list
	}
	const parts = 10
	for part := range parts {
		var learned []Case
		for i, c := range clean {
			if i%parts != part {
				learned = append(learned, c)
			}
		}
		w := learn(learned)
		for i := part; i < len(clean); i += parts {
			list[order[i]].P = w.of(clean[i])
		}
	}
	return list
}

// forecasts returns a forecast without a P for each case, and the places of the
// cases that count, in the order of [sound].
func forecasts(cases []Case) (list []Forecast, order []int) {
	for i, c := range cases {
		list = append(list, Forecast{math.NaN(), c.Outcome})
		if c.counts() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return compare(cases[i].unit(), cases[j].unit()) })
	return list, order
}

// said returns the forecasts that were.
func said(list []Forecast) []Forecast {
	return slices.DeleteFunc(slices.Clone(list), func(f Forecast) bool { return math.IsNaN(f.P) })
}

// Brier returns the mean squared difference between forecasts and outcomes: 0 is
// best, 0.25 is what always saying 0.5 comes to (Brier 1950). NaN for none.
func Brier(list []Forecast) float64 {
	list = said(list)
	var sum float64
	for _, f := range list {
		sum += (f.P - f.Outcome) * (f.P - f.Outcome)
	}
	return sum / float64(len(list))
}

// LogLoss returns the mean of -ln of the probability that was given to what came
// true: 0 is best, 0.69 is what always saying 0.5 comes to. Forecasts of 0 and 1
// count as 0.0001 and 0.9999. NaN for none.
func LogLoss(list []Forecast) float64 {
	const least = 1e-4
	list = said(list)
	var sum float64
	for _, f := range list {
		p := min(max(f.P, least), 1-least)
		sum -= f.Outcome*math.Log(p) + (1-f.Outcome)*math.Log(1-p)
	}
	return sum / float64(len(list))
}

// ECE returns the expected calibration error: the mean over the bins of
// [Reliability] of the difference between what was said and how often it came true,
// weighted by their forecasts. It is 0 at best. NaN for none.
//
// The measure is that of Naeini, Cooper and Hauskrecht 2015 and of Guo et al. 2017.
// Of few forecasts it comes out too high, whatever the bins: see [Chance]. Equal
// counts are less biased than equal widths (Roelofs et al. 2022).
func ECE(list []Forecast) float64 {
	list = said(list)
	var sum float64
	for _, b := range Reliability(list) {
		sum += math.Abs(b.P-b.Frequency) * float64(b.Count)
	}
	return sum / float64(len(list))
}

// Chance returns about what [ECE] comes to on average, by chance alone, for forecasts
// that are calibrated perfectly. An ECE that is not above it says nothing against the
// forecasts.
func Chance(list []Forecast) float64 {
	list = said(list)
	sort(list)
	n := float64(len(list))
	var sum float64
	for _, b := range Reliability(list) {
		var variance float64
		for _, f := range list[:b.Count] {
			variance += f.P * (1 - f.P)
		}
		sum += math.Sqrt(variance * 2 / math.Pi) // the mean distance from the mean of a normal distribution
		list = list[b.Count:]
	}
	return sum / n
}

// A Bin is a row of a reliability table: forecasts of about the same probability.
type Bin struct {
	Low, High float64 // the least and the greatest forecast
	Count     int
	P         float64 // mean of the forecasts
	Frequency float64 // mean of the outcomes
}

// How fine a reliability table is.
const (
	maxBins  = 10
	fullBin  = 15 // forecasts
	fewBins  = 3  // as long as full ones would be fewer
	smallBin = 8  // forecasts, as long as that is so
)

// Reliability returns forecasts in bins of about equal counts, the lowest first: ten
// of them, or less if they would have less than fifteen forecasts. Of few forecasts
// there are up to three bins of at least eight. Equal forecasts are in the same bin.
// Fewer than eight are in a bin only if they are all there are.
func Reliability(list []Forecast) []Bin {
	list = said(list)
	sort(list)
	most, full := maxBins, fullBin
	if len(list) < fewBins*fullBin {
		most, full = fewBins, smallBin
	}
	n := min(most, max(1, len(list)/full))
	var bins []Bin
	for from := 0; from < len(list); {
		to := binEnd(list, from, min(max(from+full, len(list)*(len(bins)+1)/n), len(list)))
		bins = append(bins, binOf(list[from:to]))
		from = to
	}
	return bins
}

// binEnd returns where a bin ends that begins at from and is to end at about to. Equal
// forecasts that would make it the last go to the next one, if both are large enough.
func binEnd(list []Forecast, from, to int) int {
	wanted := to
	for to < len(list) && (list[to].P == list[to-1].P || len(list)-to < smallBin) {
		to++
	}
	if to < len(list) || wanted == to {
		return to
	}
	for before := wanted; before-from >= smallBin; before-- {
		if list[before].P != list[before-1].P && len(list)-before >= smallBin {
			return before
		}
	}
	return to
}

func sort(list []Forecast) {
	slices.SortStableFunc(list, func(a, b Forecast) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Outcome, b.Outcome))
	})
}

func binOf(list []Forecast) Bin {
	b := Bin{Low: list[0].P, High: list[len(list)-1].P, Count: len(list)}
	for _, f := range list {
		b.P += f.P / float64(len(list))
		b.Frequency += f.Outcome / float64(len(list))
	}
	return b
}
