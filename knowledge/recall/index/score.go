package index

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"ponder/internal/textkit/ranking"
)

// How much the length of a passage counts: of speech, less than of written text.
const (
	leanWritten = 0.75
	leanSpoken  = 0.4
)

// A board has the scores of the passages of a view.
type board struct {
	v      *view
	from   []int // where the passages of each segment begin
	scores []float32
	met    []uint8 // how many of the words that must be there are
	must   int
}

func (x *Index) newBoard(v *view) *board {
	bd := &board{v: v}
	n := 0
	for _, s := range v.segments {
		bd.from = append(bd.from, n)
		n += len(s.lens)
	}
	if old, ok := x.scores.Get().(*[]float32); ok && cap(*old) >= n {
		bd.scores = (*old)[:n]
		clear(bd.scores)
	} else {
		bd.scores = make([]float32, n)
	}
	return bd
}

func (x *Index) release(bd *board) { x.scores.Put(&bd.scores) }

// score adds what the words of groups are worth, times a factor.
func (bd *board) score(groups []*group, factor float64) {
	average := float64(bd.v.length) / float64(max(1, bd.v.passages))
	for _, g := range groups {
		if g.not || g.df == 0 {
			continue
		}
		w := factor * g.weight * g.idf
		written, said := ranking.NewScorer(w, average, leanWritten), ranking.NewScorer(w, average, leanSpoken)
		for i, list := range g.lists {
			scores := bd.scores[bd.from[i]:]
			lens := bd.v.segments[i].lens
			for _, p := range list {
				if n := lens[p.At]; n&spoken == 0 {
					scores[p.At] += written.Score(float32(p.Freq), float32(n))
				} else {
					scores[p.At] += said.Score(float32(p.Freq), float32(n&maxLength))
				}
			}
		}
	}
}

// require notes which passages have the words that must be there, and none of
// those that must not.
func (bd *board) require(groups []*group) {
	if !slices.ContainsFunc(groups, func(g *group) bool { return g.must || g.not }) {
		return
	}
	bd.met = make([]uint8, len(bd.scores))
	for _, g := range groups {
		if g.must && !g.not {
			bd.must++
			bd.each(g, func(at int) { bd.met[at]++ })
		}
	}
	for _, g := range groups {
		if g.not {
			bd.each(g, func(at int) { bd.met[at] = math.MaxUint8 })
		}
	}
}

func (bd *board) each(g *group, yield func(at int)) {
	for i, list := range g.lists {
		for _, p := range list {
			yield(bd.from[i] + int(p.At))
		}
	}
}

// nextShare is what the passages two away count of what those beside count.
const nextShare = 0.6

// spread adds to each passage that stands in a document of which something has
// a score what its neighbours have, up to two on each side, and the best passage
// of the document.
func (bd *board) spread(neighbours, whole float64) {
	if neighbours == 0 && whole == 0 {
		return
	}
	for i, s := range bd.v.segments {
		scores := bd.scores[bd.from[i]:][:len(s.lens)]
		inParts(len(scores), len(s.docs), func(_, from, to int) {
			for j := from; j < to; j++ {
				if d := &s.docs[j]; d.n > 0 {
					spread(scores[d.at:d.at+d.n], float32(neighbours), float32(whole))
				}
			}
		})
	}
}

// fewPassages is how many are looked at sooner than they are divided among processors.
const fewPassages = 20_000

// inParts has n things, which come to so many passages, done in parts from one to
// before another at once.
func inParts(passages, n int, do func(part, from, to int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), passages/fewPassages))
	var wg sync.WaitGroup
	for part := 1; part < parts; part++ {
		wg.Go(func() { do(part, n*part/parts, n*(part+1)/parts) })
	}
	do(0, 0, n/parts)
	wg.Wait()
}

// spread does so in one document.
func spread(scores []float32, neighbours, whole float32) {
	best := float32(0)
	for _, s := range scores { // slices.Max, which heeds NaN, takes four times as long
		if s > best {
			best = s
		}
	}
	if best == 0 {
		return
	}
	b2, b1, s, a1 := float32(0), float32(0), scores[0], float32(0) // two before, one, this one, the next
	if len(scores) > 1 {
		a1 = scores[1]
	}
	for i := range scores {
		a2 := float32(0)
		if i+2 < len(scores) {
			a2 = scores[i+2]
		}
		scores[i] = s + neighbours*(b1+a1+nextShare*(b2+a2)) + whole*best
		b2, b1, s, a1 = b1, s, a1, a2
	}
}

// A found is a passage of a board.
type found struct {
	segment, at int
	score       float32
	num         int64
}

func (a *found) compare(b *found) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.num, b.num))
}

// best returns the n best passages that have what they must and that a sieve
// lets through.
func (bd *board) best(n int, sv *sieve) []found {
	var top []found
	for i, s := range bd.v.segments {
		least := float32(0)
		if len(top) == n {
			least = top[n-1].score
		}
		lists := make([][]found, runtime.GOMAXPROCS(0))
		inParts(len(s.lens), len(s.lens), func(part, from, to int) { lists[part] = bd.bestOf(i, from, to, least, n, sv) })
		top = slices.Concat(append(lists, top)...)
		slices.SortFunc(top, func(a, b found) int { return a.compare(&b) })
		top = top[:min(n, len(top))]
	}
	return top
}

// bestOf returns those among some passages of a segment, none below least.
func (bd *board) bestOf(segment, from, to int, least float32, n int, sv *sieve) []found {
	s, start := bd.v.segments[segment], bd.from[segment]
	top := ranking.NewBest(n, func(a, b *found) bool { return a.compare(b) < 0 })
	for at := from; at < to; at++ {
		score := bd.scores[start+at]
		if score <= 0 || score < least || bd.met != nil && int(bd.met[start+at]) != bd.must {
			continue
		}
		d := &s.docs[s.docOf[at]]
		if !sv.keeps(d) {
			continue
		}
		top.Add(found{segment, at, score, d.first + int64(at) - int64(d.at)})
		if top.Full() {
			least = top.Items()[0].score
		}
	}
	return top.Items()
}
