package vector

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func numberedTexts(n int) *textSource {
	s := &textSource{}
	for i := range n {
		s.list = append(s.list, Text{int64(i) + 1, fmt.Sprint("text ", i+1)})
	}
	return s
}

// fakeEmbedder counts texts and can fail.
type fakeEmbedder struct {
	length int
	seen   []string
	fail   func(texts []string) error
}

func (f *fakeEmbedder) embedderFor(model string) Embedder {
	return Embedder{Model: model, Batch: 10, Embed: func(_ context.Context, texts []string) (out [][]float32, err error) {
		if f.fail != nil {
			if err := f.fail(texts); err != nil {
				return nil, err
			}
		}
		f.seen = append(f.seen, texts...)
		for range texts {
			v := make([]float32, f.length)
			v[0] = 1
			out = append(out, v)
		}
		return out, nil
	}}
}

func checkCount(t *testing.T, v *Vectors, model string, want int) {
	t.Helper()
	if n, err := v.Count(t.Context(), model); err != nil || n != want {
		t.Errorf("%d vectors of %s, %v; want %d", n, model, err, want)
	}
}

func TestFill(t *testing.T) {
	v, src, f := openVectors(t, newDatabase(t)), numberedTexts(95), &fakeEmbedder{length: 3}
	var steps []int
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, func(n int) { steps = append(steps, n) }); err != nil {
		t.Fatal(err)
	}
	checkCount(t, v, "m", 95)
	if len(f.seen) != 95 || !slices.IsSorted(steps) || steps[0] != 10 || steps[len(steps)-1] != 95 {
		t.Errorf("%d texts embedded, progress is %v", len(f.seen), steps)
	}
	src.list = append(src.list, Text{200, "new"})
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, nil); err != nil {
		t.Fatal(err)
	}
	checkCount(t, v, "m", 96)
	if diff := cmp.Diff([]string{"new"}, f.seen[95:]); diff != "" {
		t.Error(diff)
	}
}

func TestFillGoesOnAfterAnError(t *testing.T) {
	v, src, f := openVectors(t, newDatabase(t)), numberedTexts(95), &fakeEmbedder{length: 3}
	down := errors.New("provider is down")
	f.fail = func([]string) error {
		if len(f.seen) == 40 {
			return down
		}
		return nil
	}
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, nil); !errors.Is(err, down) {
		t.Fatalf("error is %v", err)
	}
	checkCount(t, v, "m", 40)
	f.fail = nil
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, nil); err != nil {
		t.Fatal(err)
	}
	checkCount(t, v, "m", 95)
	slices.Sort(f.seen)
	if len(f.seen) != 95 || len(slices.Compact(f.seen)) != 95 {
		t.Errorf("%d texts were embedded", len(f.seen))
	}
}

func TestFillChangesTheModelWhileTheOldOneServes(t *testing.T) {
	v, src := openVectors(t, newDatabase(t)), numberedTexts(95)
	if err := v.Fill(t.Context(), (&fakeEmbedder{length: 3}).embedderFor("old"), src, nil); err != nil {
		t.Fatal(err)
	}
	looked := 0
	f := &fakeEmbedder{length: 5, fail: func([]string) error {
		looked++
		if got := foundPassages(t, v, "old", []float32{1, 0, 0}, 100, nil); len(got) != 95 {
			t.Errorf("found %d of the old model", len(got))
		}
		if m, err := v.ServingModel(t.Context(), "new"); err != nil || m != "old" {
			t.Errorf("%q serves, %v", m, err)
		}
		return nil
	}}
	if err := v.Fill(t.Context(), f.embedderFor("new"), src, nil); err != nil {
		t.Fatal(err)
	}
	models, err := v.Models(t.Context())
	if diff := cmp.Diff([]Model{{"new", 5, 95, true}}, models); diff != "" || err != nil || looked == 0 {
		t.Errorf("%v %s", err, diff)
	}
	blocks := 0
	if err := v.db.Read.QueryRowContext(t.Context(), `SELECT count(*) FROM vector_block`).Scan(&blocks); err != nil || blocks != 2 {
		t.Errorf("%d blocks are left, %v", blocks, err)
	}
}

func TestServing(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	serving := func(want string) {
		t.Helper()
		if m, err := v.ServingModel(t.Context(), "wanted"); err != nil || m != want {
			t.Errorf("%q serves, %v; want %q", m, err, want)
		}
	}
	serving("")
	putVectors(t, v, "a", 1, []float32{1})
	putVectors(t, v, "wanted", 1, []float32{1}, []float32{1})
	serving("wanted") // has more
	putVectors(t, v, "a", 1, []float32{1}, []float32{1}, []float32{1})
	serving("a")
	if err := v.Fill(t.Context(), (&fakeEmbedder{length: 1}).embedderFor("wanted"), numberedTexts(2), nil); err != nil {
		t.Fatal(err)
	}
	serving("wanted")
}

func TestFillLeavesOutTextsThatCannotBeEmbedded(t *testing.T) {
	v, src, f := openVectors(t, newDatabase(t)), numberedTexts(95), &fakeEmbedder{length: 3}
	f.fail = func(texts []string) error {
		if slices.Contains(texts, "text 17") || slices.Contains(texts, "text 95") {
			return fmt.Errorf("refused: %w", ErrText)
		}
		return nil
	}
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, nil); !errors.Is(err, ErrText) || !strings.Contains(err.Error(), "2 texts") {
		t.Errorf("error is %v", err)
	}
	checkCount(t, v, "m", 93)
	if models, err := v.Models(t.Context()); err != nil || len(models) != 1 || !models[0].Whole {
		t.Errorf("models are %v, %v", models, err)
	}
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, nil); err != nil {
		t.Errorf("they are tried again: %v", err)
	}
}

func TestFillDropsNothingForAModelThatRefusesAll(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	putVectors(t, v, "old", 1, []float32{1})
	for _, n := range []int{5, 95} {
		f := &fakeEmbedder{fail: func([]string) error { return ErrText }}
		if err := v.Fill(t.Context(), f.embedderFor("new"), numberedTexts(n), nil); !errors.Is(err, ErrText) {
			t.Errorf("error is %v", err)
		}
	}
	checkCount(t, v, "old", 1)
}

func TestFillFollowsPassagesThatComeAndGo(t *testing.T) {
	v, src, f := openVectors(t, newDatabase(t)), numberedTexts(30), &fakeEmbedder{length: 3}
	putVectors(t, v, "m", 33, []float32{1, 0, 0}) // without a passage
	changed := false
	src.before = func(passage int64) {
		if passage == 10 && !changed { // after the first batch
			changed = true
			src.list = slices.Delete(src.list, 19, 20) // passage 20
			removePassages(t, v, 20)
			src.list = append(src.list, Text{31, "text 31"})
			putVectors(t, v, "m", 31, []float32{0, 1, 0}) // with its vector
		}
	}
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, nil); err != nil {
		t.Fatal(err)
	}
	checkCount(t, v, "m", 30)
	if slices.Contains(f.seen, "text 20") || slices.Contains(f.seen, "text 31") {
		t.Errorf("embedded %v", f.seen)
	}
	src.list = append(src.list[:len(src.list)-2], Text{30, "another of this number"})
	removePassages(t, v, 30, 31)
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, nil); err != nil {
		t.Fatal(err)
	}
	if got := f.seen[len(f.seen)-1]; got != "another of this number" {
		t.Errorf("embedded %q last", got)
	}
}

// A passage removed during embedding gets no vector.
func TestFillRemovesVectorsOfPassagesThatWentMeanwhile(t *testing.T) {
	v, src, f := openVectors(t, newDatabase(t)), numberedTexts(30), &fakeEmbedder{length: 3}
	f.fail = func(texts []string) error {
		if texts[0] == "text 11" {
			src.list = slices.DeleteFunc(src.list, func(t Text) bool { return t.Passage == 15 })
			removePassages(t, v, 15)
		}
		return nil
	}
	if err := v.Fill(t.Context(), f.embedderFor("m"), src, nil); err != nil {
		t.Fatal(err)
	}
	checkCount(t, v, "m", 29)
	if got := foundPassages(t, v, "m", []float32{1, 0, 0}, 40, nil); slices.Contains(got, 15) {
		t.Errorf("found %v", got)
	}
}

func TestFillMakesAllAnewIfTheLengthIsAnother(t *testing.T) {
	v, src := openVectors(t, newDatabase(t)), numberedTexts(30)
	if err := v.Fill(t.Context(), (&fakeEmbedder{length: 3}).embedderFor("m"), src, nil); err != nil {
		t.Fatal(err)
	}
	src.list = append(src.list, Text{31, "text 31"})
	if err := v.Fill(t.Context(), (&fakeEmbedder{length: 4}).embedderFor("m"), src, nil); err != nil {
		t.Fatal(err)
	}
	checkCount(t, v, "m", 31)
	if got := foundPassages(t, v, "m", []float32{1, 0, 0, 0}, 40, nil); len(got) != 31 {
		t.Errorf("found %d", len(got))
	}
}

// Fill skips existing vectors in many blocks.
func TestFillPassesWhatIsThere(t *testing.T) {
	const n = fillBlocks*blockSize + 500
	v, src, f := openVectors(t, newDatabase(t)), numberedTexts(n), &fakeEmbedder{length: 1}
	all := make([][]float32, n-1)
	for i := range all {
		all[i] = []float32{1}
	}
	putVectors(t, v, "m", 1, all...)
	e := f.embedderFor("m")
	e.Batch = 1000
	if err := v.Fill(t.Context(), e, src, nil); err != nil {
		t.Fatal(err)
	}
	checkCount(t, v, "m", n)
	if diff := cmp.Diff([]string{fmt.Sprint("text ", n)}, f.seen); diff != "" {
		t.Error(diff)
	}
}

func TestFillRefuses(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	short := Embedder{Model: "m", Embed: func(context.Context, []string) ([][]float32, error) { return [][]float32{{1}}, nil }}
	for _, e := range []Embedder{{}, {Model: "m"}, short} {
		if err := v.Fill(t.Context(), e, numberedTexts(3), nil); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("error is %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := v.Fill(ctx, (&fakeEmbedder{length: 1}).embedderFor("m"), numberedTexts(3), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// The next Drop completes an interrupted one.
func TestDropGoesOn(t *testing.T) {
	v := openVectors(t, newDatabase(t))
	putVectors(t, v, "m", 1, make([][]float32, 0)...)
	many := make([][]float32, 70*blockSize)
	for i := range many {
		many[i] = []float32{1}
	}
	putVectors(t, v, "m", 1, many...)
	err := runTx(t, v, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `UPDATE vector_model SET name = '', state = 1`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Fill(t.Context(), (&fakeEmbedder{length: 1}).embedderFor("n"), numberedTexts(1), nil); err != nil {
		t.Fatal(err)
	}
	blocks := 0
	if err := v.db.Read.QueryRowContext(t.Context(), `SELECT count(*) FROM vector_block`).Scan(&blocks); err != nil || blocks != 1 {
		t.Errorf("%d blocks are left, %v", blocks, err)
	}
}
