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
	sameThreshold  = 0.56
	maybeThreshold = 0.4  // package similarity decides
	topicThreshold = 0.75 // share of a topic's words in a text about it
	nearThreshold  = 0.35 // for texts with the same support
)

// SameFinding reports whether two findings state the same. Findings with different numbers, dates,
// names or negation are never the same.
func SameFinding(a, b string) bool {
	r := newReader(nil)
	return r.isSame(r.phraseOf(a), r.phraseOf(b))
}

// phraseReader parses texts once each and compares them. It is not safe for concurrent use.
type phraseReader struct {
	semanticSame func(a, b string) bool // may find more equal texts
	seen         map[string]*phrase

	table  *wordTable
	tokens []lexical.Token
}

func newReader(more func(a, b string) bool) *phraseReader {
	return &phraseReader{semanticSame: more, seen: make(map[string]*phrase), table: loadWordTable()}
}

func (r *phraseReader) phraseOf(s string) *phrase {
	p, ok := r.seen[s]
	if !ok {
		p = r.parsePhrase(s)
		r.seen[s] = p
	}
	return p
}

func (r *phraseReader) isSame(a, b *phrase) bool {
	switch {
	case len(a.words) == 0 || len(b.words) == 0:
		return a.line == b.line
	case a.line == b.line:
		return true
	case a.long || b.long:
		return false
	}
	likeness := a.wordOverlap(b)
	if likeness < maybeThreshold && r.semanticSame == nil || a.hasOtherValue(b) || a.hasOtherName(b) {
		return false
	}
	if likeness >= sameThreshold && !a.conflictsWith(b) {
		return true
	}
	if likeness >= maybeThreshold && a.compareTexts(b) == similarity.Same {
		return true
	}
	return r.semanticSame != nil && !a.conflictsWith(b) && r.semanticSame(a.line, b.line)
}

// isNear reports whether two texts may state the same and do not conflict. It suffices for texts with
// the same support.
func (r *phraseReader) isNear(a, b *phrase) bool {
	return a.wordOverlap(b) >= nearThreshold && !a.conflictsWith(b)
}

// coversTopic reports whether a is about the topic t and has all of t's numbers and names.
func (r *phraseReader) coversTopic(t, a *phrase) bool {
	return len(t.words) > 0 && t.coveredShare(a) >= topicThreshold && !slices.ContainsFunc(t.values, func(v value) bool { return !a.hasValue(v) })
}

// compareTexts compares with package similarity, which knows more words but requires nearly all of them.
func (p *phrase) compareTexts(o *phrase) similarity.Verdict {
	return p.similarityText().Compare(o.similarityText())
}

func (p *phrase) similarityText() similarity.Text {
	if !p.isParsed {
		p.parsedText, p.isParsed = similarity.Parse(p.line), true
	}
	return p.parsedText
}

//go:embed similarity_words.txt
var sameWords string

type wordTable struct {
	stop          map[string]bool
	negations     map[string]bool
	negatingWords map[string]bool
	synonyms      map[string]string // synonyms
	sides         map[string][]side
}

type side struct {
	pair  int
	right bool
}

var loadWordTable = sync.OnceValue(func() *wordTable { return readTable(sameWords) })

func readTable(file string) *wordTable {
	t := &wordTable{stop: make(map[string]bool), negations: make(map[string]bool), negatingWords: make(map[string]bool), synonyms: make(map[string]string), sides: make(map[string][]side)}
	pair := 0
	for line := range strings.Lines(file) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		list := strings.Fields(rest)
		switch kind {
		case "stop", "not", "void":
			m := map[string]map[string]bool{"stop": t.stop, "not": t.negations, "void": t.negatingWords}[kind]
			for _, w := range list {
				m[w] = true
			}
		case "same":
			for _, w := range list {
				t.synonyms[w], t.synonyms[coarseStem(w)] = coarseStem(list[0]), coarseStem(list[0])
			}
		case "anti":
			left, right, _ := strings.Cut(rest, "|")
			t.addSides(pair, false, strings.Fields(left))
			t.addSides(pair, true, strings.Fields(right))
			pair++
		}
	}
	return t
}

func (t *wordTable) addSides(pair int, right bool, list []string) {
	for _, w := range list {
		t.sides[w] = append(t.sides[w], side{pair, right})
	}
}

func (t *wordTable) canonicalStem(w string) string {
	if s, ok := t.synonyms[w]; ok {
		return s
	}
	short := coarseStem(w)
	if s, ok := t.synonyms[short]; ok {
		return s
	}
	return short
}

// suffixes are suffixes to cut, longest first, mostly English.
var suffixes = []string{"ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion", "ies", "ers", "ed", "es", "er", "ly", "en", "s", "e", "y"}

const stemLetters = 7

// coarseStem strips the ending of a lower-case word. It is coarse and fast.
func coarseStem(w string) string {
	for _, end := range suffixes {
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

// wordOverlap returns the Dice coefficient of the content words and values, from 0 to 1.
func (p *phrase) wordOverlap(o *phrase) float64 {
	all := len(p.words) + len(o.words)
	if all == 0 || bits.OnesCount64(p.kinds&o.kinds) == 0 {
		return 0
	}
	both := countShared(p.words, o.words)
	for _, v := range p.values {
		if o.hasValue(v) {
			both++
		}
	}
	all += len(p.values) + len(o.values)
	return min(1, 2*float64(both)/float64(all))
}

// coveredShare returns the share of p's content words that o has.
func (p *phrase) coveredShare(o *phrase) float64 {
	return float64(countShared(p.words, o.words)) / float64(len(p.words))
}

func countShared(a, b []uint32) (n int) {
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

// conflictsWith reports whether two texts conflict in a value, name, negation or substituted word.
func (p *phrase) conflictsWith(o *phrase) bool {
	return p.hasOtherValue(o) || p.hasOtherName(o) || p.isOpposite(o) || p.hasReplacedWord(o)
}

// hasOtherValue reports whether each text has a value of one kind that the other lacks.
func (p *phrase) hasOtherValue(o *phrase) bool {
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

// hasOtherName reports whether each text has a name that the other lacks.
func (p *phrase) hasOtherName(o *phrase) bool {
	lacks := func(names []uint32, o *phrase) bool {
		return slices.ContainsFunc(names, func(n uint32) bool { _, has := slices.BinarySearch(o.words, n); return !has })
	}
	a, b := lacks(p.names, o), lacks(o.names, p)
	return a && b
}

// isOpposite reports whether exactly one text is negated or uses an antonym. Both together cancel: "not
// open" is "closed".
func (p *phrase) isOpposite(o *phrase) bool {
	opposite := slices.ContainsFunc(p.sides, func(s side) bool {
		other := side{s.pair, !s.right}
		return slices.Contains(o.sides, other) && !slices.Contains(o.sides, s) && !slices.Contains(p.sides, other)
	})
	switch p.negations - o.negations {
	case 0:
		return opposite
	case 1, -1:
		return !opposite
	}
	return true
}

// hasReplacedWord reports whether the texts have different words in the same context. Near-copies differ
// in their subject.
func (p *phrase) hasReplacedWord(o *phrase) bool {
	for i := 1; i+1 < len(p.order); i++ {
		w := p.order[i]
		if !p.isContent[i] || slices.Contains(o.order, w) {
			continue
		}
		for j := 1; j+1 < len(o.order); j++ {
			x := o.order[j]
			if o.isContent[j] && p.order[i-1] == o.order[j-1] && p.order[i+1] == o.order[j+1] && !slices.Contains(p.order, x) {
				return true
			}
		}
	}
	return false
}
