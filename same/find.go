package same

import (
	"strings"
)

// find returns the longest entry that begins at a token, in its clause.
func (r *reader) find(l *language, i int) (best entry, ok bool) {
	asks := r.tokens[i].asks && r.begins(i)
	r.key = r.key[:0]
	for n := 0; n < l.long && i+n < len(r.tokens); n++ {
		t := r.tokens[i+n]
		if t.kind != r.tokens[i].kind || t.clause != r.tokens[i].clause {
			break
		}
		w := t.text
		if t.kind == word {
			w = r.stems[i+n]
			if n > 0 {
				r.key = append(r.key, ' ')
			}
		}
		r.key = append(r.key, w...)
		e, found := l.asks[string(r.key)]
		if !asks || !found || r.degree(i, n) {
			if n == 0 {
				e, found = l.single(t.text, w)
			} else {
				e, found = l.table[string(r.key)]
			}
		}
		if found && (e.kind != when || !asks) {
			best, ok = e, true
			best.words = uint8(n + 1)
		}
	}
	return best, ok
}

// degree reports whether the words before a token ask to what degree something
// is so: "how reliable", not "how do". Then it is no other question than the one
// whether it is.
func (r *reader) degree(i, n int) bool {
	if r.lang.name != "en" || n > 0 || r.tokens[i].text != "how" || i+1 == len(r.tokens) {
		return false
	}
	next := r.tokens[i+1].text
	return !r.lang.stops[next] && !helping[next]
}

// helping has the verbs that may follow "how".
var helping = words("is are was were be do does did can could will would should shall may might must has have had not the to a an")

// compared returns the entry of the English adjective that a comparative or an
// adverb is made from.
func (r *reader) compared(w string) (e entry, ok bool) {
	if r.lang.name != "en" || len(w) < 5 {
		return e, false
	}
	cut := ""
	for _, end := range []string{"er", "est", "ly"} {
		if c, found := strings.CutSuffix(w, end); found {
			cut = c
		}
	}
	if cut == "" {
		return e, false
	}
	for _, base := range []string{cut, cut + "e", strings.TrimSuffix(cut, "i") + "y", cut[:len(cut)-1], cut + "le"} {
		if e, ok = r.lang.single(base, r.lang.base(base)); ok && (e.kind == concept || e.kind == quant) {
			e.words = 1
			return e, true
		}
	}
	return e, false
}

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

// without returns the id of a word without a negative prefix, 0 if it has none.
func (r *reader) without(text string) uint32 {
	for _, p := range r.lang.un {
		rest, ok := strings.CutPrefix(text, p)
		if !ok || len(rest) < 4 {
			continue
		}
		stem := r.lang.base(rest)
		if e, ok := r.lang.single(rest, stem); ok && e.kind == concept {
			return e.id
		}
		return hash(r.root(stem))
	}
	return 0
}

// root returns what a stem is made from, in English.
func (r *reader) root(stem string) string {
	if r.lang.name == "en" {
		return root(stem)
	}
	return stem
}
