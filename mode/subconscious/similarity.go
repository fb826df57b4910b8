package subconscious

import (
	_ "embed"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/similarity"
)

// Similarity thresholds, from 0 to 1. They were fitted on the pairs of testdata/pairs.jsonl that
// are not held out.
const (
	alike   = 0.56
	perhaps = 0.4  // package similarity decides
	topic   = 0.75 // share of a topic's words in a text about it
	nearby  = 0.35 // for texts with the same support
)

// SameFinding reports whether two findings state the same. Findings with different numbers, dates,
// names or negation are never the same.
func SameFinding(a, b string) bool {
	r := newReader(nil)
	return r.same(r.read(a), r.read(b))
}

// reader parses texts once each and compares them. It is not safe for concurrent use.
type reader struct {
	more func(a, b string) bool // may find more equal texts
	seen map[string]*phrase

	table  *table
	tokens []lexical.Token
}

func newReader(more func(a, b string) bool) *reader {
	return &reader{more: more, seen: make(map[string]*phrase), table: knownWords()}
}

func (r *reader) read(s string) *phrase {
	p, ok := r.seen[s]
	if !ok {
		p = r.readPhrase(s)
		r.seen[s] = p
	}
	return p
}

func (r *reader) same(a, b *phrase) bool {
	switch {
	case len(a.words) == 0 || len(b.words) == 0:
		return a.line == b.line
	case a.line == b.line:
		return true
	case a.long || b.long:
		return false
	}
	likeness := a.likeness(b)
	if likeness < perhaps && r.more == nil || a.otherValue(b) || a.otherName(b) {
		return false
	}
	if likeness >= alike && !a.disagrees(b) {
		return true
	}
	if likeness >= perhaps && a.verdict(b) == similarity.Same {
		return true
	}
	return r.more != nil && !a.disagrees(b) && r.more(a.line, b.line)
}

// near reports whether two texts may state the same and do not conflict. It suffices for texts with
// the same support.
func (r *reader) near(a, b *phrase) bool { return a.likeness(b) >= nearby && !a.disagrees(b) }

// names reports whether a is about the topic t and has all of t's numbers and names.
func (r *reader) names(t, a *phrase) bool {
	return len(t.words) > 0 && t.within(a) >= topic && !slices.ContainsFunc(t.values, func(v value) bool { return !a.hasValue(v) })
}

// verdict compares with package similarity, which knows more words but requires nearly all of them.
func (p *phrase) verdict(o *phrase) similarity.Verdict { return p.text().Compare(o.text()) }

func (p *phrase) text() similarity.Text {
	if !p.reads {
		p.whole, p.reads = similarity.Of(p.line), true
	}
	return p.whole
}

//go:embed same_words.txt
var sameWords string

type table struct {
	stop  map[string]bool
	not   map[string]bool
	void  map[string]bool
	same  map[string]string // synonyms
	sides map[string][]side
}

type side struct {
	pair  int
	right bool
}

var knownWords = sync.OnceValue(func() *table { return readTable(sameWords) })

func readTable(file string) *table {
	t := &table{stop: make(map[string]bool), not: make(map[string]bool), void: make(map[string]bool), same: make(map[string]string), sides: make(map[string][]side)}
	pair := 0
	for line := range strings.Lines(file) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		list := strings.Fields(rest)
		switch kind {
		case "stop", "not", "void":
			m := map[string]map[string]bool{"stop": t.stop, "not": t.not, "void": t.void}[kind]
			for _, w := range list {
				m[w] = true
			}
		case "same":
			for _, w := range list {
				t.same[w], t.same[stem(w)] = stem(list[0]), stem(list[0])
			}
		case "anti":
			left, right, _ := strings.Cut(rest, "|")
			t.side(pair, false, strings.Fields(left))
			t.side(pair, true, strings.Fields(right))
			pair++
		}
	}
	return t
}

func (t *table) side(pair int, right bool, list []string) {
	for _, w := range list {
		t.sides[w] = append(t.sides[w], side{pair, right})
	}
}

func (t *table) known(w string) string {
	if s, ok := t.same[w]; ok {
		return s
	}
	short := stem(w)
	if s, ok := t.same[short]; ok {
		return s
	}
	return short
}

// endings are suffixes to cut, longest first, mostly English.
var endings = []string{"ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion", "ies", "ers", "ed", "es", "er", "ly", "en", "s", "e", "y"}

const stemLetters = 7

// stem strips the ending of a lower-case word. It is coarse and fast.
func stem(w string) string {
	for _, end := range endings {
		if len(w) >= len(end)+3 && strings.HasSuffix(w, end) {
			w = w[:len(w)-len(end)]
			if n := len(w); n > 3 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
				w = w[:n-1]
			}
			break
		}
	}
	if len(w) > 3 && (w[len(w)-1] == 'e' || w[len(w)-1] == 'y' || w[len(w)-1] == 'i') {
		w = w[:len(w)-1]
	}
	return w[:min(len(w), stemLetters)]
}

// likeness returns the Dice coefficient of the content words and values, from 0 to 1.
func (p *phrase) likeness(o *phrase) float64 {
	all := len(p.words) + len(o.words)
	if all == 0 || bits.OnesCount64(p.kinds&o.kinds) == 0 {
		return 0
	}
	both := shared(p.words, o.words)
	for _, v := range p.values {
		if o.hasValue(v) {
			both++
		}
	}
	all += len(p.values) + len(o.values)
	return min(1, 2*float64(both)/float64(all))
}

// within returns the share of p's content words that o has.
func (p *phrase) within(o *phrase) float64 {
	return float64(shared(p.words, o.words)) / float64(len(p.words))
}

func shared(a, b []uint32) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			i, j, n = i+1, j+1, n+1
		}
	}
	return n
}

// disagrees reports whether two texts conflict in a value, name, negation or substituted word.
func (p *phrase) disagrees(o *phrase) bool {
	return p.otherValue(o) || p.otherName(o) || p.turned(o) || p.replaced(o)
}

// otherValue reports whether each text has a value of one kind that the other lacks.
func (p *phrase) otherValue(o *phrase) bool {
	var a, b [256]bool
	for _, v := range p.values {
		a[v.kind] = a[v.kind] || !o.hasValue(v)
	}
	for _, v := range o.values {
		b[v.kind] = b[v.kind] || !p.hasValue(v)
	}
	for _, kind := range "ntwmi" {
		if a[kind] && b[kind] {
			return true
		}
	}
	return false
}

// otherName reports whether each text has a name that the other lacks.
func (p *phrase) otherName(o *phrase) bool {
	lacks := func(names []uint32, o *phrase) bool {
		return slices.ContainsFunc(names, func(n uint32) bool { _, has := slices.BinarySearch(o.words, n); return !has })
	}
	a, b := lacks(p.names, o), lacks(o.names, p)
	return a && b
}

// turned reports whether exactly one text is negated or uses an antonym. Both together cancel: "not
// open" is "closed".
func (p *phrase) turned(o *phrase) bool {
	opposite := slices.ContainsFunc(p.sides, func(s side) bool {
		other := side{s.pair, !s.right}
		return slices.Contains(o.sides, other) && !slices.Contains(o.sides, s) && !slices.Contains(p.sides, other)
	})
	switch p.nots - o.nots {
	case 0:
		return opposite
	case 1, -1:
		return !opposite
	}
	return true
}

// replaced reports whether the texts have different words in the same context. Near-copies differ
// in their subject.
func (p *phrase) replaced(o *phrase) bool {
	for i := 1; i+1 < len(p.order); i++ {
		w := p.order[i]
		if !p.about[i] || slices.Contains(o.order, w) {
			continue
		}
		for j := 1; j+1 < len(o.order); j++ {
			x := o.order[j]
			if o.about[j] && p.order[i-1] == o.order[j-1] && p.order[i+1] == o.order[j+1] && !slices.Contains(p.order, x) {
				return true
			}
		}
	}
	return false
}
