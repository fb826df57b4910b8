package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/vector"
)

type candidate struct {
	num       int64
	item      Item
	passage   index.Passage
	relevance float64 // 0 to 1, comparable between queries
	score     float64 // for ranking
	words     []string
	byWords   bool
	byMeaning bool
	related   bool // without own words
	corrected map[string]string

	tokens       []uint64 // sorted and unique
	wordsHash    string   // hash of all tokens in order
	comparedWith int
	similarity   float64
	similar      int
}

const (
	minPool  = 24
	poolPerN = 3
	denseN   = 200
)

// outsideFactor is the factor for passages of another time, which may still have the query's
// time as subject.
const outsideFactor = 0.6

func (s *search) findCandidates(ctx context.Context) ([]*candidate, error) {
	if s.empty {
		return nil, nil
	}
	soft := !s.query.Time.IsZero() && !s.query.Time.Strict
	if !s.hasWords(soft) {
		return s.timeCandidates(ctx, soft)
	}
	whole := s.filter
	if soft {
		s.restrictTime(s.query.Time)
	}
	list, err := s.rankPassages(ctx, soft)
	if err != nil || !soft {
		return list, err
	}
	s.filter = whole
	more, err := s.rankPassages(ctx, false)
	if err != nil {
		return nil, err
	}
	has := map[int64]bool{}
	for _, c := range list {
		has[c.num] = true
	}
	if len(list) == 0 && len(more) > 0 {
		s.notes = append(s.notes, "Nothing from that time has these words; these hits are from other times.")
	}
	for _, c := range more {
		if !has[c.num] {
			if !s.containsAnchor(c) {
				c.score *= outsideFactor
			}
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, bestFirst)
	return list, nil
}

func bestFirst(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.num, b.num))
}

func (s *search) rankPassages(ctx context.Context, timed bool) ([]*candidate, error) {
	pool := s.poolSize()
	q := s.indexQuery(timed)
	deep := pool
	if s.l.embedder.Embed != nil {
		deep = max(pool, denseN)
	}
	hits, err := s.l.index.Search(ctx, q, deep)
	if err != nil {
		return nil, err
	}
	dense, err := s.searchDense(ctx, s.query.Text)
	if err != nil {
		return nil, err
	}
	hits, meant := s.fuseRankings(hits, dense, pool)
	list, err := s.loadCandidates(ctx, hits)
	if err != nil {
		return nil, err
	}
	if areMostlyTurns(list) && s.plan.preferTurns() {
		return s.rankPassages(ctx, timed)
	}
	for _, c := range list {
		c.byMeaning = meant[c.num]
	}
	s.weighCandidates(list)
	for _, c := range list {
		s.best = max(s.best, c.relevance)
		s.adjustScore(c)
		for from, to := range c.corrected {
			if s.result.Corrected == nil {
				s.result.Corrected = map[string]string{}
			}
			s.result.Corrected[from] = to
		}
	}
	list = slices.DeleteFunc(list, s.isUnwanted)
	slices.SortStableFunc(list, bestFirst)
	return dropWeak(list), nil
}

const minScoreShare = 0.1

// dropWeak drops candidates far below the best.
func dropWeak(list []*candidate) []*candidate {
	return slices.DeleteFunc(list, func(c *candidate) bool { return c.score < minScoreShare*list[0].score })
}

// poolSize returns the number of passages to examine: more if later rules reorder or drop
// them.
func (s *search) poolSize() int {
	n := max(minPool, poolPerN*s.o.N)
	if s.plan.steps || s.plan.recency > 0.2 || len(s.o.Prefer)+len(s.o.ExcludeSources)+len(s.o.Exclude) > 0 {
		n *= 2
	}
	return n
}

// loadCandidates reads passages and items in order, without those removed meanwhile.
func (s *search) loadCandidates(ctx context.Context, hits []index.Hit) ([]*candidate, error) {
	list := make([]*candidate, 0, len(hits))
	var passages, docs []int64
	for _, h := range hits {
		passages = append(passages, h.Passage)
	}
	entries, err := s.l.index.Entries(ctx, passages...)
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		e, ok := entries[h.Passage]
		if !ok {
			continue
		}
		docs = append(docs, e.Doc)
		list = append(list, &candidate{num: h.Passage, item: Item{num: e.Doc}, passage: e.Passage, relevance: h.Relevance, score: h.Score, words: h.Words,
			byWords: len(h.Words) > 0, related: len(h.Words) == 0, corrected: h.Corrected})
	}
	slices.Sort(docs)
	items, err := s.l.itemsByNumber(ctx, slices.Compact(docs))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(c *candidate) bool {
		it, ok := items[c.item.num]
		c.item = it
		return !ok
	}), nil
}

func (s *search) adjustScore(c *candidate) {
	t := s.plan
	c.score *= t.ageFactor(c.item.Date, s.now)
	if t.steps {
		c.score *= s.stepFactor(c.passage)
	}
	for _, p := range s.o.Prefer {
		if matchesSource(c.item, p) {
			c.score *= 2
			break
		}
	}
}

const (
	stepsGain   = 0.15
	headingGain = 0.25
)

// stepFactor rewards lists of steps, and headings with the query's words.
func (s *search) stepFactor(p index.Passage) float64 {
	gain, lines := 1.0, 0
	for l := range strings.SplitSeq(p.Text, "\n") {
		l = strings.TrimSpace(l)
		if len(l) > 2 && (l[0] >= '0' && l[0] <= '9' && strings.ContainsAny(l[1:min(4, len(l))], ".)") || strings.HasPrefix(l, "- ")) {
			lines++
		}
	}
	if lines >= 2 || strings.Count(p.Text, "\n") > 3 {
		gain += stepsGain
	}
	heading, wanted, has := stemSet(p.Heading, "en"), 0, 0
	for _, w := range s.query.Words {
		for stem := range stemSet(w.Text, "en") {
			wanted++
			if heading[stem] {
				has++
			}
		}
	}
	if wanted > 0 {
		gain += headingGain * float64(has) / float64(wanted)
	}
	return gain
}

func (s *search) isUnwanted(c *candidate) bool {
	for _, w := range s.o.ExcludeSources {
		if matchesSource(c.item, w) {
			return true
		}
	}
	for _, w := range s.query.Words {
		if w.Not && strings.ContainsAny(w.Text, " -") && strings.Contains(strings.ToLower(c.passage.Text), strings.ToLower(w.Text)) {
			return true
		}
	}
	return false
}

// matchesSource reports whether source is the item's source, its file, the end of that path,
// or a folder above it.
func matchesSource(it Item, source string) bool {
	return matchesPattern(source, it.Source) || it.Path != "" && (isInside(it.Path, source) || strings.HasSuffix(it.Path, "/"+source))
}

func toScored(hits []index.Hit) []vector.ScoredPassage {
	out := make([]vector.ScoredPassage, len(hits))
	for i, h := range hits {
		out[i] = vector.ScoredPassage{Passage: h.Passage, Score: h.Score}
	}
	return out
}

// Weights of the dense ranking: half if the rankings agree in part, and less if not. A
// diverging dense ranking is more often wrong than words are.
const (
	maxDenseWeight = 0.5
	minDenseWeight = 0.25
	agreementDepth = 10
	embedTimeout   = 3 * time.Second
)

// searchDense returns the passages nearest in meaning; none without vectors or if the model
// fails.
func (s *search) searchDense(ctx context.Context, text string) ([]vector.ScoredPassage, error) {
	l := s.l
	if l.embedder.Embed == nil || text == "" {
		return nil, nil
	}
	model, err := l.vectors.ServingModel(ctx, l.embedder.Model)
	if err != nil || model == "" {
		return nil, err
	}
	e := l.embedder
	if model != e.Model {
		if l.earlierEmbedder == nil {
			return nil, nil
		}
		if e = l.earlierEmbedder(model); e.Embed == nil {
			return nil, nil
		}
	}
	embedding, err := embedText(ctx, e, text)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.notes = append(s.notes, fmt.Sprintf("The search by meaning failed: %s.", textkit.Prefix(err.Error(), 120)))
		return nil, nil
	}
	hits, err := l.vectors.Search(ctx, model, embedding, denseN, l.index.FilterPassages(s.filter))
	if err == nil && len(hits) > 0 {
		s.result.Hybrid = true
		s.plan.addNames("meaning")
	}
	return hits, err
}

func embedText(ctx context.Context, e vector.Embedder, text string) ([]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	vectors, err := e.Embed(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	if len(vectors) != 1 {
		return nil, fmt.Errorf("got %d vectors for one text", len(vectors))
	}
	return vectors[0], nil
}

// fuseRankings returns the best n of both rankings, and the passages in the dense one. Scores
// are 0 to 1 and comparable between queries.
func (s *search) fuseRankings(hits []index.Hit, dense []vector.ScoredPassage, n int) ([]index.Hit, map[int64]bool) {
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
	s.agreement = rankAgreement(hits, dense)
	fused := vector.Fuse(toScored(hits), dense, minDenseWeight+(maxDenseWeight-minDenseWeight)*min(1, 2*s.agreement))
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

// rankAgreement returns the share of passages that both rankings have among their best.
func rankAgreement(hits []index.Hit, dense []vector.ScoredPassage) float64 {
	best := map[int64]bool{}
	for _, h := range hits[:min(len(hits), agreementDepth)] {
		best[h.Passage] = true
	}
	n := 0
	for _, d := range dense[:min(len(dense), agreementDepth)] {
		if best[d.Passage] {
			n++
		}
	}
	return float64(n) / agreementDepth
}
