package subconscious

import (
	"slices"

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
