package similarity

import (
	"strings"
)

// find returns the longest entry that begins at a token, in its clause.
func (r *reader) find(i int) (best entry, ok bool) {
	t := &r.tokens[i]
	asks := t.asks && r.begins(i)
	e, found := t.entry, t.known
	for n, at := 0, t.begins; ; {
		if asks && at != nil && at.asked && (n > 0 || !r.degree(i)) {
			e, found = at.ask, true
		}
		if n++; found && (e.kind != when || !asks) {
			best, ok = e, true
			best.words = uint8(n)
		}
		if at == nil || i+n == len(r.tokens) {
			return best, ok
		}
		next := &r.tokens[i+n]
		if next.kind != t.kind || next.clause != t.clause {
			return best, ok
		}
		if at = at.after(next.stem); at == nil {
			return best, ok
		}
		e, found = at.entry, at.known
	}
}

// degree reports whether the words at a token ask to what degree something is
// so: "how reliable", not "how do". Then it is no other question than the one
// whether it is.
func (r *reader) degree(i int) bool {
	if r.lang.name != "en" || r.tokens[i].text != "how" || i+1 == len(r.tokens) {
		return false
	}
	next := r.tokens[i+1].text
	return !r.lang.stops[next] && !helping[next]
}

// helping has the verbs that may follow "how".
var helping = words("is are was were be do does did can could will would should shall may might must has have had not the to a an")

// begins reports whether a sentence begins at a token, or with one word before it.
func (r *reader) begins(i int) bool {
	return r.tokens[i].first || r.tokens[i-1].first
}

// words returns a set of words.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
