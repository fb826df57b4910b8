package query

import (
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

type kind uint8

const (
	word   kind = iota // begins with a letter or digit
	number             // has digits only
	mark               // anything else that is not space
)

// uses say what a token was taken for.
type uses uint8

const (
	operator uses = 1 << iota // of a filter: not looked for
	timed                     // of an expression of time or an anchor
	must
	not
	prefix
	quoted
	event // of an anchor, but for what leads it in
)

// A token is a word, number or sign of the text.
type token struct {
	text       string // folded
	start, end int    // bytes of the text
	kind       kind
	value      int  // of a number of up to 8 digits, or else -1
	upper      bool // begins with a capital
	caps       bool // has two capitals or more, and no small letters
	first      bool // begins a sentence
	space      bool // space or the beginning is before it
	uses       uses
}

// tokens takes a text apart. Of a long one it returns the beginning.
func tokens(text string) []token {
	var list []token
	first, space := true, true
	for at := 0; at < len(text) && len(list) < maxTokens; {
		r, n := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			at, space = at+n, true
			continue
		}
		t := token{start: at, end: at + n, kind: mark, value: -1, first: first, space: space}
		if wordy(r) {
			t = scan(text, t)
			first = false
		} else {
			t.text = sign(text[at : at+n])
			first = first || r == '.' || r == '?' || r == '!' || r == '\u2026'
		}
		list = append(list, t)
		at, space = t.end, false
	}
	return list
}

// scan reads the word or number that begins where t does.
func scan(text string, t token) token {
	t.kind = number
	small, capital := 0, 0
	at := t.start
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !wordy(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		if r < '0' || r > '9' {
			t.kind = word
		}
		if unicode.IsUpper(r) {
			capital++
			t.upper = t.upper || at == t.start
		} else if unicode.IsLower(r) {
			small++
		}
		at += n
	}
	t.end, t.text = at, lexical.Fold(text[t.start:at])
	t.caps = capital > 1 && small == 0
	if t.kind == number && len(t.text) <= 8 {
		t.value = digits(t.text)
	}
	return t
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// digits returns the value of a text that has digits of ASCII only, or -1.
func digits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// sign returns a sign in its plainest form.
func sign(s string) string {
	switch s {
	case "’", "‘", "`", "´":
		return "'"
	case "–", "—", "‐", "‑", "−":
		return "-"
	case "“", "”", "„", "«", "»", "‟":
		return `"`
	}
	return s
}
