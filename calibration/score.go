package calibration

import (
	"cmp"
	"math"
	"slices"
)

// A Forecast is a probability that was said, and how it turned out.
type Forecast struct {
	P       float64 // that the answer is right, 0 to 1
	Outcome float64 // 0 to 1
}

// Claims returns what cases claim, as forecasts, with those that do not count
// left out.
func Claims(cases []Case) []Forecast {
	list := make([]Forecast, 0, len(cases))
	for _, c := range sound(cases) {
		list = append(list, Forecast{c.Claimed, c.Outcome})
	}
	return list
}

// CrossValidate returns what maps make of the claims of cases that they were not
// learned from: each is forecast by a map that was learned from the others, or nine
// tenths of them. The forecasts are in the order of [Claims]. There are
// none for less cases than [Wanted], or if they lack something else.
func CrossValidate(cases []Case) []Forecast {
	cases = sound(cases)
	if lacking(cases) != (Lacking{}) {
		return nil
	}
	const parts = 10
	list := make([]Forecast, len(cases))
	for part := range parts {
		var learned []Case
		for i, c := range cases {
			if i%parts != part {
				learned = append(learned, c)
			}
		}
		w := learn(learned)
		for i := part; i < len(cases); i += parts {
			list[i] = Forecast{w.of(cases[i]), cases[i].Outcome}
		}
	}
	return list
}

// Brier returns the mean squared difference between forecasts and outcomes: 0 is
// best, 0.25 is what always saying 0.5 comes to (Brier 1950). NaN for none.
func Brier(list []Forecast) float64 {
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
// Of few forecasts it comes out too high, whatever the bins; equal counts are less
// biased than equal widths (Roelofs et al. 2022).
func ECE(list []Forecast) float64 {
	var sum float64
	for _, b := range Reliability(list) {
		sum += math.Abs(b.P-b.Frequency) * float64(b.Count)
	}
	return sum / float64(len(list))
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
	maxBins = 10
	fullBin = 10 // forecasts
)

// Reliability returns forecasts in bins of about equal counts, the lowest first: ten
// of them, or less if they would have less than ten forecasts, but for the last.
// Equal forecasts are in the same bin.
func Reliability(list []Forecast) []Bin {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Forecast) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Outcome, b.Outcome))
	})
	n := min(maxBins, max(1, len(list)/fullBin))
	var bins []Bin
	for from := 0; from < len(list); {
		to := min(max(from+fullBin, len(list)*(len(bins)+1)/n), len(list))
		for to < len(list) && (list[to].P == list[to-1].P || len(list)-to < fullBin/2) {
			to++
		}
		bins = append(bins, binOf(list[from:to]))
		from = to
	}
	return bins
}

func binOf(list []Forecast) Bin {
	b := Bin{Low: list[0].P, High: list[len(list)-1].P, Count: len(list)}
	for _, f := range list {
		b.P += f.P / float64(len(list))
		b.Frequency += f.Outcome / float64(len(list))
	}
	return b
}
