package document

import (
	_ "embed" // for the words
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// shortText says which words a full stop shortens, and what tells so: on a line, a
// language, a rule and its words. A text may be of any language, so all count in all.
//
//go:embed abbrev.txt
var shortText string

// Words that a full stop shortens. Where none of these says otherwise, a full
// stop before a space and a capital ends the sentence.
var (
	short = readShort(shortText)

	never     = short["never"]   // stand before something else: they never end a sentence
	numbered  = short["number"]  // never an end before a number
	ending    = short["ending"]  // may end a sentence: they do before a word that begins one
	tails     = short["tail"]    // the same, at the end of a word: "Hauptstr."
	pairs     = short["pair"]    // of two words, the first is no end before the second: "v. Chr."
	starters  = short["starter"] // begin a sentence and seldom stand in a name
	counters  = short["counter"] // before a number, make it one that counts: "am 9."
	countable = short["counted"] // are counted by a number before them: "9. November"
)

// speaking has the languages whose stop words are starters too.
var speaking = []lexical.Language{"de", "fr", "es", "it", "pt", "nl", "ru"}

func readShort(text string) map[string]map[string]bool {
	rules := map[string]map[string]bool{}
	for line := range strings.Lines(text) {
		_, line, _ = strings.Cut(line, " ")
		rule, list, _ := strings.Cut(line, " ")
		if rules[rule] == nil {
			rules[rule] = map[string]bool{}
		}
		for _, w := range strings.Fields(list) {
			rules[rule][w] = true
		}
	}
	return rules
}

// abbreviated reports whether the full stop between before, a sentence so far,
// and rest, which does not begin with a small letter, shortens a word.
func abbreviated(before, rest string) bool {
	head, word := cutLast(before)
	lower, next := strings.ToLower(word), firstWord(rest)
	switch {
	case word == "":
		return false
	case word == before && enumerates(lower):
		return true // "1. The first", "a. One"
	case never[lower] || pairs[lower+"."+next]:
		return true
	case numbered[lower] && (unicode.IsDigit(firstRune(rest)) || roman(rest)):
		return true
	case number(word):
		return ordinal(head, rest)
	case ending[lower] || tailed(lower) || acronym(word):
		return !starts(next)
	case oneLetter(word):
		return letterShortens(head, firstRune(word), rest)
	}
	return false
}

// letterShortens reports whether a letter before a full stop is of a name, or of
// an abbreviation of several: "J. Smith", "z. B. Salz", "u. a. Rom".
func letterShortens(head string, letter rune, rest string) bool {
	switch next := firstWord(rest); {
	case initial(rest):
		return true
	case letter == 'I' && strings.HasSuffix(head, " "): // the pronoun
		return !starters[next]
	case unicode.IsUpper(letter):
		return true
	default:
		return initial(lastWord(head)) && !starts(next)
	}
}

// ordinal reports whether a number with a full stop counts, as German writes it:
// "am 9. November", "der 14. Dalai Lama", "9. 11. 1989". Head is what stands before
// the number.
func ordinal(head, rest string) bool {
	next, before := firstWord(rest), lastWord(head)
	month, after, _ := strings.Cut(rest[:min(len(rest), 10)], ". ")
	switch {
	case countable[next], number(month) && year(after), strings.HasSuffix(before, ".") && year(rest):
		return true
	}
	return counters[strings.ToLower(before)] && !starts(next) && !strings.HasSuffix(head, "I am ")
}

// year reports whether a text begins with four digits.
func year(s string) bool { return len(s) >= 4 && strings.Trim(s[:4], "0123456789") == "" }

// cutLast cuts the last word off a text: what stands before it, and the word
// without what opens a quotation or a bracket.
func cutLast(s string) (head, word string) {
	at := strings.LastIndexAny(s, " (\"“„‘‚«[/—–") + 1
	if at > 0 {
		_, n := utf8.DecodeRuneInString(s[at-1:])
		at += n - 1
	}
	at += len(s[at:]) - len(strings.TrimLeft(s[at:], "'"))
	return s[:at], s[at:]
}

// lastWord returns the last word of a text that ends with a space.
func lastWord(head string) string {
	_, word := cutLast(strings.TrimRight(head, " "))
	return word
}

// starts reports whether a word begins a sentence, rather than a name.
func starts(w string) bool {
	return starters[w] || slices.ContainsFunc(speaking, func(l lexical.Language) bool { return lexical.Stop(w, l) })
}

// tailed reports whether a word ends with one that is shortened: "Hauptstr".
func tailed(w string) bool {
	for tail := range tails {
		if strings.HasSuffix(w, tail) {
			return true
		}
	}
	return false
}

// enumerates reports whether a word at the start of a block numbers it.
func enumerates(w string) bool { return number(w) || len(w) == 1 && 'a' <= w[0] && w[0] <= 'z' }

// number reports whether a word is digits, too few of them for a year.
func number(w string) bool { return 0 < len(w) && len(w) <= 3 && strings.Trim(w, "0123456789") == "" }

// oneLetter reports whether a word is a letter alone.
func oneLetter(w string) bool {
	return utf8.RuneCountInString(w) == 1 && unicode.IsLetter(firstRune(w))
}

// initial reports whether a text begins with a letter alone and a full stop.
func initial(s string) bool {
	w, _, ok := strings.Cut(s[:min(len(s), 1+utf8.UTFMax)], ".")
	return ok && oneLetter(w)
}

// acronym reports whether w is single letters with full stops between them.
func acronym(w string) bool {
	if !strings.Contains(w, ".") {
		return false
	}
	for part := range strings.SplitSeq(w, ".") {
		if !oneLetter(part) {
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
