package subconscious

import "ponder/same"

// SameFinding reports whether two findings of a sentence or two say the same thing, in
// the same or in other words. What has another number, date or name, or is denied in
// one and not in the other, is never the same.
func SameFinding(a, b string) bool {
	r := newReader(nil)
	return r.same(r.read(a), r.read(b))
}

// A phrase is what is compared of a finding.
type phrase struct {
	text  string
	whole same.Text
}

// A reader reads texts, each once, and compares them.
type reader struct {
	more func(a, b string) bool // may find more that is the same
	seen map[string]phrase
}

func newReader(more func(a, b string) bool) *reader {
	return &reader{more: more, seen: make(map[string]phrase)}
}

func (r *reader) read(s string) phrase {
	p, ok := r.seen[s]
	if !ok {
		p = phrase{text: s, whole: same.Of(s)}
		r.seen[s] = p
	}
	return p
}

func (r *reader) same(a, b phrase) bool { return a.whole.Compare(b.whole) == same.Same }

// near reports whether two texts may well be of one topic: enough for texts that rest
// on the same facts.
func (r *reader) near(a, b phrase) bool {
	return a.whole.Within(b.whole, 0.4) || b.whole.Within(a.whole, 0.4)
}

// names reports whether a text is of a topic that another names.
func (r *reader) names(topic, a phrase) bool { return topic.whole.Within(a.whole, 0.75) }
