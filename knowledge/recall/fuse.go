package recall

import (
	"context"
	"fmt"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/vector"
)

// What the two rankings weigh. The dense one weighs half where they agree in
// part, and less the less they do: one that finds other things altogether is more
// often wrong than words are.
const (
	denseMost   = 0.5
	denseLeast  = 0.25
	compared    = 10 // of the best of each
	embedWithin = 3 * time.Second
)

// dense returns the passages whose meaning is nearest to that of a text; none if
// there are no vectors, or the model does not answer.
func (s *search) dense(ctx context.Context, text string) ([]vector.Scored, error) {
	l := s.l
	if l.embedder.Embed == nil || text == "" {
		return nil, nil
	}
	model, err := l.vectors.Serving(ctx, l.embedder.Model)
	if err != nil || model == "" {
		return nil, err
	}
	e := l.embedder
	if model != e.Model {
		if l.earlier == nil {
			return nil, nil
		}
		if e = l.earlier(model); e.Embed == nil {
			return nil, nil
		}
	}
	embedding, err := vectorOf(ctx, e, text)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.notes = append(s.notes, fmt.Sprintf("Meaning could not be compared: %s.", textkit.Prefix(err.Error(), 120)))
		return nil, nil
	}
	hits, err := l.vectors.Search(ctx, model, embedding, denseN, l.index.Keep(s.filter))
	if err == nil && len(hits) > 0 {
		s.result.Hybrid = true
		s.tactics.does("meaning")
	}
	return hits, err
}

// vectorOf returns the vector of a text, if the model is quick enough.
func vectorOf(ctx context.Context, e vector.Embedder, text string) ([]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedWithin)
	defer cancel()
	vectors, err := e.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	if len(vectors) != 1 {
		return nil, fmt.Errorf("%d vectors for one text", len(vectors))
	}
	return vectors[0], nil
}

// fuse returns the best n of two rankings, and which are of the second. The
// scores are from 0 to 1 and mean the same from query to query.
func (s *search) fuse(hits []index.Hit, dense []vector.Scored, n int) ([]index.Hit, map[int64]bool) {
	meant := make(map[int64]bool, len(dense))
	if len(dense) == 0 {
		for i := range hits {
			hits[i].Score = hits[i].Relevance
		}
		return hits[:min(len(hits), n)], meant
	}
	lexical := make(map[int64]index.Hit, len(hits))
	for _, h := range hits {
		lexical[h.Passage] = h
	}
	cosine := make(map[int64]float64, len(dense))
	for _, d := range dense {
		cosine[d.Passage] = max(0, d.Score)
	}
	s.agreement = agreement(hits, dense)
	fused := vector.Fuse(scored(hits), dense, denseLeast+(denseMost-denseLeast)*min(1, 2*s.agreement))
	fused = fused[:min(len(fused), n)]
	top := 0.0
	for _, f := range fused[:min(len(fused), 3)] {
		top = max(top, lexical[f.Passage].Relevance, cosine[f.Passage])
	}
	out := make([]index.Hit, 0, len(fused))
	for _, f := range fused {
		h, ok := lexical[f.Passage]
		if !ok {
			h = index.Hit{Passage: f.Passage}
		}
		h.Score = top * f.Score / max(fused[0].Score, 1e-9)
		h.Relevance = h.Score
		_, meant[f.Passage] = cosine[f.Passage]
		out = append(out, h)
	}
	return out, meant
}

// agreement returns which part of the best of two rankings both have.
func agreement(hits []index.Hit, dense []vector.Scored) float64 {
	best := map[int64]bool{}
	for _, h := range hits[:min(len(hits), compared)] {
		best[h.Passage] = true
	}
	n := 0
	for _, d := range dense[:min(len(dense), compared)] {
		if best[d.Passage] {
			n++
		}
	}
	return float64(n) / compared
}
