package similarity

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// A lexeme is a word, mark or letter as it is written, without case and accents,
// and what is known of it. It never changes, but for senses that are added.
type lexeme struct {
	text   string
	common uint8 // a bit for each language that has it among its common words
	is     traits
	hash   uint64
	senses [languages]atomic.Pointer[sense] // what it is in each language, once that was asked
}

type traits uint8

const (
	numeral   traits = 1 << iota // a number may begin with it
	opens                        // it begins another part of a sentence
	belonging                    // it joins a thing to the one before
)

// A sense is what a word is in one language. It never changes.
type sense struct {
	stem   string
	rest   uint32 // of a term for it, if it is of a table
	begins *node  // what begins with its stem, or nil
	entry  entry  // its own, if known
	other  entry  // that of what it is made from, if made
	known  bool
	made   bool
	stop   bool
	plain  term // for it, if no table has it
}

// A lexicon has all languages, and the words that were read of late: at most
// ways of each set, and none of more than maxKept bytes, so that no text makes
// it grow. What is looked up in it depends on the word alone, whatever it has
// kept. It may be used by many at once.
type lexicon struct {
	list []*language
	cjk  *language // of the scripts without spaces
	seed maphash.Seed
	kept [sets][ways]atomic.Pointer[lexeme]

	readers sync.Pool // of *reader, not in use
}

const (
	sets    = 1 << 13
	ways    = 4
	maxKept = 32
)

// word returns the lexeme of a word. Without a lexicon it has no more than the text.
func (x *lexicon) word(text []byte) *lexeme {
	if x == nil || len(text) > maxKept {
		return x.lexeme(string(text))
	}
	h := maphash.Bytes(x.seed, text)
	set := &x.kept[h%sets]
	free := int(h >> 62) // the one that gives way
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
	w := x.lexeme(string(text))
	w.hash = h
	set[free].Store(w)
	return w
}

// lexeme makes the lexeme of a word.
func (x *lexicon) lexeme(text string) *lexeme {
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
	if determiner[text] {
		w.is |= opens
	}
	if genitive[text] {
		w.is |= belonging
	}
	return w
}

// sense returns what a word is in a language.
func (l *language) sense(w *lexeme) *sense {
	s := w.senses[l.at].Load()
	if s == nil {
		s = l.look(w.text)
		w.senses[l.at].Store(s)
	}
	return s
}

// look looks a word up in the tables of a language.
func (l *language) look(text string) *sense {
	s := &sense{stem: l.base(text), stop: l.stops[text]}
	s.rest = hash("~" + s.stem)
	s.begins = l.phrases.next[s.stem]
	s.entry, s.known = l.single(text, s.stem)
	if s.other, s.made = l.compared(text); !s.made {
		s.other, s.made = l.english.exact[text] // "not" is known by all
		s.other.words, s.made = 1, s.made && s.other.kind == not
	}
	s.plain = l.plain(text, s.stem)
	return s
}

// plain returns the term of a word that no table has, where it is no name.
func (l *language) plain(text, stem string) term {
	t := term{weight: heavy, id: hash(l.root(stem))}
	if len(text) > 5 && strings.HasSuffix(text, "ly") && l.name == "en" {
		t.id, t.weight = hash(l.root(l.stem(text[:len(text)-2]))), slight
	}
	if t.rest = l.without(text); t.rest != 0 {
		t.is |= prefixed
	}
	return t
}

// compared returns the entry of the English adjective that a comparative or an
// adverb is made from.
func (l *language) compared(w string) (e entry, ok bool) {
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
		if e, ok = l.single(base, l.base(base)); ok && (e.kind == concept || e.kind == quant) {
			e.words = 1
			return e, true
		}
	}
	return e, false
}

// without returns the id of a word without a negative prefix, 0 if it has none.
func (l *language) without(text string) uint32 {
	for _, p := range l.un {
		rest, ok := strings.CutPrefix(text, p)
		if !ok || len(rest) < 4 {
			continue
		}
		stem := l.base(rest)
		if e, ok := l.single(rest, stem); ok && e.kind == concept {
			return e.id
		}
		return hash(l.root(stem))
	}
	return 0
}

// root returns what a stem is made from, in English.
func (l *language) root(stem string) string {
	if l.name == "en" {
		return root(stem)
	}
	return stem
}
