package document

import (
	_ "embed" // for the abbreviations
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// MaxSentence is the maximum length of a sentence in bytes. Longer ones are cut,
// between clauses if possible.
const MaxSentence = 600

type span struct{ start, end int }

func splitUnits(k Kind, s string) []span {
	switch k {
	case Prose, Item:
		return splitSentences(s)
	case Code:
		return splitChunks(s, "\n")
	default:
		return splitChunks(s, " ")
	}
}

func splitSentences(s string) []span {
	var out []span
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isTerminal(r) && !(r == ';' && endsInGreek(s[start:i])) {
			i += n
			continue
		}
		end := skipClosers(s, i+n)
		if end < len(s) && !endsSentence(s, start, i, end) {
			i = end
			continue
		}
		out = appendChunks(out, s, start, end)
		start = end + leadingSpaces(s[end:])
		i = start
	}
	return appendChunks(out, s, start, len(s))
}

// endsSentence reports whether the terminal at i, with closers up to end, ends the sentence
// from start. Text follows it.
func endsSentence(s string, start, i, end int) bool {
	term, _ := utf8.DecodeRuneInString(s[i:])
	next, _ := utf8.DecodeRuneInString(s[end:])
	if isWideTerminal(term) {
		if term == '．' && unicode.IsDigit(lastRune(s[start:i])) {
			return !unicode.IsDigit(next) && strings.TrimFunc(s[start:i], unicode.IsDigit) != "" // "３．１４", "１．はじめに"
		}
		closed := end > i+utf8.RuneLen(term) && !isTerminal(lastRune(s[:end]))
		return !closed || next != 'と' && next != 'っ' // a quoted sentence; the speaker follows
	}
	if next != ' ' {
		return false
	}
	rest := strings.TrimLeft(s[end:], " \"'([{“‘«„¿¡*_")
	first, _ := utf8.DecodeRuneInString(rest)
	if rest == "" || unicode.IsLower(first) || s[end-1] == ']' && i > start && s[i-1] == '[' {
		return false
	}
	if term != '.' || end > i+1 && s[i+1] == '.' {
		return first != ',' && first != ';'
	}
	return !isAbbreviation(s[start:i], rest)
}

func isTerminal(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '‽', '\u037e', '։', '؟', '۔', '।', '॥', '᱾', '꯫':
		return true
	}
	return isWideTerminal(r)
}

// IsQuestion reports whether a sentence is a question or ends with a colon, and so states
// nothing itself.
func IsQuestion(sentence string) bool {
	r, n := utf8.DecodeLastRuneInString(sentence)
	return strings.ContainsRune(":?：？؟\u037e፧", r) || r == ';' && endsInGreek(sentence[:len(sentence)-n])
}

// endsInGreek reports whether a semicolon after this text is a Greek question mark.
func endsInGreek(before string) bool { return unicode.Is(unicode.Greek, lastRune(before)) }

func isWideTerminal(r rune) bool {
	switch r {
	case '。', '！', '？', '｡', '．', '။', '።', '፧', '។', '៕', '᠃', '᠉':
		return true
	}
	return false
}

// skipClosers returns the end of terminals, quotes, brackets and footnote marks from i.
func skipClosers(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isTerminal(r), strings.ContainsRune("\"')]}”’»›」』）】〉》", r), '⁰' <= r && r <= '⁹', r == '¹', r == '²', r == '³':
			i += n
		case r == '[':
			end := strings.IndexByte(s[i:min(len(s), i+8)], ']')
			if end < 2 || strings.Trim(s[i+1:i+end], "0123456789,abn ") != "" {
				return i
			}
			i += end + 1
		default:
			return i
		}
	}
	return i
}

func appendChunks(out []span, s string, start, end int) []span {
	end -= len(s[start:end]) - len(strings.TrimRight(s[start:end], " "))
	for end-start > MaxSentence {
		cut := start + clauseEnd(s[start:start+MaxSentence])
		out = append(out, span{start, cut})
		start = cut + leadingSpaces(s[cut:end])
	}
	if start < end {
		out = append(out, span{start, end})
	}
	return out
}

func clauseEnd(s string) int {
	for _, sep := range []string{"; ", ": ", ", ", "، ", "，", "、", "၊", "፣", " "} {
		if i := strings.LastIndex(s, sep); i > len(s)/3 {
			return i + len(strings.TrimRight(sep, " "))
		}
	}
	return wholeRunes(s)
}

func wholeRunes(s string) int {
	for n := len(s); n > 0; n-- {
		if r, size := utf8.DecodeLastRuneInString(s[:n]); r != utf8.RuneError || size != 1 {
			return n
		}
	}
	return len(s)
}

func splitChunks(s, sep string) []span {
	var out []span
	start := 0
	for len(s)-start > MaxSentence {
		piece := s[start : start+MaxSentence]
		cut := strings.LastIndex(piece, sep)
		if cut <= 0 {
			cut = wholeRunes(piece)
		}
		out = append(out, span{start, start + cut})
		start += cut
		for start < len(s) && (s[start] == ' ' || s[start] == '\n') {
			start++
		}
	}
	if start < len(s) {
		out = append(out, span{start, len(s)})
	}
	return out
}

func leadingSpaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// shortText lists abbreviations: each line has a language, a rule and its words. The
// rules apply to texts of any language.
//
//go:embed abbrev.txt
var shortText string

// Abbreviations by rule. Without a rule, a full stop before a space and a capital ends
// the sentence.
var (
	abbreviations = readShort(shortText)

	nonFinalAbbrevs = abbreviations["never"]   // never end a sentence
	numberAbbrevs   = abbreviations["number"]  // no end before a number
	starterAbbrevs  = abbreviations["ending"]  // end a sentence only before a starter
	abbrevTails     = abbreviations["tail"]    // as ending, at the end of a word: "Hauptstr."
	abbrevPairs     = abbreviations["pair"]    // no end between two words: "v. Chr."
	starters        = abbreviations["starter"] // begin sentences and are rare in names
	counters        = abbreviations["counter"] // make a following number an ordinal: "am 9."
	countable       = abbreviations["counted"] // follow an ordinal: "9. November"
)

// starterLanguages are the languages whose stop words are also starters.
var starterLanguages = []lexical.Language{"de", "fr", "es", "it", "pt", "nl", "ru"}

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

// isAbbreviation reports whether the full stop between before and rest belongs to an
// abbreviation. rest has no small first letter.
func isAbbreviation(before, rest string) bool {
	head, word := cutLast(before)
	lower, next := strings.ToLower(word), firstWord(rest)
	switch {
	case word == "":
		return false
	case word == before && isEnumerator(lower):
		return true // "1. The first", "a. One"
	case nonFinalAbbrevs[lower] || abbrevPairs[lower+"."+next]:
		return true
	case numberAbbrevs[lower] && (unicode.IsDigit(firstRune(rest)) || startsWithRoman(rest)):
		return true
	case isShortNumber(word):
		return isOrdinal(head, rest)
	case starterAbbrevs[lower] || hasAbbrevTail(lower) || isAcronym(word):
		return !isStarter(next)
	case oneLetter(word):
		return isLetterAbbreviation(head, firstRune(word), rest)
	}
	return false
}

// isLetterAbbreviation reports whether a letter before a full stop is an initial or part of
// an abbreviation: "J. Smith", "z. B. Salz", "u. a. Rom".
func isLetterAbbreviation(head string, letter rune, rest string) bool {
	switch next := firstWord(rest); {
	case startsWithInitial(rest):
		return true
	case letter == 'I' && strings.HasSuffix(head, " "): // the pronoun
		return !starters[next]
	case unicode.IsUpper(letter):
		return true
	default:
		return startsWithInitial(lastWord(head)) && !isStarter(next)
	}
}

// isOrdinal reports whether a number with a full stop is a German ordinal: "am 9.
// November", "der 14. Dalai Lama", "9. 11. 1989". head precedes the number.
func isOrdinal(head, rest string) bool {
	next, before := firstWord(rest), lastWord(head)
	month, after, _ := strings.Cut(rest[:min(len(rest), 10)], ". ")
	switch {
	case countable[next], isShortNumber(month) && startsWithYear(after), strings.HasSuffix(before, ".") && startsWithYear(rest):
		return true
	}
	return counters[strings.ToLower(before)] && !isStarter(next) && !strings.HasSuffix(head, "I am ")
}

func startsWithYear(s string) bool { return len(s) >= 4 && strings.Trim(s[:4], "0123456789") == "" }

func cutLast(s string) (head, word string) {
	at := strings.LastIndexAny(s, " (\"“„‘‚«[/—–") + 1
	if at > 0 {
		_, n := utf8.DecodeRuneInString(s[at-1:])
		at += n - 1
	}
	at += len(s[at:]) - len(strings.TrimLeft(s[at:], "'"))
	return s[:at], s[at:]
}

func lastWord(head string) string {
	_, word := cutLast(strings.TrimRight(head, " "))
	return word
}

func isStarter(w string) bool {
	return starters[w] || slices.ContainsFunc(starterLanguages, func(l lexical.Language) bool { return lexical.Stop(w, l) })
}

func hasAbbrevTail(w string) bool {
	for tail := range abbrevTails {
		if strings.HasSuffix(w, tail) {
			return true
		}
	}
	return false
}

func isEnumerator(w string) bool {
	return isShortNumber(w) || len(w) == 1 && 'a' <= w[0] && w[0] <= 'z'
}

// isShortNumber reports whether a word is one to three digits; four may be a year.
func isShortNumber(w string) bool {
	return 0 < len(w) && len(w) <= 3 && strings.Trim(w, "0123456789") == ""
}

func oneLetter(w string) bool {
	return utf8.RuneCountInString(w) == 1 && unicode.IsLetter(firstRune(w))
}

func startsWithInitial(s string) bool {
	w, _, ok := strings.Cut(s[:min(len(s), 1+utf8.UTFMax)], ".")
	return ok && oneLetter(w)
}

func isAcronym(w string) bool {
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

func startsWithRoman(s string) bool {
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
