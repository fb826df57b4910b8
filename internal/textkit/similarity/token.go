package similarity

import (
	"bytes"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A token is a word, number or sign of a text.
type token struct {
	*lexeme          // numbers share one
	*sense           // of words and letters, in the language of the text
	value    float64 // of a number
	kind     tokenKind
	sentence uint8
	clause   uint8
	first    bool
	name     bool // capitalised or mixed with digits, inside a sentence
	upper    bool
	asks     bool // its sentence is a question
}

type tokenKind uint8

const (
	word tokenKind = iota
	number
	han  // a letter of a script without spaces
	mark // a comma, stop or sign
)

// A scanner splits a text into tokens. It is reused for other texts.
type scanner struct {
	words    *lexicon
	text     []rune
	at       int
	tokens   []token
	sentence uint8
	clause   uint8
	begins   bool // at the start of a sentence
	points   bool // the point is the decimal mark, not the comma
	pointed  bool // another decimal mark would change a number
	ascii    bool
	low      []byte // the current word
	form     []byte // the text in NFKC
}

// scan returns the tokens of a text, valid until the next call.
func (s *scanner) scan(text string, points bool) []token {
	s.runes(text)
	s.at, s.tokens, s.sentence, s.clause = 0, s.tokens[:0], 0, 0
	s.begins, s.points, s.pointed = true, points, false
	for s.at < len(s.text) && len(s.tokens) < maxTokens {
		s.next()
	}
	s.ask(0)
	return s.tokens
}

// setText stores the NFKC runes of text.
func (s *scanner) runes(text string) {
	s.text, s.ascii = s.text[:0], true
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			s.ascii = false
			break
		}
		s.text = append(s.text, rune(text[i]))
	}
	if s.ascii {
		return
	}
	s.text, s.form = s.text[:0], norm.NFKC.AppendString(s.form[:0], text)
	for i := 0; i < len(s.form); {
		r, n := utf8.DecodeRune(s.form[i:])
		s.text = append(s.text, r)
		i += n
	}
}

// release drops buffers that only a long text needs.
func (s *scanner) free() {
	if cap(s.text) > maxBytes {
		s.text, s.form = nil, nil
	}
}

// scanNext scans one token.
func (s *scanner) next() {
	r := s.text[s.at]
	switch is := classOf(r); {
	case is&blank != 0 && r != '\n':
		s.at++
	case unspaced(r):
		s.low = utf8.AppendRune(s.low[:0], unicode.ToLower(r))
		s.add(s.words.word(s.low), han)
		s.at++
	case is&digits != 0:
		s.number()
	case is&(letter|joined) != 0 || r >= utf8.RuneSelf && inWord(r):
		s.word()
	default:
		s.mark(r)
		s.at++
	}
}

// add appends a token and returns it.
func (s *scanner) add(l *lexeme, kind tokenKind) *token {
	s.tokens = append(s.tokens, token{})
	t := &s.tokens[len(s.tokens)-1]
	t.lexeme, t.kind, t.sentence, t.clause, t.first = l, kind, s.sentence, s.clause, s.begins
	s.begins = false
	return t
}

// scanWord scans a word with its apostrophes and splits it.
func (s *scanner) word() {
	from := s.at
	all := s.plain()
	more, known, divided := s.letters(from)
	all |= more
	for s.at < len(s.text) && s.at-from < 4 && (s.text[s.at] == '+' || s.text[s.at] == '#') {
		s.low = append(s.low, byte(s.text[s.at])) // C++, C#
		s.at++
	}
	if !known {
		s.low = append(s.low[:0], fold(string(s.text[from:min(s.at, from+maxWord)]))...)
	}
	head, tail := s.low, []byte(nil)
	if divided {
		head, tail = parts(s.low)
	}
	upper := all&capital != 0
	name := upper && !s.begins || all&digits != 0
	for _, part := range [2][]byte{head, tail} {
		if len(part) > 0 {
			t := s.add(s.words.word(part), word)
			t.name, t.upper = name, upper
		}
	}
}

// scanASCII scans the leading ASCII letters and digits of a word and returns the union of their
// classes.
func (s *scanner) plain() (all class) {
	low := s.low[:0]
	for _, r := range s.text[s.at:min(len(s.text), s.at+maxWord)] {
		if r >= utf8.RuneSelf {
			break
		}
		is := classes[r]
		if is&(letter|digits|joined) == 0 {
			break
		}
		all |= is
		low = append(low, byte(r)|byte(is&capital)<<4) // the bit of lower case
	}
	s.at += len(low)
	s.low = low
	return all
}

// scanRest scans the rest of a word. It returns the union of the classes, whether the word folds
// letter by letter, and whether it may have an apostrophe.
func (s *scanner) letters(from int) (all class, known, divided bool) {
	known = true
	for ; s.at < len(s.text); s.at++ {
		r := s.text[s.at]
		is := classOf(r)
		switch {
		case r < utf8.RuneSelf && is&(letter|digits|joined) != 0:
		case r >= utf8.RuneSelf && inWord(r) && !unspaced(r), s.apostrophe():
			divided = true // some letters are apostrophes
		default:
			return all, known, divided
		}
		all |= is
		if s.at-from < maxWord {
			known = s.fold(r, is) && known
		}
	}
	return all, known, divided
}

// foldRune appends a folded letter and reports whether it folds alone.
func (s *scanner) fold(r rune, is class) bool {
	switch {
	case r < utf8.RuneSelf:
		s.low = append(s.low, byte(lower(r, is)))
	case r == '’':
		s.low = append(s.low, '\'')
	case r < lastFolded && !unicode.Is(unicode.M, r):
		s.low = append(s.low, folded()[r]...)
	default:
		return false
	}
	return true
}

// isApostrophe reports whether an apostrophe within a word is at the position.
func (s *scanner) apostrophe() bool {
	r := s.text[s.at]
	return (r == '\'' || r == '’' || r == 'ʼ') && s.at+1 < len(s.text) && unicode.IsLetter(s.text[s.at+1])
}

// splitApostrophe splits "don't" into "do" and "not", "Anna's" into "anna", and "l'eau" into "l"
// and "eau".
func parts(w []byte) (head, tail []byte) {
	at := bytes.IndexByte(w, '\'')
	if at < 0 {
		return w, nil
	}
	head, tail = w[:at], w[at+1:]
	tail = slices.DeleteFunc(tail, func(c byte) bool { return c == '\'' })
	switch string(tail) {
	case "t":
		if n := len(head) - 1; n >= 0 && head[n] == 'n' {
			cannot := string(head) == "can" || string(head) == "won" || string(head) == "shan"
			if copy(w[n:], "not"); cannot {
				return nil, w[n : n+3]
			}
			return w[:n], w[n : n+3]
		}
	case "s", "re", "ve", "ll", "d", "m":
		return head, nil
	}
	return head, tail
}

// scanMark scans the end of a sentence or clause, or a sign.
func (s *scanner) mark(r rune) {
	switch r {
	case '.', '!', '…', '。', '！', '\n', '?', '？':
		if r == '?' || r == '？' {
			s.ask(s.sentence)
		}
		if !s.begins {
			s.sentence, s.clause, s.begins = bump(s.sentence), bump(s.clause), true
		}
	case ',', ';', ':', '(', ')', '、', '，', '；', '：', '—', '–', '[', ']':
		s.clause = bump(s.clause)
	case '%', '<', '>', '=', '≤', '≥', '≠', '+', '$', '€', '£', '¥', '→', '←', '&':
		s.low = utf8.AppendRune(s.low[:0], r)
		s.add(s.words.word(s.low), mark)
	case '-':
		s.arrow()
	}
}

// scanArrow scans "->".
func (s *scanner) arrow() {
	if s.at+1 < len(s.text) && s.text[s.at+1] == '>' {
		s.at++
		s.add(s.words.word([]byte("→")), mark)
	}
}

// markQuestion marks the tokens of a sentence that ends with a question mark.
func (s *scanner) ask(sentence uint8) {
	if s.at >= len(s.text) || s.text[s.at] != '?' && s.text[s.at] != '？' {
		return
	}
	for i := len(s.tokens) - 1; i >= 0 && s.tokens[i].sentence == sentence; i-- {
		s.tokens[i].asks = true
	}
}

// increment returns n+1, at most 200.
func bump(n uint8) uint8 { return min(n+1, 200) }

// isUnspaced reports whether r belongs to a script without spaces between words.
func unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar) || r == 'ー'
}
