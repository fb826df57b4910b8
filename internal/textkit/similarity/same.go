package similarity

import (
	"math/bits"
)

// Bounds on what is read of a text.
const (
	maxBytes  = 8 << 10 // what is longer is the same as itself only
	maxTokens = 1024
	maxWord   = 48 // runes
	maxTerms  = 64 // one bit each of a word of the machine
)

// A Verdict is how two texts stand to each other.
type Verdict uint8

const (
	// Different texts are neither of the others, or it is not known.
	Different Verdict = iota
	// Same texts say the same thing.
	Same
	// Opposite texts are about the same thing, and cannot both be right.
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

// A Text is what is compared of a text. The zero Text has no content and is
// Different from all. It never changes and may be used by many at once.
type Text struct {
	sum    uint64 // of its letters, without case, spaces and marks; 0 if it has none
	kinds  uint64 // a bit for each term, by its id
	terms  []term // in their order
	weight uint16 // of all terms
	nots   uint8
	asks   bool
	wants  uint8 // of a question, subject or object, if that is known
	cut    bool  // there is more than is in terms
	strict bool  // of a language whose verb may stand behind all

	prefixed bool // a term has a negative prefix
}

// A term is a word or phrase of a text that counts.
type term struct {
	id     uint32 // what it means
	rest   uint32 // the id without a negative prefix, or 0; of a word of a table, the word
	place  uint16 // sentence and clause
	is     flags
	weight uint8
	role   uint8 // by what word it is led in, or 0
	nth    uint8 // of the n-th term, the place of the term with the n-th id
}

type flags uint16

// special terms say nothing, but things may change places around them.
const special = copula | between

const (
	opposite flags = 1 << iota // it is the opposite of what id means
	negated                    // a negation is before it
	cause                      // it is of what is the cause or condition
	converse                   // who does it stands behind it
	amount                     // it is a number
	quantity                   // it is a quantifier
	copula                     // it is a form of "be"
	between                    // it stands between what is compared
	noun                       // it has a capital, in a language where nouns have
	decisive                   // a text without it says something else
	prefixed                   // it has a negative prefix
	asking                     // it is what a question asks for
)

// kinds returns the bits of what a term may be a partner of.
func (t *term) kinds() uint64 {
	bits := uint64(1) << (t.id % 64)
	if t.is&prefixed != 0 {
		bits |= 1 << (t.rest % 64)
	}
	return bits
}

// Of returns what is compared of a text. Of a text of more than 8 KiB no more is
// kept than whether it is another text of that length.
func Of(text string) Text {
	t := Text{sum: sum(text)}
	if t.sum == 0 {
		return t
	}
	if len(text) > maxBytes {
		t.cut = true
		return t
	}
	t = read(text, t)
	for i := range t.terms {
		m := &t.terms[i]
		t.weight += uint16(m.weight)
		t.kinds |= m.kinds()
		t.prefixed = t.prefixed || m.is&prefixed != 0
	}
	sort(t.terms)
	return t
}

// Compare returns how two texts stand to each other; it is symmetric. A text
// with a letter or digit is the Same as itself. It does not allocate.
func (t Text) Compare(o Text) Verdict {
	if t.sum != o.sum && !near(t.kinds, o.kinds) {
		return Different
	}
	return compare(&t, &o)
}

// compare is Compare of two texts that may have enough in common.
func compare(t, o *Text) Verdict {
	switch {
	case t.sum == 0 || o.sum == 0:
		return Different
	case t.sum == o.sum:
		return Same
	case t.cut || o.cut || t.asks != o.asks || t.wants|o.wants == subject|object:
		return Different
	case !t.prefixed && !o.prefixed && t.beyond(o.kinds): // t is the new one mostly, and at hand
		return Different
	case t.sum > o.sum:
		t, o = o, t // one order of two, so that they are the same to each other
	}
	p := pair{a: t, b: o}
	return p.verdict()
}

// Within reports whether o names so much of what t names, 0 to 1: of the weight of
// its words, in whatever order and form, and all its names and numbers. It tells
// nothing of what is said with them. It does not allocate.
func (t Text) Within(o Text, share float64) bool {
	if t.weight == 0 || t.cut || o.cut {
		return false
	}
	lost, maybe := 0, uint64(0) // weight of what o does not name; terms that it may
	for i := range t.terms {
		m := &t.terms[i]
		if o.kinds&(1<<(m.id%64)) != 0 {
			maybe |= 1 << i
		} else if lost += int(m.weight); t.lacks(m, lost, share) {
			return false
		}
	}
	for ; maybe != 0; maybe &= maybe - 1 {
		m := &t.terms[bits.TrailingZeros64(maybe)]
		if o.names(m.id) {
			continue
		}
		if lost += int(m.weight); t.lacks(m, lost, share) {
			return false
		}
	}
	return true
}

// lacks reports whether a text is not within another that does not have the term m,
// one of terms of such a weight that it has not.
func (t *Text) lacks(m *term, lost int, share float64) bool {
	return m.is&(amount|decisive) != 0 || m.weight == naming || float64(int(t.weight)-lost)/float64(t.weight) < share
}

// names reports whether a text has a term of this id.
func (t *Text) names(id uint32) bool {
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

// Nearest returns the place of the newest text that is the Same as t, or else of
// the newest that is the Opposite; -1 and Different if there is none.
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

// sum is FNV-1a of 64 bits of a text in small letters, without stops, commas and
// quotes, but for those in numbers, and with one space for many.
func sum(text string) uint64 {
	h, content := uint64(14695981039346656037), false
	space, last := false, ' '
	for _, r := range text {
		is := classOf(r)
		switch {
		case is&(letter|digits) != 0:
			content = true
		case is&blank != 0:
			space = content
			continue
		case r == '’':
			r = '\''
		case is&dropped != 0 && !isDigit(last):
			continue
		}
		if space {
			h, space = (h^' ')*1099511628211, false
		}
		h = (h ^ uint64(lower(r, is))) * 1099511628211
		last = r
	}
	if !content {
		return 0
	}
	return max(h, 1)
}
