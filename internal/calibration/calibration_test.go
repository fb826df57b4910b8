package calibration_test

import (
	order "cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/calibration"
	"ponder/internal/racetest"
)

const seedOfProperties = 7

func TestLacking(t *testing.T) {
	many := func(n int, outcome float64) (list []calibration.Case) {
		for range n {
			list = append(list, calibration.Case{Claimed: 0.8, Outcome: outcome})
		}
		return list
	}
	nan := math.NaN()
	for _, tt := range []struct {
		name  string
		cases []calibration.Case
		want  calibration.MissingCases
	}{
		{"none", nil, calibration.MissingCases{Cases: 20, Right: true, Wrong: true}},
		{"few", append(many(4, 1), many(3, 0)...), calibration.MissingCases{Cases: 13}},
		{"all right", many(50, 1), calibration.MissingCases{Wrong: true}},
		{"all wrong", many(50, 0), calibration.MissingCases{Right: true}},
		{"all half right", many(20, 0.5), calibration.MissingCases{}},
		{"enough", append(many(19, 1), many(1, 0)...), calibration.MissingCases{}},
		{"no numbers", append(many(19, 1), calibration.Case{Claimed: nan}, calibration.Case{Outcome: nan}, calibration.Case{Outcome: 2}, calibration.Case{Outcome: -0.1}),
			calibration.MissingCases{Cases: 1, Wrong: true}},
		{"too sure", append(many(19, 1), calibration.Case{Claimed: math.Inf(1), Basis: calibration.Basis{Support: nan}}), calibration.MissingCases{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := calibration.Fit(tt.cases)
			if d := cmp.Diff(tt.want, m.Missing()); d != "" {
				t.Error(d)
			}
			p, ok := m.Estimate(0.7, calibration.Basis{})
			if want := tt.want == (calibration.MissingCases{}); ok != want || m.IsCalibrated() != want {
				t.Errorf("%.2f, %t; calibrated: %t", p, ok, m.IsCalibrated())
			}
			if forecasts := calibration.CrossValidate(tt.cases); len(forecasts) != len(tt.cases) || len(tt.cases) > 0 && math.IsNaN(forecasts[0].P) == ok {
				t.Errorf("%d forecasts: %v", len(forecasts), forecasts)
			}
		})
	}
	t.Run("the zero map", func(t *testing.T) {
		var m calibration.Map
		if _, ok := m.Estimate(0.5, calibration.Basis{}); ok || m.Missing().Cases != calibration.MinCases {
			t.Errorf("%t, %+v", ok, m.Missing())
		}
	})
}

// checkMonotonic checks that forecasts are probabilities and never fall when the claim rises.
func checkMonotonic(t *testing.T, m calibration.Map, basis calibration.Basis) {
	t.Helper()
	before := 0.0
	for i := -1; i <= 101; i++ {
		p, ok := m.Estimate(float64(i)/100, basis)
		if ok != m.IsCalibrated() || ok && !(0 < p && p < 1) || p < before {
			t.Fatalf("a claim of %d %% is worth %v, %t; less was worth %v", i, p, ok, before)
		}
		before = p
	}
	if p, ok := m.Estimate(math.NaN(), basis); ok {
		t.Fatalf("no claim is worth %v", p)
	}
}

func TestProperties(t *testing.T) {
	racetest.Skip(t, "pure functions, with thousands of random cases")
	r := rand.New(rand.NewPCG(seedOfProperties, 1))
	for range 20 {
		all := testWorlds()
		w := all[r.IntN(len(all))]
		cases := w.randomCases(20+r.IntN(200), r)
		if r.IntN(3) == 0 {
			for i := range cases { // partly right
				cases[i].Outcome = (cases[i].Outcome + r.Float64()) / 2
			}
		}
		m := calibration.Fit(cases)
		basis := calibration.Basis{Agreement: r.Float64(), Support: r.Float64(), Contradiction: r.Float64(), Stability: r.Float64()}
		checkMonotonic(t, m, basis)
		before := sortForecasts(calibration.CrossValidate(cases))
		r.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
		again := calibration.Fit(cases)
		p, _ := m.Estimate(0.77, basis)
		if q, _ := again.Estimate(0.77, basis); p != q {
			t.Fatalf("%s: in another order, %v is %v", w.name, p, q)
		}
		if d := cmp.Diff(before, sortForecasts(calibration.CrossValidate(cases))); d != "" {
			t.Fatalf("%s: in another order: %s", w.name, d)
		}
	}
}

func sortForecasts(list []calibration.Forecast) []calibration.Forecast {
	return slices.SortedFunc(slices.Values(list), func(a, b calibration.Forecast) int {
		return order.Or(order.Compare(a.P, b.P), order.Compare(a.Outcome, b.Outcome))
	})
}

func FuzzFit(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 30*48))
	seed := make([]byte, 40*48)
	for i := range seed {
		seed[i] = byte(i * 7)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, js []byte) {
		var cases []calibration.Case
		for len(js) >= 12 && len(cases) < 60 {
			short := func(i int) float64 { return float64(binary.LittleEndian.Uint16(js[2*i:])) / math.MaxUint16 }
			c := calibration.Case{Claimed: short(0), Basis: calibration.Basis{Agreement: short(1), Support: short(2), Contradiction: short(3), Stability: short(4)}, Outcome: short(5)}
			if odd := js[0] % 16; odd < 8 { // extreme inputs
				c.Claimed = []float64{math.NaN(), math.Inf(1), math.Inf(-1), -3, 0, 1, 1e300, 0.9}[odd]
				c.Outcome = math.Round(c.Outcome)
				c.Basis.Stability = c.Claimed
			}
			cases, js = append(cases, c), js[12:]
		}
		m := calibration.Fit(cases)
		checkMonotonic(t, m, calibration.Basis{Agreement: 1})
		checkMonotonic(t, m, calibration.Basis{Support: math.NaN(), Contradiction: math.Inf(1)})
		for _, list := range [][]calibration.Forecast{calibration.Claims(cases), calibration.CrossValidate(cases)} {
			if len(calibration.Reliability(list)) == 0 {
				continue
			}
			for name, v := range map[string]float64{"Brier": calibration.Brier(list), "ECE": calibration.ECE(list), "log loss": calibration.LogLoss(list) / 10} {
				if !(0 <= v && v <= 1) {
					t.Fatalf("%s: %v", name, v)
				}
			}
		}
	})
}
