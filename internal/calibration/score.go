package calibration

import (
	"cmp"
	"math"
	"slices"
)

// A Forecast is a probability with the outcome. A NaN probability means no forecast.
type Forecast struct {
	P       float64 // of being right, 0 to 1
	Outcome float64 // 0 to 1
}

// Claims returns the claims as forecasts. Cases that [Fit] ignores have no P.
func Claims(cases []Case) []Forecast {
	list, order := emptyForecasts(cases)
	for _, i := range order {
		list[i].P = clampUnit(cases[i].Claimed)
	}
	return list
}

// CrossValidate returns a forecast for each case by a map fitted on nine tenths of the cases
// without it. Without enough cases, there is no P.
func CrossValidate(cases []Case) []Forecast {
	list, order := emptyForecasts(cases)
	clean := validCases(cases)
	if findMissing(clean) != (MissingCases{}) {
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
		w := learnWeights(learned)
		for i := part; i < len(clean); i += parts {
			list[order[i]].P = w.forecastCase(clean[i])
		}
	}
	return list
}

// emptyForecasts returns a forecast without P for each case, and the indexes of the valid cases in
// the order of validCases.
func emptyForecasts(cases []Case) (list []Forecast, order []int) {
	for i, c := range cases {
		list = append(list, Forecast{math.NaN(), c.Outcome})
		if c.isValid() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return compareCases(cases[i].clamp(), cases[j].clamp()) })
	return list, order
}

func withP(list []Forecast) []Forecast {
	return slices.DeleteFunc(slices.Clone(list), func(f Forecast) bool { return math.IsNaN(f.P) })
}

// Brier returns the mean squared error of the forecasts: 0 is best, 0.25 results from always
// forecasting 0.5 (Brier 1950). It returns NaN for no forecasts.
func Brier(list []Forecast) float64 {
	list = withP(list)
	var sum float64
	for _, f := range list {
		sum += (f.P - f.Outcome) * (f.P - f.Outcome)
	}
	return sum / float64(len(list))
}

// LogLoss returns the mean of -ln of the probability given to the outcome: 0 is best, 0.69 results
// from always forecasting 0.5. It clamps forecasts to 0.0001 and 0.9999. It returns NaN for no
// forecasts.
func LogLoss(list []Forecast) float64 {
	const least = 1e-4
	list = withP(list)
	var sum float64
	for _, f := range list {
		p := min(max(f.P, least), 1-least)
		sum -= f.Outcome*math.Log(p) + (1-f.Outcome)*math.Log(1-p)
	}
	return sum / float64(len(list))
}

// ECE returns the expected calibration error: the mean distance between forecast and frequency
// over the bins of [Reliability], weighted by count. 0 is best. It returns NaN for no forecasts.
//
// The measure is by Naeini, Cooper and Hauskrecht 2015 and Guo et al. 2017. Few forecasts bias it
// upwards, see [Chance]. Bins of equal count are less biased than those of equal width (Roelofs et
// al. 2022).
func ECE(list []Forecast) float64 {
	list = withP(list)
	var sum float64
	for _, b := range Reliability(list) {
		sum += math.Abs(b.P-b.Frequency) * float64(b.Count)
	}
	return sum / float64(len(list))
}

// Chance estimates the mean [ECE] of perfectly calibrated forecasts. A lower or equal ECE is no
// evidence of miscalibration.
func Chance(list []Forecast) float64 {
	list = withP(list)
	sortForecasts(list)
	n := float64(len(list))
	var sum float64
	for _, b := range Reliability(list) {
		var variance float64
		for _, f := range list[:b.Count] {
			variance += f.P * (1 - f.P)
		}
		sum += math.Sqrt(variance * 2 / math.Pi) // mean absolute deviation of a normal distribution
		list = list[b.Count:]
	}
	return sum / n
}

// A Bin is a row of a reliability table.
type Bin struct {
	Low, High float64 // lowest and highest forecast
	Count     int
	P         float64 // mean forecast
	Frequency float64 // mean outcome
}

// Sizes of bins.
const (
	maxBins   = 10
	fullBin   = 15 // forecasts in a bin of a large table
	smallBins = 3  // bins in a small table
	smallBin  = 8  // forecasts in a bin of a small table
)

// Reliability returns bins of about equal counts in ascending order: at most ten, with at least
// fifteen forecasts each; for few forecasts, at most three of at least eight. Equal forecasts
// share a bin. A bin has fewer than eight forecasts only if there are no more in total.
func Reliability(list []Forecast) []Bin {
	list = withP(list)
	sortForecasts(list)
	most, full := maxBins, fullBin
	if len(list) < smallBins*fullBin {
		most, full = smallBins, smallBin
	}
	n := min(most, max(1, len(list)/full))
	var bins []Bin
	for from := 0; from < len(list); {
		to := binEnd(list, from, min(max(from+full, len(list)*(len(bins)+1)/n), len(list)))
		bins = append(bins, newBin(list[from:to]))
		from = to
	}
	return bins
}

// binEnd returns the end of a bin from from to about to. It moves equal forecasts to the next bin
// if this bin would otherwise be the last and both remain large enough.
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

func sortForecasts(list []Forecast) {
	slices.SortStableFunc(list, func(a, b Forecast) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Outcome, b.Outcome))
	})
}

func newBin(list []Forecast) Bin {
	b := Bin{Low: list[0].P, High: list[len(list)-1].P, Count: len(list)}
	for _, f := range list {
		b.P += f.P / float64(len(list))
		b.Frequency += f.Outcome / float64(len(list))
	}
	return b
}
