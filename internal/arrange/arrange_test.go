package arrange

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

type row struct {
	key, n int
	text   [14]string
}

func byKey(a, b row) int { return cmp.Compare(a.key, b.key) }

// rows are n rows of which many have the same key, numbered.
func rows(n int, seed uint64) []row {
	r := rand.New(rand.NewPCG(seed, 0))
	list := make([]row, n)
	for i := range list {
		list[i] = row{key: r.IntN(n/2 + 1), n: i}
	}
	return list
}

func TestBy(t *testing.T) {
	for seed := range uint64(200) {
		list := rows(int(seed), seed)
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		if got := Sorted(slices.Values(list), byKey); !slices.Equal(got, want) {
			t.Fatalf("%d rows: not sorted as package slices does", seed)
		}
		By(list, byKey)
		if !slices.Equal(list, want) {
			t.Fatalf("%d rows: not sorted in place", seed)
		}
	}
}

func BenchmarkBy(b *testing.B) {
	for _, n := range []struct {
		name string
		rows int
	}{{"10", 10}, {"100", 100}, {"10000", 10000}} {
		list := rows(n.rows, 1)
		for _, way := range []struct {
			name string
			sort func([]row, func(a, b row) int)
		}{{"arrange", By[[]row]}, {"slices", slices.SortStableFunc[[]row]}, {"unstable", slices.SortFunc[[]row]}} {
			b.Run(n.name+"/"+way.name, func(b *testing.B) {
				work := make([]row, len(list))
				for b.Loop() {
					copy(work, list)
					way.sort(work, byKey)
				}
			})
		}
	}
}
