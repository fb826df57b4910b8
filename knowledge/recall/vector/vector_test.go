package vector

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSearch(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	putVectors(t, v, "m", 60, []float32{1, 0, 0}, []float32{1, 1, 0}, []float32{0, 1, 0}, []float32{-1, 0, 0}, []float32{0, 0, 0}, []float32{2, 0, 0})
	q := []float32{3, 0.5, 0}
	tests := []struct {
		name string
		n    int
		keep func(int64) bool
		want []int64
	}{
		{"all", 9, nil, []int64{60, 65, 61, 62, 64, 63}},
		{"some", 2, nil, []int64{60, 65}},
		{"none", 0, nil, []int64{}},
		{"filtered", 2, func(p int64) bool { return p > 61 }, []int64{65, 62}},
		{"all filtered", 2, func(int64) bool { return false }, []int64{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, foundPassages(t, v, "m", q, test.n, test.keep)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if hits, err := v.Search(t.Context(), "m", q, 1, nil); err != nil || len(hits) != 1 || hits[0].Score < 0.986 || hits[0].Score > 0.987 {
		t.Errorf("the best is %v, %v", hits, err)
	}
}

func TestSearchRefuses(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	if got := foundPassages(t, v, "none", []float32{1}, 5, nil); len(got) > 0 {
		t.Errorf("found %v of a model without vectors", got)
	}
	putVectors(t, v, "m", 1, []float32{1, 2})
	if _, err := v.Search(t.Context(), "m", []float32{1}, 5, nil); !errors.Is(err, ErrLength) {
		t.Errorf("error is %v, want ErrLength", err)
	}
	zero := float32(0)
	if _, err := v.Search(t.Context(), "m", []float32{1, 1 / zero}, 5, nil); err == nil {
		t.Error("a query that is no vector is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Search(ctx, "m", []float32{1, 2}, 5, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want that of the context", err)
	}
}

func TestPutRefuses(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	putVectors(t, v, "m", 1, []float32{1, 2})
	zero := float32(0)
	tests := []struct {
		name     string
		model    string
		passages []int64
		vectors  [][]float32
		want     error
	}{
		{"other length", "m", []int64{2}, [][]float32{{1}}, ErrLength},
		{"lengths differ", "n", []int64{2, 3}, [][]float32{{1}, {1, 2}}, ErrLength},
		{"no coordinates", "n", []int64{2}, [][]float32{{}}, ErrLength},
		{"too long", "n", []int64{2}, [][]float32{make([]float32, maxLength+1)}, ErrLength},
		{"no number", "n", []int64{2}, [][]float32{{zero / zero}}, nil},
		{"too few", "n", []int64{2, 3}, [][]float32{{1}}, nil},
		{"no name", "", []int64{2}, [][]float32{{1}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := runTx(t, v, func(tx *sql.Tx) error { return v.Put(t.Context(), tx, test.model, test.passages, test.vectors) })
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("error is %v, want %v", err, test.want)
			}
		})
	}
	if diff := cmp.Diff([]int64{1}, foundPassages(t, v, "m", []float32{1, 2}, 9, nil)); diff != "" {
		t.Errorf("after all that: %s", diff)
	}
}

// Two handles represent two processes.
func TestChangesOfOthersAreSeen(t *testing.T) {
	db := newDatabase(t)
	a, b := openVectors(t, db), openVectors(t, db)
	q := []float32{1, 0}
	all := func(want ...int64) {
		t.Helper()
		for _, v := range []*Vectors{a, b} {
			if diff := cmp.Diff(want, foundPassages(t, v, "m", q, 9, nil)); diff != "" {
				t.Error(diff)
			}
			if n, err := v.Count(t.Context(), "m"); err != nil || n != len(want) {
				t.Errorf("%d vectors, %v; want %d", n, err, len(want))
			}
		}
	}
	putVectors(t, a, "m", 1, []float32{1, 0}, []float32{0, 1})
	all(1, 2)
	putVectors(t, b, "m", 200, []float32{1, 0.1})
	all(1, 200, 2)
	putVectors(t, a, "m", 1, []float32{-1, 0}) // replaces the vector
	all(200, 2, 1)
	removePassages(t, b, 2, 200, 7, 9000)
	all(1)
	removePassages(t, a, 1)
	for _, v := range []*Vectors{a, b} {
		if got := foundPassages(t, v, "m", q, 9, nil); len(got) > 0 {
			t.Errorf("found %v after all were removed", got)
		}
	}
	putVectors(t, a, "m", 2, []float32{1, 2, 3}) // any length, since there are no vectors
	q = []float32{1, 0, 0}
	all(2)
	if err := a.Drop(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	for _, v := range []*Vectors{a, b} {
		if got := foundPassages(t, v, "m", q, 9, nil); len(got) > 0 {
			t.Errorf("found %v of a model that was dropped", got)
		}
	}
	putVectors(t, b, "m", 3, []float32{1})
	q = []float32{1}
	all(3)
}

func TestWhatIsNotCommittedIsNotFound(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	stop := errors.New("stop")
	err := runTx(t, v, func(tx *sql.Tx) error {
		if err := v.Put(t.Context(), tx, "m", []int64{1}, [][]float32{{1}}); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if got := foundPassages(t, v, "m", []float32{1}, 9, nil); len(got) > 0 {
		t.Errorf("found %v", got)
	}
}

func TestRemovedVectorsLeaveNothing(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	loadRandom(t, v, "m", 300, 40, func(rng *rand.Rand) []float32 { return randomVector(rng, 40) })
	var all []int64
	for p := range int64(301) {
		all = append(all, p)
	}
	removePassages(t, v, all...)
	var bytes int
	if err := v.db.Read.QueryRowContext(t.Context(), `SELECT coalesce(sum(length(data)), 0) FROM vector_block`).Scan(&bytes); err != nil || bytes > 0 {
		t.Errorf("%d bytes are left, %v", bytes, err)
	}
}

// Searches succeed during writes.
func TestSearchWhileWriting(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	putVectors(t, v, "m", 1, []float32{1, 0})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range int64(50) {
			putVectors(t, v, "m", 2+i, []float32{0, 1}, []float32{0, 1})
			removePassages(t, v, 2+i)
		}
	}()
	for range 50 {
		if got := foundPassages(t, v, "m", []float32{1, 0}, 1, nil); len(got) != 1 || got[0] != 1 {
			t.Fatalf("found %v", got)
		}
	}
	<-done
	if n, err := v.Count(t.Context(), "m"); err != nil || n != 2 {
		t.Errorf("%d vectors, %v", n, err)
	}
}
