package recall

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"ponder/recall/index"
	"ponder/recall/query"
	"ponder/recall/vector"
)

// A candidate is a passage that may become a hit.
type candidate struct {
	num       int64 // of the passage
	item      Item
	passage   index.Passage
	relevance float64 // 0 to 1, the same from query to query
	score     float64 // by which it is ranked
	words     []string
	byWords   bool
	byMeaning bool
	related   bool // found by words that others have
	corrected map[string]string

	tokens  []uint64 // sorted, each once; see same.go
	sum     string   // of all of them in their order
	checked int
	like    float64
	similar int
}

// How deep is looked.
const (
	poolLeast = 24
	poolPerN  = 3
	denseN    = 200
)

// outside is what is left of the score of a passage that is not of the time that
// a query speaks of, where that may also be what the passage is about.
const outside = 0.6

// candidates returns what the query finds, the best first.
func (s *search) candidates(ctx context.Context) ([]*candidate, error) {
	if s.empty {
		return nil, nil
	}
	soft := !s.query.Time.IsZero() && !s.query.Time.Strict
	if !asks(s.words(soft)) {
		return s.browse(ctx)
	}
	whole := s.filter
	if soft {
		s.within(s.query.Time)
	}
	list, err := s.ranked(ctx, soft)
	if err != nil || !soft {
		return list, err
	}
	s.filter = whole
	more, err := s.ranked(ctx, false)
	if err != nil {
		return nil, err
	}
	has := map[int64]bool{}
	for _, c := range list {
		has[c.num] = true
	}
	if len(list) == 0 && len(more) > 0 {
		s.notes = append(s.notes, "Nothing of that time was found; these are of another.")
	}
	for _, c := range more {
		if !has[c.num] {
			c.score *= outside
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, bestFirst)
	return list, nil
}

func bestFirst(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.num, b.num))
}

// ranked returns what words and meaning find, the best first.
func (s *search) ranked(ctx context.Context, timed bool) ([]*candidate, error) {
	pool := s.pool()
	q := s.words(timed)
	deep := pool
	if s.l.embedder.Embed != nil {
		deep = max(pool, denseN)
	}
	hits, err := s.l.index.Search(ctx, q, deep)
	if err != nil {
		return nil, err
	}
	dense, err := s.dense(ctx, s.query.Text)
	if err != nil {
		return nil, err
	}
	hits, meant := s.fuse(hits, dense, pool)
	list, err := s.load(ctx, hits)
	if err != nil {
		return nil, err
	}
	if talksMost(list) && s.tactics.talk() {
		return s.ranked(ctx, timed)
	}
	for _, c := range list {
		c.byMeaning = meant[c.num]
		s.best = max(s.best, c.relevance)
		s.adjust(c)
		for from, to := range c.corrected {
			if s.result.Corrected == nil {
				s.result.Corrected = map[string]string{}
			}
			s.result.Corrected[from] = to
		}
	}
	list = slices.DeleteFunc(list, s.unwanted)
	slices.SortStableFunc(list, bestFirst)
	return atLeast(list), nil
}

// leastShare is the least score of a hit, as a part of the best.
const leastShare = 0.1

// atLeast leaves out what scores far less than the best: it has little to do with
// the query.
func atLeast(list []*candidate) []*candidate {
	return slices.DeleteFunc(list, func(c *candidate) bool { return c.score < leastShare*list[0].score })
}

// pool returns how many passages are looked at closely: more if they may change
// places, or be left out.
func (s *search) pool() int {
	n := max(poolLeast, poolPerN*s.o.N)
	if s.tactics.steps || s.tactics.recency > 0.2 || len(s.o.Prefer)+len(s.o.Without)+len(s.o.Exclude) > 0 {
		n *= 2
	}
	return n
}

// load reads the passages and items of hits, in their order. What was removed
// meanwhile is left out.
func (s *search) load(ctx context.Context, hits []index.Hit) ([]*candidate, error) {
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
	items, err := s.l.byNumber(ctx, slices.Compact(docs))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(c *candidate) bool {
		it, ok := items[c.item.num]
		c.item = it
		return !ok
	}), nil
}

// adjust changes the score of a candidate by what the class of the query asks
// for.
func (s *search) adjust(c *candidate) {
	t := s.tactics
	c.score *= t.age(c.item.Date, s.now)
	if t.steps {
		c.score *= s.stepwise(c.passage)
	}
	for _, p := range s.o.Prefer {
		if ofSource(c.item, p) {
			c.score *= 2
			break
		}
	}
}

// What a passage gains that shows how something is done.
const (
	stepsGain   = 0.15
	headingGain = 0.25
)

// stepwise returns what the form of a passage is worth to who asks how.
func (s *search) stepwise(p index.Passage) float64 {
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
	heading, wanted, has := stems(p.Heading, "en"), 0, 0
	for _, w := range s.query.Words {
		for stem := range stems(w.Text, "en") {
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

// unwanted reports whether a candidate is of a source that is left out, or has a
// phrase that must not be there.
func (s *search) unwanted(c *candidate) bool {
	for _, w := range s.o.Without {
		if ofSource(c.item, w) {
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

// ofSource reports whether an item is of a source: its own, its file, the name
// of that, or a folder it is in.
func ofSource(it Item, source string) bool {
	return matches(source, it.Source) || it.Path != "" && (inside(it.Path, source) || strings.HasSuffix(it.Path, "/"+source))
}

// browse returns what there is of a time or with other properties, the newest
// first, for a query that has no words.
func (s *search) browse(ctx context.Context) ([]*candidate, error) {
	f := s.filter
	if !s.query.Time.IsZero() {
		s.within(s.query.Time)
		f = s.filter
	}
	if f.From.IsZero() && f.To.IsZero() && len(f.Kinds)+len(f.Sources)+len(f.Tags) == 0 && !s.query.Recent {
		return nil, nil
	}
	filter := Filter{Sources: f.Sources, From: f.From, To: f.To}
	for _, k := range f.Kinds {
		filter.Kinds = append(filter.Kinds, Kind(k))
	}
	for _, t := range f.Tags {
		if p, ok := strings.CutPrefix(t, personaTag); ok {
			filter.Persona = p
			continue
		}
		filter.Tags = append(filter.Tags, t)
	}
	where, args := filter.where(f.Owner)
	items, err := s.l.items(ctx, where+` ORDER BY i.date DESC, i.id DESC LIMIT ?`, append(args, browseMost)...)
	if err != nil {
		return nil, err
	}
	s.tactics.does("newest first")
	return s.first(ctx, tagged(items, filter.Tags))
}

// browseMost is how many items are looked at where there are no words.
const browseMost = 1000

// tagged returns the items that have all tags.
func tagged(items []Item, tags []string) []Item {
	return slices.DeleteFunc(items, func(it Item) bool {
		return slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(it.Tags, t) })
	})
}

// first makes candidates of the first passages of items.
func (s *search) first(ctx context.Context, items []Item) ([]*candidate, error) {
	var list []*candidate
	for i, it := range items[:min(len(items), s.pool())] {
		passages, err := s.l.index.Passages(ctx, it.num)
		if err != nil && !errors.Is(err, index.ErrNone) {
			return nil, err
		}
		if len(passages) == 0 {
			continue
		}
		score := 0.5 - 0.3*float64(i)/float64(i+20)
		list = append(list, &candidate{num: it.num, item: it, passage: passages[0], relevance: score, score: score})
		s.best = max(s.best, score)
	}
	return slices.DeleteFunc(list, s.unwanted), nil
}

// noWords is the class of a query that has none.
func noWords(q query.Query) bool {
	return !slices.ContainsFunc(q.Words, func(w query.Word) bool { return !w.Not })
}

// scored returns hits as rankings to be fused.
func scored(hits []index.Hit) []vector.Scored {
	out := make([]vector.Scored, len(hits))
	for i, h := range hits {
		out[i] = vector.Scored{Passage: h.Passage, Score: h.Score}
	}
	return out
}
