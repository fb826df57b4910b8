package index

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// A group is terms of the index that stand for one word of a query.
type group struct {
	words     []string // of the query
	weight    float64
	must, not bool
	prefix    bool
	terms     []groupTerm

	// Found by fetching:
	lists [][]ranking.Posting // of each segment, by passage
	df    int                 // passages that have any of the terms
	idf   float64
}

// A groupTerm is a term and the languages, as a mask, whose documents count. 0
// is all.
type groupTerm struct {
	term  string
	langs uint32
}

func (g *group) key() string {
	var b strings.Builder
	for _, t := range g.terms {
		b.WriteString(t.term)
		b.WriteByte(0)
		b.Write(binary.AppendUvarint(nil, uint64(t.langs)))
	}
	return b.String()
}

// stems returns the terms that a word may be in the documents of a view.
func (v *view) stems(word string) (out []groupTerm) {
	for i, n := range v.langs {
		if n == 0 {
			continue
		}
		stem := stemOf(word, languages[i])
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

// maxPrefix is how many terms a prefix stands for at most: those that most
// passages have.
const maxPrefix = 128

// withPrefix returns the terms that are of words that begin with a prefix.
func (v *view) withPrefix(prefix string) (out []groupTerm) {
	dfs := map[string]int{}
	for _, s := range v.segments {
		for _, from := range []string{prefix, formMark + prefix} {
			s.terms.from(from, func(term []byte, _ int, e termEntry) bool {
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

// maxQueryTerms is the most words of a query that are looked for.
const maxQueryTerms = 64

// plan returns the groups of the terms of a query.
func (v *view) plan(q Query) []*group {
	var list []*group
	stop := v.stops(q)
	add := func(t Term, text string) {
		t.Word = text
		if !t.Must && !t.Not && !t.Prefix && stop(text) {
			return
		}
		list = append(list, v.group(t))
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
	return unite(list)
}

// minWeight is what a word counts that must be there and says nothing.
const minWeight = 1e-3

func (v *view) group(t Term) *group {
	g := &group{words: []string{t.Word}, weight: t.Weight, must: t.Must, not: t.Not, prefix: t.Prefix}
	g.weight = cmp.Or(g.weight, 1)
	if t.Prefix {
		g.terms = v.withPrefix(lexical.Fold(t.Word))
	} else {
		g.terms = v.stems(t.Word)
	}
	return g
}

// unite returns the groups with those made one that are of the same terms.
func unite(list []*group) (out []*group) {
	seen := map[string]*group{}
	for _, g := range list {
		key := g.key()
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

// stops returns which words of a query say nothing of what it is about: the stop
// words of the language that has most of them, if there are other words.
func (v *view) stops(q Query) func(word string) bool {
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
