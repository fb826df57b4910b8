package document

import (
	_ "embed" // for the words
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// MaxSentence is the most bytes of a sentence. What is longer is cut, between
// clauses if it can be.
const MaxSentence = 600

// A span is a range of bytes.
type span struct{ start, end int }

// units cuts a block into what becomes its sentences.
func units(k Kind, s string) []span {
	switch k {
	case Prose, Item:
		return sentences(s)
	case Code:
		return chunks(s, "\n")
	default:
		return chunks(s, " ")
	}
}

// sentences cuts a text without line breaks into sentences.
func sentences(s string) []span {
	var out []span
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !terminal(r) && !(r == ';' && greek(s[start:i])) {
			i += n
			continue
		}
		end := closers(s, i+n)
		if end < len(s) && !ends(s, start, i, end) {
			i = end
			continue
		}
		out = appendChunks(out, s, start, end)
		start = end + spaces(s[end:])
		i = start
	}
	return appendChunks(out, s, start, len(s))
}

// ends reports whether the terminal at i, with what closes it up to end, ends
// the sentence that began at start. It is not the last of the text.
func ends(s string, start, i, end int) bool {
	term, _ := utf8.DecodeRuneInString(s[i:])
	next, _ := utf8.DecodeRuneInString(s[end:])
	if wide(term) {
		if term == '．' && unicode.IsDigit(lastRune(s[start:i])) {
			return !unicode.IsDigit(next) && strings.TrimFunc(s[start:i], unicode.IsDigit) != "" // "３．１４", "１．はじめに"
		}
		closed := end > i+utf8.RuneLen(term) && !terminal(lastRune(s[:end]))
		return !closed || next != 'と' && next != 'っ' // 「...。」と says who said it
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
	return !abbreviated(s[start:i], rest)
}

// terminal reports whether r can end a sentence.
func terminal(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '‽', '\u037e', '։', '؟', '۔', '।', '॥', '᱾', '꯫':
		return true
	}
	return wide(r)
}

// Asks reports whether a sentence asks, or leads up to what comes after it: what it
// says is not said yet.
func Asks(sentence string) bool {
	r, n := utf8.DecodeLastRuneInString(sentence)
	return strings.ContainsRune(":?：？؟\u037e፧", r) || r == ';' && greek(sentence[:len(sentence)-n])
}

// greek reports whether a semicolon behind a text is a question mark, as in Greek.
func greek(before string) bool { return unicode.Is(unicode.Greek, lastRune(before)) }

// wide reports whether r ends a sentence with no space after it.
func wide(r rune) bool {
	switch r {
	case '。', '！', '？', '｡', '．', '။', '።', '፧', '។', '៕', '᠃', '᠉':
		return true
	}
	return false
}

// closers returns the end of what closes a sentence from i on: more terminals,
// quotes, brackets, marks of footnotes.
func closers(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case terminal(r), strings.ContainsRune("\"')]}”’»›」』）】〉》", r), '⁰' <= r && r <= '⁹', r == '¹', r == '²', r == '³':
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

// appendChunks appends a sentence, in pieces if it is too long.
func appendChunks(out []span, s string, start, end int) []span {
	end -= len(s[start:end]) - len(strings.TrimRight(s[start:end], " "))
	for end-start > MaxSentence {
		cut := start + clause(s[start:start+MaxSentence])
		out = append(out, span{start, cut})
		start = cut + spaces(s[cut:end])
	}
	if start < end {
		out = append(out, span{start, end})
	}
	return out
}

// clause returns where best to cut s, which goes on.
func clause(s string) int {
	for _, sep := range []string{"; ", ": ", ", ", "، ", "，", "、", "၊", "፣", " "} {
		if i := strings.LastIndex(s, sep); i > len(s)/3 {
			return i + len(strings.TrimRight(sep, " "))
		}
	}
	return wholeRunes(s)
}

// wholeRunes returns the length of s without a rune cut off at its end.
func wholeRunes(s string) int {
	for n := len(s); n > 0; n-- {
		if r, size := utf8.DecodeLastRuneInString(s[:n]); r != utf8.RuneError || size != 1 {
			return n
		}
	}
	return len(s)
}

// chunks cuts s at sep into pieces that are no longer than a sentence.
func chunks(s, sep string) []span {
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

func spaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

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
