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

// How alike two findings must be to be the same, from 0 to 1: how much of their words
// they share. Fitted on the half of testdata/pairs.jsonl that is not held.
const (
	alike   = 0.56
	perhaps = 0.4  // it takes package same to say
	topic   = 0.75 // share of a topic's words that a text about it has
	nearby  = 0.35 // of texts that rest on the same facts
)

// SameFinding reports whether two findings of a sentence or two say the same thing, in
// the same or in other words. What has another number, date or name, or is denied in
// one and not in the other, is never the same.
func SameFinding(a, b string) bool {
	r := newReader(nil)
	return r.same(r.read(a), r.read(b))
}

// A reader reads texts, each once, and compares them. It is not safe for use by many.
type reader struct {
	more func(a, b string) bool // may find more that is the same
	seen map[string]*phrase

	table  *table
	tokens []lexical.Token // to be used again
}

func newReader(more func(a, b string) bool) *reader {
	return &reader{more: more, seen: make(map[string]*phrase), table: knownWords()}
}

// read returns what is compared of a text.
func (r *reader) read(s string) *phrase {
	p, ok := r.seen[s]
	if !ok {
		p = r.readPhrase(s)
		r.seen[s] = p
	}
	return p
}

// same reports whether two texts say the same.
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

// near reports whether two texts may well say the same, and do not disagree: enough for
// texts that rest on the same facts.
func (r *reader) near(a, b *phrase) bool { return a.likeness(b) >= nearby && !a.disagrees(b) }

// names reports whether a text is about a topic that another names, with all the
// numbers and names it has.
func (r *reader) names(t, a *phrase) bool {
	return len(t.words) > 0 && t.within(a) >= topic && !slices.ContainsFunc(t.values, func(v value) bool { return !a.hasValue(v) })
}

// verdict compares the texts as package same does, which knows more words, but wants
// nearly all of them.
func (p *phrase) verdict(o *phrase) similarity.Verdict { return p.text().Compare(o.text()) }

func (p *phrase) text() similarity.Text {
	if !p.reads {
		p.whole, p.reads = similarity.Of(p.line), true
	}
	return p.whole
}

//go:embed same_words.txt
var sameWords string

// A table is what is known of words.
type table struct {
	stop  map[string]bool
	not   map[string]bool
	void  map[string]bool
	same  map[string]string // what a word stands for
	sides map[string][]side // of opposites, by stem
}

// A side is one of two opposites.
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

// side notes the words of one of two opposites.
func (t *table) side(pair int, right bool, list []string) {
	for _, w := range list {
		t.sides[w] = append(t.sides[w], side{pair, right})
	}
}

// known returns what a word in small letters is compared by.
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

// endings are what is cut of English words, and most others, the longest first.
var endings = []string{"ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion", "ies", "ers", "ed", "es", "er", "ly", "en", "s", "e", "y"}

// stemLetters is how many letters of a stem are compared.
const stemLetters = 7

// stem returns what is compared of a word in small letters: its beginning without
// an ending. It is coarse, and made to be quick.
func stem(w string) string {
	for _, end := range endings {
		if len(w) >= len(end)+3 && strings.HasSuffix(w, end) {
			w = w[:len(w)-len(end)]
			if n := len(w); n > 3 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
				w = w[:n-1] // "stopped"
			}
			break
		}
	}
	if len(w) > 3 && (w[len(w)-1] == 'e' || w[len(w)-1] == 'y' || w[len(w)-1] == 'i') {
		w = w[:len(w)-1]
	}
	return w[:min(len(w), stemLetters)]
}

// likeness returns how much of what they are about two texts share, from 0 to 1 (the
// coefficient of Dice). A value counts as much as a word.
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

// within returns which share of what a text is about another has too.
func (p *phrase) within(o *phrase) float64 {
	return float64(shared(p.words, o.words)) / float64(len(p.words))
}

// shared returns how many numbers two sorted lists have in common.
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

// disagrees reports whether two texts cannot say the same: they have other values or
// names, one denies what the other says, or one has another word in the same place.
func (p *phrase) disagrees(o *phrase) bool {
	return p.otherValue(o) || p.otherName(o) || p.turned(o) || p.replaced(o)
}

// otherValue reports whether each has a value of some kind that the other has not.
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

// otherName reports whether each names something that the other does not.
func (p *phrase) otherName(o *phrase) bool {
	lacks := func(names []uint32, o *phrase) bool {
		return slices.ContainsFunc(names, func(n uint32) bool { _, has := slices.BinarySearch(o.words, n); return !has })
	}
	a, b := lacks(p.names, o), lacks(o.names, p)
	return a && b
}

// turned reports whether something turns the meaning of one text round: a negation, or a
// word for the opposite. Both together do not: "not open" is "closed".
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

// replaced reports whether a word of one text stands where the other has another, with
// the same words around: what is almost a copy differs in what it is about.
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
