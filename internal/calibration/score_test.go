package calibration_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder/internal/calibration"
)

func TestScores(t *testing.T) {
	repeat := func(n int, f calibration.Forecast) (list []calibration.Forecast) {
		for range n {
			list = append(list, f)
		}
		return list
	}
	for _, tt := range []struct {
		name            string
		list            []calibration.Forecast
		brier, ece, log float64
	}{
		{"perfect", append(repeat(10, calibration.Forecast{P: 1, Outcome: 1}), repeat(10, calibration.Forecast{})...), 0, 0, 0.0001},
		{"always wrong", repeat(5, calibration.Forecast{P: 1}), 1, 1, 9.2103},
		{"a coin", append(repeat(10, calibration.Forecast{P: 0.5, Outcome: 1}), repeat(10, calibration.Forecast{P: 0.5})...), 0.25, 0, 0.6931},
		{"too sure", append(repeat(10, calibration.Forecast{P: 0.9, Outcome: 1}), repeat(10, calibration.Forecast{P: 0.9})...), 0.41, 0.4, 1.2040},
		{"right in part", repeat(3, calibration.Forecast{P: 0.5, Outcome: 0.5}), 0, 0, 0.6931},
		{"two bins", append(repeat(15, calibration.Forecast{P: 0.2, Outcome: 0.5}), repeat(15, calibration.Forecast{P: 0.7, Outcome: 0.5})...), 0.065, 0.25, 0.8483},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := []float64{calibration.Brier(tt.list), calibration.ECE(tt.list), calibration.LogLoss(tt.list)}
			if d := cmp.Diff([]float64{tt.brier, tt.ece, tt.log}, got, cmpopts.EquateApprox(0, 0.0001)); d != "" {
				t.Error(d)
			}
		})
	}
	if b, e := calibration.Brier(nil), calibration.ECE(nil); !math.IsNaN(b) || !math.IsNaN(e) {
		t.Errorf("of nothing: %v, %v", b, e)
	}
}

// TestChance compares Chance with simulations.
func TestChance(t *testing.T) {
	const draws = 400
	r := rand.New(rand.NewPCG(seedOfProperties, 2))
	for _, n := range []int{20, 60, 200, 1000} {
		var mean, said float64
		for range draws {
			list := make([]calibration.Forecast, n)
			for i := range list {
				list[i].P = randomSkill(r)
				if r.Float64() < list[i].P {
					list[i].Outcome = 1
				}
			}
			mean += calibration.ECE(list) / draws
			said += calibration.Chance(list) / draws
		}
		if math.Abs(mean-said) > 0.1*mean {
			t.Errorf("of %d forecasts: %.4f, and it is %.4f", n, said, mean)
		}
	}
}

func TestReliability(t *testing.T) {
	line := func(n int) (list []calibration.Forecast) {
		for i := range n {
			list = append(list, calibration.Forecast{P: float64(i) / float64(n), Outcome: float64(i % 2)})
		}
		return list
	}
	constant := make([]calibration.Forecast, 100)
	for i := range constant {
		constant[i] = calibration.Forecast{P: 0.9, Outcome: float64(i % 2)}
	}
	for _, tt := range []struct {
		name string
		list []calibration.Forecast
		want []int // expected counts
	}{
		{"none", nil, nil},
		{"one", line(1), []int{1}},
		{"too few for two", line(15), []int{15}},
		{"enough for two", line(16), []int{8, 8}},
		{"enough for three", line(25), []int{8, 8, 9}},
		{"few", line(35), []int{11, 12, 12}},
		{"as many as three full ones", line(45), []int{15, 15, 15}},
		{"few, and half the same", append(line(10), constant[:10]...), []int{9, 11}},
		{"few, and most the same", append(line(5), constant[:20]...), []int{25}},
		{"many", line(1000), []int{100, 100, 100, 100, 100, 100, 100, 100, 100, 100}},
		{"all the same", constant, []int{100}},
		{"half of them the same", append(line(100), constant...), []int{20, 20, 20, 20, 111, 9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var counts []int
			last := -1.0
			for _, b := range calibration.Reliability(tt.list) {
				counts = append(counts, b.Count)
				if b.Low <= last || b.P < b.Low-1e-9 || b.P > b.High+1e-9 {
					t.Errorf("%+v after %v", b, last)
				}
				last = b.High
			}
			if d := cmp.Diff(tt.want, counts); d != "" {
				t.Error(d)
			}
		})
	}
}
