package main

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/vector"
	"ponder/llm/llmtest"
	"ponder/store/sqldb"
)

// A publishedScores holds published figures to reach.
type publishedScores struct{ gain, feedback float64 }

func addDocs(ctx context.Context, db sqldb.DB, x *index.Index, docs []index.Doc) error {
	batch := x.Prepare(docs)
	return db.Tx(ctx, func(tx *sql.Tx) error { return x.AddBatch(ctx, tx, batch) })
}

// A ranker ranks a collection by words, by vectors and by both.
type ranker struct {
	collection
	x       *index.Index
	vectors *vector.Vectors
	model   *llmtest.LSA
	ids     map[int64]string // document IDs by passage
}

// fusionDepth is the length of the rankings to fuse.
const fusionDepth = 200

// rankingScenario measures the ranking of a collection by BM25, BM25 with feedback, the vectors of a
// fitted embedder, and words with vectors.
func rankingScenario(name string, minimum publishedScores) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		c, err := readCollection(name)
		if err != nil {
			return nil, err
		}
		db, remove, err := newDatabase(ctx)
		if err != nil {
			return nil, err
		}
		defer remove()
		r, err := newRanker(ctx, db, c)
		if err != nil {
			return nil, err
		}
		lexical, dense, both := 0.0, 0.0, 0.0
		plain, feedback := 0.0, 0.0
		n := float64(len(c.queries))
		for _, q := range c.queries {
			rel := c.rel[q.ID]
			words, err := r.rankByWords(ctx, q.Text, false)
			if err != nil {
				return nil, err
			}
			more, err := r.rankByWords(ctx, q.Text, true)
			if err != nil {
				return nil, err
			}
			meaning, err := r.rankByVectors(ctx, q.Text)
			if err != nil {
				return nil, err
			}
			top := words[:min(fusionDepth, len(words))]
			fused := vector.Fuse(top, meaning, vector.Weight(top, meaning))
			lexical += ndcgAt10(r.documentIDs(words), rel) / n
			dense += ndcgAt10(r.documentIDs(meaning), rel) / n
			both += ndcgAt10(r.documentIDs(fused), rel) / n
			plain += averagePrecision(r.documentIDs(words), rel) / n
			feedback += averagePrecision(r.documentIDs(more), rel) / n
		}
		return []figure{
			{Name: "nDCG@10 by words", Value: lexical, Goal: minimum.gain, Minimum: true},
			{Name: "MAP by words", Value: plain},
			{Name: "MAP by words, with feedback", Value: feedback, Goal: minimum.feedback, Minimum: true},
			{Name: "nDCG@10 by vectors (LSA, 256 dimensions)", Value: dense},
			{Name: "nDCG@10 by both", Value: both, Goal: max(lexical, dense), Minimum: true},
		}, nil
	}
}

func newRanker(ctx context.Context, db sqldb.DB, c collection) (*ranker, error) {
	r := &ranker{collection: c, ids: make(map[int64]string)}
	x, err1 := index.Open(ctx, db)
	v, err2 := vector.Open(ctx, db)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	r.x, r.vectors = x, v
	var docs []index.Doc
	var texts []string
	for i, d := range c.docs {
		docs = append(docs, index.Doc{ID: int64(i + 1), Title: d.Title, Language: "en", Passages: []index.Passage{{End: len(d.Text), Text: d.Text}}})
		texts = append(texts, d.Title+" "+d.Text)
	}
	if err := indexDocs(ctx, db, x, docs); err != nil {
		return nil, err
	}
	var passages []int64
	for i := range docs {
		first, _, err := x.PassageRange(ctx, docs[i].ID)
		if err != nil {
			return nil, err
		}
		r.ids[first] = c.docs[i].ID
		passages = append(passages, first)
	}
	var err error
	if r.model, err = llmtest.NewLSA(texts, 256); err != nil {
		return nil, err
	}
	for i := range slices.Chunk(firstIndices(len(texts)), 500) {
		from, to := i[0], i[len(i)-1]+1
		vectors := make([][]float32, 0, to-from)
		for _, t := range texts[from:to] {
			vectors = append(vectors, r.model.Embed(t))
		}
		err := db.Tx(ctx, func(tx *sql.Tx) error { return v.Put(ctx, tx, llmtest.LSAModel, passages[from:to], vectors) })
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func firstIndices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func (r *ranker) rankByWords(ctx context.Context, text string, feedback bool) (list []vector.ScoredPassage, err error) {
	hits, err := r.x.Search(ctx, index.Query{Terms: []index.Term{{Word: text}}, Feedback: feedback}, 1000)
	for _, h := range hits {
		list = append(list, vector.ScoredPassage{Passage: h.Passage, Score: h.Score})
	}
	return list, err
}

func (r *ranker) rankByVectors(ctx context.Context, text string) ([]vector.ScoredPassage, error) {
	return r.vectors.Search(ctx, llmtest.LSAModel, r.model.Embed(text), fusionDepth, func(int64) bool { return true })
}

func (r *ranker) documentIDs(list []vector.ScoredPassage) (ids []string) {
	for _, s := range list {
		ids = append(ids, r.ids[s.Passage])
	}
	return ids
}
