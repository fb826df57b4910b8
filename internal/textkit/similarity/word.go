package similarity

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// A lexeme is a folded word, sign or letter. It is immutable, except that it caches its senses.
type lexeme struct {
	text   string
	common uint8 // a bit for each language with this function word
	is     traits
	hash   uint64
	senses [numLanguages]atomic.Pointer[sense] // by language, filled on demand
}

type traits uint8

const (
	numeral     traits = 1 << iota // may start a number
	opensPhrase                    // starts another part of a sentence
	joinsTerms                     // joins a term to the preceding one
)

// A sense is the reading of a word in one language. It is immutable.
type sense struct {
	stem       string
	rest       uint32 // of its term, if listed
	phrases    *node  // phrases that start with its stem, or nil
	entry      entry
	derived    entry // of the word that it derives from, if made
	known      bool
	hasDerived bool
	stop       bool
	unlisted   term // its term, if unlisted
}

// A lexicon holds all languages and a bounded cache of words. No text makes it grow: a set holds
// at most ways words of at most maxKept bytes. The result of a look-up depends on the word alone.
// It is safe for concurrent use.
type lexicon struct {
	list  []*language
	cjk   *language // of the scripts without spaces
	seed  maphash.Seed
	cache [sets][ways]atomic.Pointer[lexeme]

	readers sync.Pool // of *reader, not in use
}

const (
	sets           = 1 << 13
	ways           = 4
	maxCachedBytes = 32
)

// lookup returns the lexeme of a word. A nil lexicon sets only its text.
func (x *lexicon) lookup(text []byte) *lexeme {
	if x == nil || len(text) > maxCachedBytes {
		return x.newLexeme(string(text))
	}
	h := maphash.Bytes(x.seed, text)
	set := &x.cache[h%sets]
	free := int(h >> 62) // the slot to replace
	for i := range set {
		w := set[i].Load()
		if w == nil {
			free = i
			break
		}
		if w.hash == h && w.text == string(text) {
			return w
		}
	}
	w := x.newLexeme(string(text))
	w.hash = h
	set[free].Store(w)
	return w
}

func (x *lexicon) newLexeme(text string) *lexeme {
	w := &lexeme{text: text}
	if x == nil {
		return w
	}
	for i, l := range x.list {
		if l.common[text] {
			w.common |= 1 << i
		}
	}
	_, counts := numberWords[text]
	_, share := fractions[text]
	if counts || share || text == "one" || text == "a" || text == "an" {
		w.is |= numeral
	}
	if determiners[text] {
		w.is |= opensPhrase
	}
	if genitives[text] {
		w.is |= joinsTerms
	}
	return w
}

// lookupSense returns the reading of a word in this language.
func (l *language) lookupSense(w *lexeme) *sense {
	s := w.senses[l.index].Load()
	if s == nil {
		s = l.newSense(w.text)
		w.senses[l.index].Store(s)
	}
	return s
}

func (l *language) newSense(text string) *sense {
	s := &sense{stem: l.baseStem(text), stop: l.stops[text]}
	s.rest = hash("~" + s.stem)
	s.phrases = l.phrases.next[s.stem]
	s.entry, s.known = l.findWord(text, s.stem)
	if s.derived, s.hasDerived = l.derivedEntry(text); !s.hasDerived {
		s.derived, s.hasDerived = l.english.exact[text] // all languages know "not"
		s.derived.words, s.hasDerived = 1, s.hasDerived && s.derived.kind == kindNot
	}
	s.unlisted = l.unlistedTerm(text, s.stem)
	return s
}

// unlistedTerm returns the term of a word that no table has and that is no name.
func (l *language) unlistedTerm(text, stem string) term {
	t := term{weight: weightUnlisted, id: hash(l.derivationRoot(stem))}
	if len(text) > 5 && strings.HasSuffix(text, "ly") && l.name == "en" {
		t.id, t.weight = hash(l.derivationRoot(l.stem(text[:len(text)-2]))), weightLight
	}
	if t.rest = l.unprefixedID(text); t.rest != 0 {
		t.is |= prefixed
	}
	return t
}

// derivedEntry returns the entry of the English adjective that a comparative or adverb derives
// from.
func (l *language) derivedEntry(w string) (e entry, ok bool) {
	if l.name != "en" || len(w) < 5 {
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
		if e, ok = l.findWord(base, l.baseStem(base)); ok && (e.kind == kindConcept || e.kind == kindQuant) {
			e.words = 1
			return e, true
		}
	}
	return e, false
}

// unprefixedID returns the id of a word without its negative prefix, 0 if it has none.
func (l *language) unprefixedID(text string) uint32 {
	for _, p := range l.negativePrefixes {
		rest, ok := strings.CutPrefix(text, p)
		if !ok || len(rest) < 4 {
			continue
		}
		stem := l.baseStem(rest)
		if e, ok := l.findWord(rest, stem); ok && e.kind == kindConcept {
			return e.id
		}
		return hash(l.derivationRoot(stem))
	}
	return 0
}

func (l *language) derivationRoot(stem string) string {
	if l.name == "en" {
		return cutDerivation(stem)
	}
	return stem
}
