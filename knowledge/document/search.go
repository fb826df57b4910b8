package document

import (
	"slices"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// SearchOptions shape what a search returns. The zero value takes the best hits.
type SearchOptions struct {
	// Exclude has the places of hits that are not wanted again, see
	// [Document.Place]. What says nearly the same is not wanted either.
	Exclude []string

	// PerSource is the most hits of one document. Zero is no bound.
	PerSource int

	// Least is the least score of a hit, as a part of the best score that any
	// sentence has, an excluded one too: 0 takes all that has to do with it.
	Least float64

	// Diversity says how much a hit is pushed back by its likeness to one before
	// it: 0 not at all, 1 behind everything else if they are alike.
	Diversity float64
}

// A Hit is a sentence found.
type Hit struct {
	Document   *Document
	Sentence   int // index in the sentences of Document
	Start, End int // its place
	Quote      string

	// Score is how well the hit answers the question, from 0 to 1, and means the
	// same from one question to another: over 0.7 if the sentence has every
	// word of it, below 0.3 if it has few, or common ones. One that has none, and
	// is found for what it stands beside, scores below 0.3 wherever it comes.
	Score float64

	// Terms are the words of the question that the sentence has, as the question
	// writes them.
	Terms []string
}

// ID returns the place of the hit.
func (h Hit) ID() string { return h.Document.Place(h.Start, h.End) }

// Section returns the headings the hit stands under, or "".
func (h Hit) Section() string { return h.Document.Heading(h.Document.Sentences[h.Sentence].Section) }

// Around returns the sentences before and after the hit, or "" where it is the
// first or last of its section.
func (h Hit) Around() (before, after string) {
	return h.Document.near(h.Sentence, -1), h.Document.near(h.Sentence, 1)
}

// near returns a sentence beside the ith, if it is of the same section and no
// heading.
func (d *Document) near(i, step int) string {
	j := i + step
	if j < 0 || j >= len(d.Sentences) || d.Sentences[j].Kind == Heading || d.Sentences[j].Section != d.Sentences[i].Section {
		return ""
	}
	return d.Quote(j)
}

// Search returns the n sentences that answer a question best, the best first.
// Of sentences that say the same in nearly the same words, it returns one. The
// same question gives the same hits.
func (c *Collection) Search(question string, n int, opts SearchOptions) []Hit {
	q := c.parse(question)
	if n <= 0 || len(q.terms) == 0 || len(c.units) == 0 {
		return nil
	}
	t := c.tally(q)
	defer c.release(t)
	for size := max(100, 10*n+2*len(opts.Exclude)); ; size *= 8 {
		pool := c.best(t, size)
		s := selection{c: c, q: q, opts: opts, perDoc: map[int32]int{}, sums: map[uint32]bool{}}
		s.exclude()
		hits := s.take(c.candidates(q, pool), n)
		if len(hits) == n || len(pool) < size {
			return hits
		}
	}
}

// A scored is a unit with its score.
type scored struct {
	unit  int32
	score float32
}

// better orders by score, and then by place.
func better(a, b scored) bool { return a.score > b.score || a.score == b.score && a.unit < b.unit }

// best returns the best units, at most size, in no order. Units are looked at
// where a passage has a term.
func (c *Collection) best(t *tally, size int) []scored {
	top := ranking.NewBest(size, func(a, b *scored) bool { return better(*a, *b) })
	for p := range c.passages {
		if t.passages[p] == 0 {
			continue
		}
		end := int32(len(c.units))
		if p+1 < len(c.passages) {
			end = c.passages[p+1].first
		}
		for u := c.passages[p].first; u < end; u++ {
			if c.units[u].worth == 0 {
				continue
			}
			top.Add(scored{u, t.score(c.index, u)})
		}
	}
	return top.Items()
}

// A candidate is a unit that may become a hit.
type candidate struct {
	scored
	terms []int32 // sorted, each once, without stops

	checked int     // against how many of what is taken
	like    float64 // the most of them
}

// candidates returns what is looked at closely of a pool, the best first.
func (c *Collection) candidates(q query, pool []scored) []candidate {
	out := make([]candidate, len(pool))
	for i, v := range pool {
		out[i] = c.candidate(q, v)
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		if better(a.scored, b.scored) {
			return -1
		}
		return 1
	})
	return out
}

// candidate reads a unit again: its terms, and which of them stand together as
// they do in the question.
func (c *Collection) candidate(q query, v scored) candidate {
	quote := c.quote(v.unit)
	out := candidate{scored: v}
	var last int32 = -1
	pairs := map[[2]int32]bool{}
	lexical.Tokens(quote, func(t lexical.Token) {
		w, ok := c.vocab[quote[t.Start:t.End]]
		if !ok || w.stop && !q.has(w.term) {
			return
		}
		pair := [2]int32{last, w.term}
		if bonus := q.pairs[pair]; bonus > 0 && !pairs[pair] {
			pairs[pair] = true
			out.score += float32(bonus)
		}
		last = w.term
		out.terms = append(out.terms, w.term)
	})
	slices.Sort(out.terms)
	out.terms = slices.Compact(out.terms)
	if Asks(quote) && c.alike(out.terms, q.ids) {
		out.score *= asked
	}
	return out
}

// quote returns the text of a unit.
func (c *Collection) quote(u int32) string {
	doc := c.passages[c.units[u].passage].doc
	return c.docs[doc].Quote(int(u - c.docUnit[doc]))
}
