package index

import (
	"cmp"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// b of BM25: length matters less in speech.
const (
	lengthNormWritten = 0.75
	lengthNormSpoken  = 0.4
)

type scoreboard struct {
	v      *view
	from   []int
	scores []float32
	met    []uint8 // number of required words present
	must   int
}

func (x *Index) newScoreboard(v *view) *scoreboard {
	bd := &scoreboard{v: v}
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

func (x *Index) releaseScores(bd *scoreboard) { x.scores.Put(&bd.scores) }

func (bd *scoreboard) addScores(groups []*group, factor float64) {
	average := float64(bd.v.length) / float64(max(1, bd.v.passages))
	for _, g := range groups {
		if g.not || g.df == 0 {
			continue
		}
		w := factor * g.weight * g.idf
		written, said := ranking.NewScorer(w, average, lengthNormWritten), ranking.NewScorer(w, average, lengthNormSpoken)
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

// countRequired counts required words; excluded words set the maximum.
func (bd *scoreboard) countRequired(groups []*group) {
	if !slices.ContainsFunc(groups, func(g *group) bool { return g.must || g.not }) {
		return
	}
	bd.met = make([]uint8, len(bd.scores))
	for _, g := range groups {
		if g.must && !g.not {
			bd.must++
			bd.eachPassage(g, func(at int) { bd.met[at]++ })
		}
	}
	for _, g := range groups {
		if g.not {
			bd.eachPassage(g, func(at int) { bd.met[at] = math.MaxUint8 })
		}
	}
}

func (bd *scoreboard) eachPassage(g *group, yield func(at int)) {
	for i, list := range g.lists {
		for _, p := range list {
			yield(bd.from[i] + int(p.At))
		}
	}
}

// nextShare is the weight of the second neighbours relative to the first.
const nextShare = 0.6

// spreadScores adds the scores of up to two neighbours on each side and of the document's
// best passage.
func (bd *scoreboard) spreadScores(neighbours, whole float64) {
	if neighbours == 0 && whole == 0 {
		return
	}
	for i, s := range bd.v.segments {
		scores := bd.scores[bd.from[i]:][:len(s.lens)]
		parallelParts(len(scores), len(s.docs), func(_, from, to int) {
			for j := from; j < to; j++ {
				if d := &s.docs[j]; d.n > 0 {
					spreadDoc(scores[d.at:d.at+d.n], float32(neighbours), float32(whole))
				}
			}
		})
	}
}

const fewPassages = 20_000

// parallelParts divides n items, with that many passages, into ranges and processes these in
// parallel.
func parallelParts(passages, n int, do func(part, from, to int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), passages/fewPassages))
	var wg sync.WaitGroup
	for part := 1; part < parts; part++ {
		wg.Go(func() { do(part, n*part/parts, n*(part+1)/parts) })
	}
	do(0, 0, n/parts)
	wg.Wait()
}

func spreadDoc(scores []float32, neighbours, whole float32) {
	best := float32(0)
	for _, s := range scores { // slices.Max checks for NaN and takes four times as long
		if s > best {
			best = s
		}
	}
	if best == 0 {
		return
	}
	b2, b1, s, a1 := float32(0), float32(0), scores[0], float32(0) // two before, one before, this, next
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

type foundPassage struct {
	segment, at int
	score       float32
	num         int64
}

func (a *foundPassage) compare(b *foundPassage) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.num, b.num))
}

// topPassages returns the n best passages with all required words.
func (bd *scoreboard) topPassages(n int, sv *docFilter) []foundPassage {
	var top []foundPassage
	for i, s := range bd.v.segments {
		minScore := float32(0)
		if len(top) == n {
			minScore = top[n-1].score
		}
		lists := make([][]foundPassage, runtime.GOMAXPROCS(0))
		parallelParts(len(s.lens), len(s.lens), func(part, from, to int) { lists[part] = bd.topInRange(i, from, to, minScore, n, sv) })
		top = slices.Concat(append(lists, top)...)
		slices.SortFunc(top, func(a, b foundPassage) int { return a.compare(&b) })
		top = top[:min(n, len(top))]
	}
	return top
}

func (bd *scoreboard) topInRange(segment, from, to int, minScore float32, n int, sv *docFilter) []foundPassage {
	s, start := bd.v.segments[segment], bd.from[segment]
	top := ranking.NewBest(n, func(a, b *foundPassage) bool { return a.compare(b) < 0 })
	for at := from; at < to; at++ {
		score := bd.scores[start+at]
		if score <= 0 || score < minScore || bd.met != nil && int(bd.met[start+at]) != bd.must {
			continue
		}
		d := &s.docs[s.docOf[at]]
		if !sv.matchesDoc(d) {
			continue
		}
		top.Add(foundPassage{segment, at, score, d.first + int64(at) - int64(d.at)})
		if top.Full() {
			minScore = top.Items()[0].score
		}
	}
	return top.Items()
}

type group struct {
	words     []string // of the query
	weight    float64
	must, not bool
	prefix    bool
	terms     []groupTerm

	lists [][]ranking.Posting
	df    int // passages with any term
	idf   float64
}

// A groupTerm is a term for the languages of a mask; 0 means all.
type groupTerm struct {
	term  string
	langs uint32
}

func (g *group) termsKey() string {
	var b strings.Builder
	for _, t := range g.terms {
		b.WriteString(t.term)
		b.WriteByte(0)
		b.Write(binary.AppendUvarint(nil, uint64(t.langs)))
	}
	return b.String()
}

func (v *view) stemTerms(word string) (out []groupTerm) {
	for i, n := range v.langs {
		if n == 0 {
			continue
		}
		stem := stemWord(word, languages[i])
		at := slices.IndexFunc(out, func(t groupTerm) bool { return t.term == stem })
		if at < 0 {
			at = len(out)
			out = append(out, groupTerm{term: stem})
		}
		out[at].langs |= 1 << i
	}
	if len(out) == 1 {
		out[0].langs = 0
	}
	return out
}

// maxPrefix limits a prefix to its most frequent terms.
const maxPrefix = 128

func (v *view) prefixTerms(prefix string) (out []groupTerm) {
	dfs := map[string]int{}
	for _, s := range v.segments {
		for _, from := range []string{prefix, formMark + prefix} {
			s.terms.eachTermFrom(from, func(term []byte, _ int, e termEntry) bool {
				if !strings.HasPrefix(string(term), from) {
					return false
				}
				dfs[string(term)] += e.df
				return true
			})
		}
	}
	for term := range dfs {
		out = append(out, groupTerm{term: term})
	}
	slices.SortFunc(out, func(a, b groupTerm) int {
		return cmp.Or(cmp.Compare(dfs[b.term], dfs[a.term]), cmp.Compare(a.term, b.term))
	})
	return out[:min(len(out), maxPrefix)]
}

const maxQueryTerms = 64

func (v *view) planGroups(q Query) []*group {
	var list []*group
	stop := v.stopWordTest(q)
	add := func(t Term, text string) {
		t.Word = text
		if !t.Must && !t.Not && !t.Prefix && stop(text) {
			return
		}
		list = append(list, v.newGroup(t))
	}
	for _, t := range q.Terms {
		lexical.Tokens(t.Word, func(k lexical.Token) { add(t, t.Word[k.Start:k.End]) })
	}
	for _, phrase := range q.Phrases {
		lexical.Tokens(phrase, func(k lexical.Token) {
			t := Term{Word: phrase[k.Start:k.End], Must: true}
			if stop(t.Word) {
				t.Weight = minWeight
			}
			add(t, t.Word)
		})
	}
	return uniteGroups(list)
}

// minWeight is the weight of required stop words.
const minWeight = 1e-3

func (v *view) newGroup(t Term) *group {
	g := &group{words: []string{t.Word}, weight: t.Weight, must: t.Must, not: t.Not, prefix: t.Prefix}
	g.weight = cmp.Or(g.weight, 1)
	if t.Prefix {
		g.terms = v.prefixTerms(lexical.Fold(t.Word))
	} else {
		g.terms = v.stemTerms(t.Word)
	}
	return g
}

// uniteGroups joins groups with equal terms.
func uniteGroups(list []*group) (out []*group) {
	seen := map[string]*group{}
	for _, g := range list {
		key := g.termsKey()
		if g.not {
			key = "-" + key
		}
		old := seen[key]
		if old == nil || len(g.terms) == 0 {
			seen[key] = g
			if out = append(out, g); len(out) == maxQueryTerms {
				break
			}
			continue
		}
		old.weight += g.weight
		old.must = old.must || g.must
		if !slices.Contains(old.words, g.words[0]) {
			old.words = append(old.words, g.words[0])
		}
	}
	return out
}

// stopWordTest returns the test for stop words of the query's main language. If the query has
// only stop words, none counts as one.
func (v *view) stopWordTest(q Query) func(word string) bool {
	var counts [maxLanguages]int
	total := 0
	count := func(text string, more int) {
		lexical.Tokens(text, func(k lexical.Token) {
			total += more
			for i, n := range v.langs {
				if n > 0 && lexical.Stop(text[k.Start:k.End], languages[i]) {
					counts[i] += more
				}
			}
		})
	}
	for _, t := range q.Terms {
		if !t.Not {
			count(t.Word, 1)
		}
	}
	for _, p := range q.Phrases {
		count(p, 1)
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] || n == counts[best] && v.langs[i] > v.langs[best] {
			best = i
		}
	}
	if counts[best] == 0 || counts[best] == total {
		return func(string) bool { return false }
	}
	return func(word string) bool {
		return lexical.Stop(word, languages[best]) && (len(word) == 1 || word != strings.ToUpper(word))
	}
}
