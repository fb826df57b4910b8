package ranking

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestScorer(t *testing.T) {
	// The formula of Robertson and Zaragoza, with k1 = 1.2 and b = 0.75.
	score := func(n, df, freq, length, average float64) float64 {
		return math.Log(1+(n-df+0.5)/(df+0.5)) * freq * 2.2 / (freq + 1.2*(1-0.75+0.75*length/average))
	}
	for _, c := range [][5]float64{{10, 1, 1, 5, 5}, {1000, 999, 3, 40, 10}, {7, 7, 2, 1, 90}} {
		got := NewScorer(Rarity(c[0], c[1]), c[4], 0.75).Score(float32(c[2]), float32(c[3]))
		if want := score(c[0], c[1], c[2], c[3], c[4]); math.Abs(float64(got)-want) > 1e-5*want {
			t.Errorf("%v: got %v, want %v", c, got, want)
		}
	}
}

func TestPostings(t *testing.T) {
	want := []Posting{{0, 1}, {1, 2}, {130, 255}, {70_000, 1}}
	var b []byte
	before := int32(0)
	for _, p := range want {
		b = AppendPosting(b, p.At-before, p.Freq)
		before = p.At
	}
	if got := AppendPostings(nil, b, len(want), math.MaxInt32); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := AppendPostings(nil, b, len(want), 130); !slices.Equal(got, want[:2]) {
		t.Errorf("of 130 texts: got %v", got)
	}
	if got := AppendPostings(nil, b[:len(b)-1], len(want), math.MaxInt32); len(got) != 3 {
		t.Errorf("cut off: got %v", got)
	}
}

func TestBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, 100} {
		best := NewBest(n, func(a, b *int) bool { return *a > *b })
		all := r.Perm(60)
		for _, v := range all {
			best.Add(v)
		}
		slices.SortFunc(all, func(a, b int) int { return b - a })
		got := slices.Clone(best.Items())
		if len(got) > 0 && best.Full() && got[0] != slices.Min(got) {
			t.Errorf("of %d the first is %d, not the worst", n, got[0])
		}
		slices.SortFunc(got, func(a, b int) int { return b - a })
		if !slices.Equal(got, all[:min(n, 60)]) {
			t.Errorf("best %d of 60: %v", n, got)
		}
	}
}
