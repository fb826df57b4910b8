package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words that a full stop shortens. Where none of these says otherwise, a full
// stop before a space and a capital ends the sentence.
var (
	// never stand before something else: they never end a sentence.
	never = wordSet(`mr mrs ms mx dr prof messrs mme mlle gen rep sen gov pres capt cpt cmdr lt col maj
		sgt cpl adm rev fr hon supt insp vs cf viz ca approx e.g i.e resp esp incl excl z.b d.h u.a bzw vgl sog
		hr fr frl ing dipl p.ex sra srta ud uds`)

	// numbered are never an end before a number.
	numbered = wordSet(`no nos nr n fig figs eq eqs sec secs sect ch chap vol vols p pp art arts para tab ex
		bd jg s v ver ed eds ann abs ziff jan feb mar apr jun jul aug sep sept oct nov dec c circa ext tel op`)

	// ending may end a sentence: they do before a word that begins one.
	ending = wordSet(`etc inc ltd co corp llc bros jr sr esq a.m p.m ph.d m.d b.a m.a b.sc m.sc d.c al ave blvd rd
		dept est assn univ mt ft jan feb mar apr jun jul aug sep sept oct nov dec tues thurs usw
		dgl ff avg hrs yrs eds st`)

	// starters begin a sentence and seldom stand in a name.
	starters = wordSet(`a an the this that these those it he she they we you i there here if when while after before
		since because although however but and so in on at by for from with as to no not what who why how where
		which did does do is are was were has have had can could will would should may might must my his her
		its our their your some many most all each every both one two other another such then also thus
		der die das ein eine es er sie wir le la les il elle el los un une`)
)

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// abbreviated reports whether the full stop between before, a sentence so far,
// and rest, which does not begin with a small letter, shortens a word.
func abbreviated(before, rest string) bool {
	word := before[strings.LastIndexAny(before, " (\"“‘[/—")+1:]
	for word != "" && strings.IndexAny(word, "“‘—'") == 0 {
		_, n := utf8.DecodeRuneInString(word)
		word = word[n:]
	}
	lower := strings.ToLower(word)
	first, _ := utf8.DecodeRuneInString(rest)
	switch {
	case word == "":
		return false
	case word == before && enumerates(lower):
		return true // "1. The first", "a. One"
	case never[lower]:
		return true
	case numbered[lower] && (unicode.IsDigit(first) || roman(rest)):
		return true
	case ending[lower]:
		return !starters[firstWord(rest)]
	case utf8.RuneCountInString(word) == 1 && unicode.IsUpper(firstRune(word)):
		return !pronoun(before) || !starters[firstWord(rest)] // "J. Smith"
	case acronym(word):
		return !starters[firstWord(rest)]
	}
	return false
}

// enumerates reports whether a word at the start of a block numbers it.
func enumerates(w string) bool {
	return len(w) <= 3 && strings.Trim(w, "0123456789") == "" || len(w) == 1 && 'a' <= w[0] && w[0] <= 'z'
}

// pronoun reports whether a sentence so far ends with the word I.
func pronoun(before string) bool { return strings.HasSuffix(before, " I") }

// acronym reports whether w is single letters with full stops between them.
func acronym(w string) bool {
	if !strings.Contains(w, ".") {
		return false
	}
	for part := range strings.SplitSeq(w, ".") {
		if utf8.RuneCountInString(part) != 1 || !unicode.IsLetter(firstRune(part)) {
			return false
		}
	}
	return true
}

// roman reports whether the first word of s is a Roman number.
func roman(s string) bool {
	w, _, _ := strings.Cut(s, " ")
	w = strings.Trim(w, ".,;:)")
	return w != "" && strings.Trim(w, "IVXLC") == ""
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s[:min(len(s), 40)], " ")
	return strings.ToLower(strings.Trim(w, ".,;:!?\"'“”‘’()[]"))
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
