package claim

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

type lexeme struct {
	start, end int    // bytes of the text
	fold       string // without case and accents
	kind       lexKind
	upper      bool // starts with a capital
	value      float64
	unit       float64 // of a number: the value of its last significant digit
}

type lexKind uint8

const (
	lexWord lexKind = iota
	lexNumber
	lexMark
)

// scanLexemes divides a text into sentences, with at most most lexemes.
func scanLexemes(text string, most int) (sentences [][]lexeme) {
	var line []lexeme
	end := func() {
		if len(line) > 0 {
			sentences = append(sentences, line)
		}
		line = nil
	}
	for i, n := 0, 0; i < len(text) && n < most; {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n':
			if strings.HasPrefix(text[i+1:], "\n") || len(line) > 0 && endsLine(line) {
				end()
			}
			i += size
			continue
		case unicode.IsSpace(r) || !unicode.IsPrint(r):
			i += size
			continue
		}
		x := scanLexeme(text, i, r, size)
		line = append(line, x)
		n++
		i = x.end
		if x.kind == lexMark && endsSentence(text, line) {
			end()
		}
	}
	end()
	return sentences
}

func endsLine(line []lexeme) bool { return len(line) <= 12 }

func scanLexeme(text string, i int, r rune, size int) lexeme {
	switch {
	case r >= '0' && r <= '9':
		return scanNumber(text, i)
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		j := i + size
		for j < len(text) && j-i < 64 {
			q, n := utf8.DecodeRuneInString(text[j:])
			if !unicode.IsLetter(q) && !unicode.IsDigit(q) && !unicode.Is(unicode.Mn, q) && !joinsWord(text, j, q, n) {
				break
			}
			j += n
		}
		word := text[i:j]
		if w, ok := strings.CutSuffix(strings.ReplaceAll(word, "’", "'"), "'s"); ok {
			word = w
		}
		return lexeme{start: i, end: j, fold: lexical.Fold(word), upper: unicode.IsUpper(r)}
	}
	return lexeme{start: i, end: i + size, fold: text[i : i+size], kind: lexMark}
}

func joinsWord(text string, j int, q rune, n int) bool {
	if q != '\'' && q != '’' && q != '-' || q != '-' && isElision(text[:j]) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(text[j+n:])
	return unicode.IsLetter(next)
}

// isElision reports whether a text ends with a French article or preposition before an
// apostrophe.
func isElision(text string) bool {
	if text == "" || !strings.ContainsRune("dlnscjmtDLNSCJMT", rune(text[len(text)-1])) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:len(text)-1])
	return !unicode.IsLetter(before) && !unicode.IsDigit(before)
}

// scanNumber reads the number at i with its groups and decimals. A mark before
// exactly three digits groups them.
func scanNumber(text string, i int) lexeme {
	j, digits, decimals := i, make([]byte, 0, 20), -1
	for j < len(text) {
		if c := text[j]; c >= '0' && c <= '9' {
			digits = append(digits, c)
			if decimals >= 0 {
				decimals++
			}
			j++
			continue
		}
		size, group := digitMark(text, i, j)
		if size == 0 || !group && decimals >= 0 {
			break
		}
		if !group {
			decimals = 0
		}
		j += size
	}
	x := lexeme{start: i, end: j, fold: text[i:j], kind: lexNumber}
	if len(digits) > 15 || j < len(text) && isLetterAt(text, j) && !isOrdinalAt(text, j) {
		return scanDigitWord(text, i, j)
	}
	x.value, x.unit = digitsValue(digits, max(0, decimals))
	return x
}

func digitsValue(digits []byte, decimals int) (value, unit float64) {
	unit = 1
	for _, d := range digits {
		value = value*10 + float64(d-'0')
	}
	for range decimals {
		value, unit = value/10, unit/10
	}
	for k := len(digits) - 1; k > 0 && decimals == 0 && digits[k] == '0'; k-- {
		unit *= 10
	}
	return value, unit
}

// digitMark classifies the mark at j in the number from i. It returns its size in
// bytes, 0 at the end of the number, and whether it groups digits.
func digitMark(text string, i, j int) (size int, group bool) {
	r, n := utf8.DecodeRuneInString(text[j:])
	k := skipDigits(text, j+n)
	behind := k - j - n
	switch r {
	case ',', '.':
		if behind == 3 && text[i] != '0' && isGroupHead(text, i, j) {
			return n, true
		}
		if behind > 0 {
			return n, false
		}
	case ' ':
		if behind == 3 && isGroupHead(text, i, j) && isSpaceGrouped(text, i, k) {
			return n, true
		}
	case '\'', '’', '\u00a0', '\u202f', '\u2009':
		if behind == 3 && isGroupHead(text, i, j) {
			return n, true
		}
	}
	return 0, false
}

// isSpaceGrouped reports whether digits from i and a group after a space are one number:
// lower-case words surround them.
func isSpaceGrouped(text string, i, k int) bool {
	for k+4 <= len(text) && text[k] == ' ' && isAllDigits(text[k+1:k+4]) {
		k += 4
	}
	before := strings.Fields(text[max(0, i-24):i])
	behind, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[k:min(len(text), k+8)], " "))
	if len(before) == 0 || k >= len(text) || text[k] != ' ' && text[k] != '.' {
		return false
	}
	last, _ := utf8.DecodeRuneInString(before[len(before)-1])
	return unicode.IsLower(last) && (unicode.IsLower(behind) || text[k] == '.')
}

func skipDigits(text string, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}

func isAllDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

func isGroupHead(text string, i, j int) bool {
	n := 0
	for j > i && text[j-1] >= '0' && text[j-1] <= '9' {
		j--
		n++
	}
	return n >= 1 && n <= 3
}

func isLetterAt(text string, j int) bool {
	r, _ := utf8.DecodeRuneInString(text[j:])
	return unicode.IsLetter(r)
}

// isOrdinalAt reports whether the letters at j are an ordinal ending or a unit without
// space, such as km.
func isOrdinalAt(text string, j int) bool {
	k := j
	for k < len(text) && isLetterAt(text, k) {
		_, n := utf8.DecodeRuneInString(text[k:])
		k += n
	}
	switch w := strings.ToLower(text[j:k]); w {
	case "st", "nd", "rd", "th":
		return true
	default:
		_, ok := measureUnits[w]
		return ok
	}
}

func scanDigitWord(text string, i, j int) lexeme {
	for j < len(text) && isLetterAt(text, j) {
		_, n := utf8.DecodeRuneInString(text[j:])
		j += n
	}
	return lexeme{start: i, end: j, fold: lexical.Fold(text[i:min(j, i+64)])}
}

var dottedWords = fieldSet(`mr mrs ms dr st jr sr no vs approx ca prof gen lt col rev hon bzw z b u s d c co inc ltd vol est etc nr jh mme m sra`)

func endsSentence(text string, line []lexeme) bool {
	x := line[len(line)-1]
	switch x.fold {
	case "!", "?", "^", "•", "|", "。":
		return true
	case ".":
	default:
		return false
	}
	if len(line) < 2 {
		return true
	}
	last := line[len(line)-2]
	rest := strings.TrimLeft(text[x.end:], " \t\n\"”»')")
	next, _ := utf8.DecodeRuneInString(rest)
	if last.kind == lexNumber && last.end == x.start && unicode.IsLetter(next) && last.value < 32 && last.value >= 1 { // 3. März
		return monthNumber(firstWord(rest)) == 0
	}
	if last.end == x.start && last.kind == lexWord && (dottedWords[last.fold] || utf8.RuneCountInString(last.fold) == 1) {
		return false
	}
	return rest == "" || !unicode.IsLower(next)
}

func firstWord(s string) string {
	return lexical.Fold(s[:len(s)-len(strings.TrimLeftFunc(s, unicode.IsLetter))])
}
