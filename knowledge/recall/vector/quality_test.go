package vector_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ponder/internal/racetest"
	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/vector"
	"ponder/llm/llmtest"
	"ponder/store/sqlite"
)

// readTestdata returns a folder of benchmark data, or skips the test.
func readTestdata(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("benchmark data: %v", err)
	}
	return dir
}

func eachLine(t testing.TB, name string, f func([]byte)) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		f(s.Bytes())
	}
}

type record struct {
	ID          string `json:"_id"`
	Title, Text string
}

// A judgedCollection is a collection with questions and relevances.
type judgedCollection struct {
	docs, questions []record
	relevant        map[string]map[string]float64
}

func readCollection(t testing.TB, name string) (c judgedCollection) {
	t.Helper()
	dir := readTestdata(t, filepath.Join("ir", name))
	for file, to := range map[string]*[]record{"corpus.jsonl": &c.docs, "queries.jsonl": &c.questions} {
		eachLine(t, filepath.Join(dir, file), func(b []byte) {
			var r record
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			*to = append(*to, r)
		})
	}
	c.relevant = map[string]map[string]float64{}
	eachLine(t, filepath.Join(dir, "qrels.tsv"), func(b []byte) {
		var q, d string
		var score float64
		if _, err := fmt.Sscan(string(b), &q, &d, &score); err != nil {
			return
		}
		if c.relevant[q] == nil {
			c.relevant[q] = map[string]float64{}
		}
		c.relevant[q][d] = score
	})
	return c
}

func ndcg(ranking []string, relevant map[string]float64) float64 {
	gain := func(scores []float64) (g float64) {
		for i, s := range scores[:min(10, len(scores))] {
			g += s / math.Log2(float64(i+2))
		}
		return g
	}
	var got, ideal []float64
	for _, id := range ranking {
		got = append(got, relevant[id])
	}
	for _, s := range relevant {
		ideal = append(ideal, s)
	}
	slices.Sort(ideal)
	slices.Reverse(ideal)
	return gain(got) / gain(ideal)
}

type passageSource struct{ *index.Index }

func (p passageSource) TextsAfter(ctx context.Context, passage int64, n int) (out []vector.Text, err error) {
	entries, err := p.Index.EntriesAfter(ctx, passage, n)
	for _, e := range entries {
		out = append(out, vector.Text{Passage: e.Num, Text: e.Text})
	}
	return out, err
}

type rig struct {
	judgedCollection
	index   *index.Index
	vectors *vector.Vectors
	embed   *llmtest.LSA
	id      map[int64]string
}

func newRig(t testing.TB, name string, dimensions int) *rig {
	t.Helper()
	r := &rig{judgedCollection: readCollection(t, name), id: map[int64]string{}}
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.index, err = index.Open(t.Context(), s.SQL()); err != nil {
		t.Fatal(err)
	}
	if r.vectors, err = vector.Open(t.Context(), s.SQL()); err != nil {
		t.Fatal(err)
	}
	var docs []index.Doc
	var texts []string
	for i, d := range r.docs {
		text := d.Title + "\n" + d.Text
		docs = append(docs, index.Doc{ID: int64(i) + 1, Title: d.Title, Language: "en", Passages: []index.Passage{{End: len(text), Text: text}}})
		texts = append(texts, text)
	}
	if err := s.SQL().Tx(t.Context(), func(tx *sql.Tx) error { return r.index.Add(t.Context(), tx, docs) }); err != nil {
		t.Fatal(err)
	}
	if r.embed, err = llmtest.NewLSA(texts, dimensions); err != nil {
		t.Fatal(err)
	}
	if err := r.vectors.Fill(t.Context(), r.newEmbedder(), passageSource{r.index}, nil); err != nil {
		t.Fatal(err)
	}
	r.mapPassages(t)
	return r
}

func (r *rig) newEmbedder() vector.Embedder {
	return vector.Embedder{Model: llmtest.LSAModel, Embed: func(_ context.Context, texts []string) (out [][]float32, err error) {
		for _, t := range texts {
			out = append(out, r.embed.Embed(t))
		}
		return out, nil
	}}
}

func (r *rig) mapPassages(t testing.TB) {
	entries, err := r.index.EntriesAfter(t.Context(), 0, len(r.docs)+1)
	if err != nil || len(entries) != len(r.docs) {
		t.Fatalf("%d passages of %d documents, %v", len(entries), len(r.docs), err)
	}
	for _, e := range entries {
		r.id[e.Num] = r.docs[e.Doc-1].ID
	}
}

func (r *rig) searchBoth(t testing.TB, question string) (lexical, dense []vector.ScoredPassage) {
	t.Helper()
	const depth = 200
	hits, err := r.index.Search(t.Context(), index.Query{Terms: []index.Term{{Word: question}}}, depth)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		lexical = append(lexical, vector.ScoredPassage{Passage: h.Passage, Score: h.Score})
	}
	if dense, err = r.vectors.Search(t.Context(), llmtest.LSAModel, r.embed.Embed(question), depth, r.index.FilterPassages(index.Filter{})); err != nil {
		t.Fatal(err)
	}
	return lexical, dense
}

func (r *rig) rankingGain(ranking []vector.ScoredPassage, question string) float64 {
	var ids []string
	for _, s := range ranking[:min(10, len(ranking))] {
		ids = append(ids, r.id[s.Passage])
	}
	return ndcg(ids, r.relevant[question])
}

// TestHybridQuality compares words, vectors and both, with embedders from very bad to
// better than words.
func TestHybridQuality(t *testing.T) {
	racetest.Skip(t, "one goroutine, which ranks a collection")
	fixed := []float64{0.3, 0.4, 0.5, 0.6, 0.7}
	for _, name := range []string{"cranfield", "cisi"} {
		for _, dimensions := range []int{8, 256} {
			t.Run(fmt.Sprint(name, dimensions), func(t *testing.T) {
				r := newRig(t, name, dimensions)
				words, vectors, both, n := 0.0, 0.0, 0.0, 0.0
				others := make([]float64, len(fixed))
				for _, q := range r.questions {
					if len(r.relevant[q.ID]) == 0 {
						continue
					}
					n++
					lexical, dense := r.searchBoth(t, q.Text)
					words += r.rankingGain(lexical, q.ID)
					vectors += r.rankingGain(dense, q.ID)
					both += r.rankingGain(vector.Fuse(lexical, dense, vector.Weight(lexical, dense)), q.ID)
					for i, w := range fixed {
						others[i] += r.rankingGain(vector.Fuse(lexical, dense, w), q.ID)
					}
				}
				for i := range others {
					others[i] /= n
				}
				t.Logf("nDCG@10 of %.0f questions: words %.4f, vectors %.4f, both %.4f; with weights %v %.4f", n, words/n, vectors/n, both/n, fixed, others)
				if both <= max(words, vectors) {
					t.Error("both are not better than one")
				}
			})
		}
	}
}
