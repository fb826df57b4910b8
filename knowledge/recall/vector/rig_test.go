package vector

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"ponder/internal/textkit/ranking"
	"ponder/store/sqldb"
	"ponder/store/sqlite"
)

func newDatabase(t testing.TB) sqldb.DB {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.SQL()
}

func openVectors(t testing.TB, db sqldb.DB) *Vectors {
	t.Helper()
	v, err := Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func putVectors(t testing.TB, v *Vectors, model string, first int64, vectors ...[]float32) {
	t.Helper()
	passages := make([]int64, len(vectors))
	for i := range passages {
		passages[i] = first + int64(i)
	}
	if err := runTx(t, v, func(tx *sql.Tx) error { return v.Put(t.Context(), tx, model, passages, vectors) }); err != nil {
		t.Fatal(err)
	}
}

func runTx(t testing.TB, v *Vectors, do func(tx *sql.Tx) error) error {
	t.Helper()
	return v.db.Tx(t.Context(), do)
}

func removePassages(t testing.TB, v *Vectors, passages ...int64) {
	t.Helper()
	if err := runTx(t, v, func(tx *sql.Tx) error { return v.Remove(t.Context(), tx, passages...) }); err != nil {
		t.Fatal(err)
	}
}

func foundPassages(t testing.TB, v *Vectors, model string, query []float32, n int, keep func(int64) bool) []int64 {
	t.Helper()
	hits, err := v.Search(t.Context(), model, query, n, keep)
	if err != nil {
		t.Fatal(err)
	}
	out := []int64{}
	for _, h := range hits {
		out = append(out, h.Passage)
	}
	return out
}

// loadRandom puts random vectors of passages 1 to n and returns them.
func loadRandom(t testing.TB, v *Vectors, model string, n, length int, make func(*rand.Rand) []float32) [][]float32 {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	all := [][]float32{}
	for range n {
		all = append(all, make(rng))
	}
	for from := 0; from < n; from += 1000 {
		putVectors(t, v, model, int64(from)+1, all[from:min(from+1000, n)]...)
	}
	return all
}

// exactNearest returns the n nearest of passages numbered from 1.
func exactNearest(all [][]float32, query []float32, n int) []int64 {
	b := ranking.NewBest(n, (*candidate).isBetter)
	for i, v := range all {
		product, norm := float32(0), 0.0
		for j, x := range v {
			product += x * query[j]
			norm += float64(x) * float64(x)
		}
		b.Add(candidate{score: product / sqrt32(norm), block: i})
	}
	var out []int64
	for _, c := range b.Items() {
		out = append(out, int64(c.block)+1)
	}
	return out
}

type textSource struct {
	list   []Text
	before func(passage int64) // called before each read
}

func (s *textSource) TextsAfter(_ context.Context, passage int64, n int) (out []Text, err error) {
	if s.before != nil {
		s.before(passage)
	}
	for _, t := range s.list {
		if t.Passage > passage && len(out) < n {
			out = append(out, t)
		}
	}
	return out, nil
}
