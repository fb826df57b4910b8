package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
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
