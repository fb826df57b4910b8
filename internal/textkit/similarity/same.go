package similarity

import (
	"math/bits"
)

// Limits on a text.
const (
	maxBytes  = 8 << 10 // a longer text is the same only as itself
	maxTokens = 1024
	maxWord   = 48 // runes
	maxTerms  = 64 // bits of a machine word
)

// A Verdict is the relation between two texts.
type Verdict uint8

const (
	// Different texts have neither of the other relations, or it is unknown.
	Different Verdict = iota
	// Same texts say the same thing.
	Same
	// Opposite texts have the same subject and contradict each other.
	Opposite
)

func (v Verdict) String() string {
	switch v {
	case Same:
		return "same"
	case Opposite:
		return "opposite"
	}
	return "different"
}

// A Text is the analysis of a text. The zero Text has no content and is Different from all. It is
// immutable and safe for concurrent use.
type Text struct {
	sum        uint64 // contentHash; 0 without content
	idBits     uint64 // a bit for each term, by id
	terms      []term // in order of the text
	weight     uint16 // of all terms
	nots       uint8
	isQuestion bool
	askedRole  uint8 // part that a question asks for, if known
	truncated  bool  // terms is incomplete
	finalVerb  bool  // of a language with a final verb

	prefixed bool // a term has a negative prefix
}

// A term is a significant word or phrase.
type term struct {
	id     uint32 // meaning
	rest   uint32 // id without a negative prefix, or 0; for a listed word, the word
	place  uint16 // sentence and clause
	is     flags
	weight uint8
	role   uint8 // set by the preceding word, or 0
	nth    uint8 // in term n: index of the term with the n-th id
}

type flags uint16

// structural terms have no meaning, but other terms may exchange places around them.
const structural = copula | comparison

const (
	opposite     flags = 1 << iota // opposite of the meaning of id
	negated                        // follows a negation
	cause                          // part of a cause or condition
	converse                       // its subject follows it
	amount                         // number
	quantity                       // quantifier
	copula                         // form of "be"
	comparison                     // stands between compared terms
	noun                           // capitalised, in a language that capitalises nouns
	decisive                       // a text without it says something else
	prefixed                       // has a negative prefix
	questionWord                   // question word
)

// idBits returns the bits of the ids that a term may match.
func (t *term) idBits() uint64 {
	bits := uint64(1) << (t.id % 64)
	if t.is&prefixed != 0 {
		bits |= 1 << (t.rest % 64)
	}
	return bits
}

// Parse analyses a text. A text of more than 8 KiB keeps only its hash.
func Parse(text string) Text {
	t := Text{sum: contentHash(text)}
	if t.sum == 0 {
		return t
	}
	if len(text) > maxBytes {
		t.truncated = true
		return t
	}
	t = readText(text, t)
	for i := range t.terms {
		m := &t.terms[i]
		t.weight += uint16(m.weight)
		t.idBits |= m.idBits()
		t.prefixed = t.prefixed || m.is&prefixed != 0
	}
	orderByID(t.terms)
	return t
}

// Compare returns the relation of two texts. It is symmetric, does not allocate, and returns Same
// for two equal texts with a letter or digit.
func (t Text) Compare(o Text) Verdict {
	if t.sum != o.sum && !mayMatch(t.idBits, o.idBits) {
		return Different
	}
	return compareTexts(&t, &o)
}

// compareTexts is Compare without the first cheap test.
func compareTexts(t, o *Text) Verdict {
	switch {
	case t.sum == 0 || o.sum == 0:
		return Different
	case t.sum == o.sum:
		return Same
	case t.truncated || o.truncated || t.isQuestion != o.isQuestion || t.askedRole|o.askedRole == subject|object:
		return Different
	case !t.prefixed && !o.prefixed && t.exceedsLimit(o.idBits): // t is usually the new text and in the CPU cache
		return Different
	case t.sum > o.sum:
		t, o = o, t // one order, so that the verdict is symmetric
	}
	p := pair{a: t, b: o}
	return p.verdict()
}

// IsContainedIn reports whether o contains at least the share (0 to 1) of the weight of t's words, in any
// order and form, and all its names and numbers. It ignores the meaning. It does not allocate.
func (t Text) IsContainedIn(o Text, share float64) bool {
	if t.weight == 0 || t.truncated || o.truncated {
		return false
	}
	lost, maybe := 0, uint64(0) // missing weight; terms that may be in o
	for i := range t.terms {
		m := &t.terms[i]
		if o.idBits&(1<<(m.id%64)) != 0 {
			maybe |= 1 << i
		} else if lost += int(m.weight); t.exceedsLoss(m, lost, share) {
			return false
		}
	}
	for ; maybe != 0; maybe &= maybe - 1 {
		m := &t.terms[bits.TrailingZeros64(maybe)]
		if o.hasTerm(m.id) {
			continue
		}
		if lost += int(m.weight); t.exceedsLoss(m, lost, share) {
			return false
		}
	}
	return true
}

// exceedsLoss reports whether t cannot be within a text that lacks term m and terms of weight lost
// in total.
func (t *Text) exceedsLoss(m *term, lost int, share float64) bool {
	return m.is&(amount|decisive) != 0 || m.weight == weightName || float64(int(t.weight)-lost)/float64(t.weight) < share
}

func (t *Text) hasTerm(id uint32) bool {
	from, end := 0, len(t.terms)
	for from < end {
		if at := (from + end) / 2; t.terms[t.terms[at].nth].id < id {
			from = at + 1
		} else {
			end = at
		}
	}
	return from < len(t.terms) && t.terms[t.terms[from].nth].id == id
}

// Nearest returns the index of the newest text that is the Same as t, otherwise of the newest
// Opposite one; otherwise -1 and Different.
func Nearest(list []Text, t Text) (int, Verdict) {
	at, found := -1, Different
	for i := len(list) - 1; i >= 0; i-- {
		switch v := t.Compare(list[i]); {
		case v == Same:
			return i, Same
		case v == Opposite && at < 0:
			at, found = i, Opposite
		}
	}
	return at, found
}

// contentHash returns the 64-bit FNV-1a hash of the lower-case text, without stops, commas and
// quotes outside numbers, and with single spaces; 0 without a letter or digit.
func contentHash(text string) uint64 {
	h, content := uint64(14695981039346656037), false
	space, last := false, ' '
	for _, r := range text {
		is := classOf(r)
		switch {
		case is&(letter|digits) != 0:
			content = true
		case is&whitespace != 0:
			space = content
			continue
		case r == '’':
			r = '\''
		case is&ignored != 0 && !isDigit(last):
			continue
		}
		if space {
			h, space = (h^' ')*1099511628211, false
		}
		h = (h ^ uint64(lowerRune(r, is))) * 1099511628211
		last = r
	}
	if !content {
		return 0
	}
	return max(h, 1)
}
