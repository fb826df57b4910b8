package subconscious

import (
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/similarity"
)

// Limits of compared text. Longer texts equal only themselves.
const (
	maxWords = 64
	maxRead  = 2048
)

type phrase struct {
	line      string
	words     []uint32 // sorted distinct stems of content words
	order     []uint32 // stems of all words, 0 between sentences
	isContent []bool   // parallel to order: is it in words?
	kinds     uint64   // bitmap of words
	values    []value
	names     []uint32
	sides     []side
	negations int // negations

	long bool

	isParsed   bool
	parsedText similarity.Text
}

type value struct {
	kind byte // n: number, t: minute of the day, w: weekday, m: month, i: id
	n    uint64
}

type phraseScanner struct {
	*phrase
	t       *wordTable
	line    string
	tokens  []lexical.Token
	first   bool // at the start of a sentence
	skipped int  // tokens before it are consumed
}

func (r *phraseReader) parsePhrase(s string) *phrase {
	p := &phrase{line: textkit.OneLine(s)}
	scan := phraseScanner{phrase: p, t: r.table, line: p.line, first: true, tokens: r.tokens[:0]}
	scan.scanTokens()
	r.tokens = scan.tokens
	return p
}

func (r *phraseScanner) scanTokens() {
	p := r.phrase
	lexical.Tokens(p.line[:min(len(p.line), maxRead)], func(t lexical.Token) { r.tokens = append(r.tokens, t) })
	if p.long = len(r.tokens) > maxWords; p.long {
		r.tokens = r.tokens[:maxWords]
	}
	n := len(r.tokens)
	room := make([]uint32, 0, 3*n+2)
	p.words, p.order, p.isContent = room[:0:n], room[n:n:3*n+2], make([]bool, 0, 2*n+2)
	r.appendWord(0, false)
	for i := range r.tokens {
		if i >= r.skipped {
			r.scanWord(i)
		}
		r.scanSentence(i)
	}
	slices.Sort(p.words)
	p.words = slices.Compact(p.words)
	for _, w := range p.words {
		p.kinds |= 1 << (w % 64)
	}
}

func (r *phraseScanner) scanSentence(i int) {
	end := len(r.line)
	if i+1 < len(r.tokens) {
		end = r.tokens[i+1].Start
	}
	between := r.line[r.tokens[i].End:end]
	at := strings.IndexAny(between, ".!?;:…。！？")
	r.first = at >= 0 && (at+1 == len(between) || between[at+1] == ' ' || between[at] >= 0x80)
	if r.first {
		r.appendWord(0, false)
	}
}

func (r *phraseScanner) appendWord(h uint32, about bool) {
	r.order, r.isContent = append(r.order, h), append(r.isContent, about)
}

func (r *phraseScanner) tokenText(i int) string {
	if i >= len(r.tokens) {
		return ""
	}
	return r.line[r.tokens[i].Start:r.tokens[i].End]
}

func (r *phraseScanner) scanWord(i int) {
	raw := r.tokenText(i)
	if n := r.parseNumber(i); n > 0 {
		r.skipped = i + n
		return
	}
	w := lexical.Fold(raw)
	if v, ok := r.parseDay(i, raw, w); ok {
		r.addValue(v)
		return
	}
	r.sides = append(r.sides, r.t.sides[w]...)
	if r.t.negations[w] || strings.HasSuffix(w, "n't") || w == "t" && r.isNot(i) {
		r.negations++
		return
	}
	if r.t.negatingWords[w] {
		r.negations++
	}
	if rest, ok := stripNegation(w); ok {
		r.negations++
		w = rest
	}
	h := hashWord(r.t.canonicalStem(w))
	r.appendWord(h, !r.t.stop[w])
	if r.t.stop[w] {
		return
	}
	r.words = append(r.words, h)
	r.scanName(i, raw, h)
}

func (r *phraseScanner) scanName(i int, raw string, h uint32) {
	upper := raw[0] >= 'A' && raw[0] <= 'Z' || raw[0] >= 0x80 && raw != strings.ToLower(raw)
	if upper && (!r.first || r.isGenitive(i)) {
		r.names = append(r.names, h)
	}
}

// isNot reports whether token i is the t of "isn't".
func (r *phraseScanner) isNot(i int) bool {
	at := r.tokens[i].Start
	return at >= 2 && (r.line[at-1] == '\'' || strings.HasSuffix(r.line[:at], "’")) && strings.HasSuffix(strings.TrimRight(r.line[:at], "'’"), "n")
}

func (r *phraseScanner) isGenitive(i int) bool {
	rest := r.line[r.tokens[i].End:]
	return strings.HasPrefix(rest, "'s ") || strings.HasPrefix(rest, "’s ")
}

// stripNegation strips a negating "un" or "less" from w.
func stripNegation(w string) (string, bool) {
	for _, not := range []string{"under", "until", "unit", "union", "uniq", "univ", "unless", "uncle", "unders"} {
		if strings.HasPrefix(w, not) {
			return w, false
		}
	}
	if rest, ok := strings.CutPrefix(w, "un"); ok && len(rest) >= 4 {
		return rest, true
	}
	return w, false
}

// hashWord is 32-bit FNV-1a, but never 0.
func hashWord(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return max(h, 1)
}
