package similarity

import (
	"embed"
	"hash/maphash"
	"strings"
	"sync"
)

// files holds one table of words for each language. The first word of a line is its kind:
//
//	stop   function words, dropped
//	hedge  phrases, dropped
//	not    negations
//	form   irregular forms of the last word
//	same   synonyms, and after | their antonyms
//	quant  quantifiers, likewise
//	firm   words that a text cannot drop, likewise
//	light  synonyms that add little
//	ask    question words at the start of a question
//	if     start a clause of cause or condition; with ^, of its absence
//	so     follow such a clause
//	be     the copula
//	than   stand between the compared terms
//	by     precede the agent
//	with   precede the agent or a property
//	role   precede a term with another role
//	against likewise, and no other word can replace them
//	time   synonyms that precede a point in time
//
// After = stands the first word of another line with the same meaning. The first entry of a word
// wins. A word with ^ exchanges subject and object.
//
//go:embed lexicon
var files embed.FS

// An entry is the meaning of a word or phrase in a table.
type entry struct {
	kind  entryKind
	id    uint32
	is    flags // opposite and converse
	words uint8
}

type entryKind uint8

const (
	kindNone entryKind = iota
	kindHedge
	kindNot
	kindConcept
	kindQuant
	kindFirm
	kindLight
	kindAsk
	kindCondition
	kindConclusion
	kindCopula
	kindComparison
	kindAgent
	kindWith
	kindRole
	kindFixedRole
	kindTime
)

var kinds = map[string]entryKind{"hedge": kindHedge, "not": kindNot, "same": kindConcept, "quant": kindQuant, "firm": kindFirm, "light": kindLight, "ask": kindAsk,
	"if": kindCondition, "so": kindConclusion, "be": kindCopula, "than": kindComparison, "by": kindAgent, "with": kindWith, "role": kindRole, "against": kindFixedRole, "time": kindTime}

// tables returns all languages. It reads the tables once; they never change.
var tables = sync.OnceValue(func() *lexicon {
	x := &lexicon{seed: maphash.MakeSeed(), cjk: &language{name: "cjk", stem: func(w string) string { return w }}}
	x.list = []*language{
		{name: "en", stem: stemEnglish, negativePrefixes: unEnglish},
		{name: "de", stem: stemGerman, negativePrefixes: unGerman},
		{name: "fr", stem: stemFrench, negativePrefixes: unFrench},
		{name: "es", stem: stemSpanish, negativePrefixes: unSpanish},
		{name: "other", stem: stemOther},
	}
	for i, l := range append(x.list[:unknown+1:unknown+1], x.cjk) {
		l.index, l.english = i, x.list[0]
		l.loadLexicon()
	}
	return x
})

func (l *language) loadLexicon() {
	l.forms, l.stops, l.common = map[string]string{}, map[string]bool{}, map[string]bool{}
	l.exact, l.stemmed = map[string]entry{}, map[string][]string{}
	text, err := files.ReadFile("lexicon/" + l.name + ".txt")
	if err != nil {
		panic("similarity: missing word table: " + err.Error()) // it is embedded
	}
	lines := strings.Split(string(text), "\n")
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "form "); ok {
			w := strings.Fields(rest)
			for _, f := range w[:len(w)-1] {
				l.forms[f] = w[len(w)-1]
			}
		}
	}
	for _, line := range lines {
		l.addLine(line)
	}
	l.nearly = l.exact["nearly"].id
	e, ok := l.exact[causeWords[l.name]]
	l.cause, l.causes = e.id, ok
}

func (l *language) addLine(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "", "#", "form":
		return
	case "stop":
		for _, w := range strings.Fields(rest) {
			l.stops[w], l.common[w] = true, true
		}
		return
	}
	rest, thing, linked := strings.Cut(rest, " = ")
	sides := strings.SplitN(rest, "|", 2)
	if !linked {
		thing = l.splitPhrases(sides[0])[0]
	}
	id := hash("=" + l.name + " " + thing)
	for side, words := range sides {
		for _, w := range l.splitPhrases(words) {
			w, turned := strings.CutPrefix(w, "^")
			key := l.phraseKey(w)
			n := len(key)
			if n == 1 && (kinds[kind] == kindNot || kinds[kind] >= kindCondition) {
				l.common[w] = true
			}
			e := entry{kind: kinds[kind], id: id, words: uint8(n)}
			if side == 1 {
				e.is |= opposite
			}
			if turned {
				e.is |= converse
			}
			if kinds[kind] == kindAsk {
				at := l.phrases.ensureNode(key)
				at.ask, at.asked = e, true
				continue
			}
			l.addEntry(w, key, e)
		}
	}
}

// addEntry adds an entry unless there is one.
func (l *language) addEntry(w string, key []string, e entry) {
	if len(key) != 1 {
		if at := l.phrases.ensureNode(key); !at.known {
			at.entry, at.known = e, true
		}
		return
	}
	if _, ok := l.exact[w]; !ok {
		l.exact[w] = e
		l.stemmed[key[0]] = append(l.stemmed[key[0]], w)
	}
}

// findWord returns the entry of a word, of its singular or of its regular form. Otherwise it
// chooses among the words of the stem the one with the longest common prefix, so that "importance"
// finds "important" and "imports" finds "import".
func (l *language) findWord(w, stem string) (e entry, ok bool) {
	if e, ok = l.exact[w]; ok {
		return e, true
	}
	if e, ok = l.exact[strings.TrimSuffix(w, "s")]; ok {
		return e, true
	}
	if f := l.forms[w]; f != "" {
		if e, ok = l.exact[f]; ok {
			return e, true
		}
		w = f
	}
	best, common := "", -1
	for _, o := range l.stemmed[stem] {
		if n := commonPrefix(w, o); n > common || n == common && len(o) < len(best) {
			best, common = o, n
		}
	}
	e, ok = l.exact[best]
	return e, ok && common >= 0
}

// commonPrefix returns the number of leading bytes that two words share.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// splitPhrases splits a list at commas, or at spaces for scripts without spaces.
func (l *language) splitPhrases(list string) []string {
	if l.name == "cjk" || l.name == "other" {
		return strings.Fields(list)
	}
	out := strings.Split(list, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// phraseKey returns the stems of a phrase, or its letters in a script without spaces.
func (l *language) phraseKey(phrase string) (stems []string) {
	if l.name == "cjk" {
		return strings.Split(phrase, "")
	}
	var s scanner
	for _, t := range s.scan(phrase, true) {
		stems = append(stems, l.baseStem(t.text))
	}
	return stems
}

// baseStem returns the stem of a word or of its regular form.
func (l *language) baseStem(w string) string {
	if f, ok := l.forms[w]; ok {
		w = f
	}
	return l.stem(w)
}

// hash returns the FNV-1a hash.
func hash[text string | []byte](s text) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
