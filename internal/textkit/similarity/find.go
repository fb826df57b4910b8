package similarity

import (
	"strings"
)

// find returns the longest entry that starts at token i within its clause.
func (r *reader) find(i int) (best entry, ok bool) {
	t := &r.tokens[i]
	asks := t.inQuestion && r.beginsSentence(i)
	e, found := t.entry, t.known
	for n, at := 0, t.phrases; ; {
		if asks && at != nil && at.asked && (n > 0 || !r.asksDegree(i)) {
			e, found = at.ask, true
		}
		if n++; found && (e.kind != kindCondition || !asks) {
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
		if at = at.child(next.stem); at == nil {
			return best, ok
		}
		e, found = at.entry, at.known
	}
}

// asksDegree reports whether token i asks for a degree ("how reliable", not "how do"). Such a
// question equals the question whether the property holds.
func (r *reader) asksDegree(i int) bool {
	if r.lang.name != "en" || r.tokens[i].text != "how" || i+1 == len(r.tokens) {
		return false
	}
	next := r.tokens[i+1].text
	return !r.lang.stops[next] && !helperVerbs[next]
}

// helperVerbs may follow "how".
var helperVerbs = words("is are was were be do does did can could will would should shall may might must has have had not the to a an")

// beginsSentence reports whether token i is the first or second of its sentence.
func (r *reader) beginsSentence(i int) bool {
	return r.tokens[i].first || r.tokens[i-1].first
}

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
