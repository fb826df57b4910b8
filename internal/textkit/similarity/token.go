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
	*lexeme            // numbers share one
	*sense             // of words and letters, in the language of the text
	value      float64 // of a number
	kind       tokenKind
	sentence   uint8
	clause     uint8
	first      bool
	isName     bool // capitalised or mixed with digits, inside a sentence
	upper      bool
	inQuestion bool // its sentence is a question
}

type tokenKind uint8

const (
	word tokenKind = iota
	number
	glyph // a letter of a script without spaces
	mark  // a comma, stop or sign
)

// A scanner splits a text into tokens. It is reused for other texts.
type scanner struct {
	words          *lexicon
	text           []rune
	pos            int
	tokens         []token
	sentence       uint8
	clause         uint8
	atStart        bool // at the start of a sentence
	pointDecimal   bool // the point is the decimal mark, not the comma
	ambiguousPoint bool // another decimal mark would change a number
	ascii          bool
	wordBuf        []byte // the current word
	normalized     []byte // the text in NFKC
}

// scan returns the tokens of a text, valid until the next call.
func (s *scanner) scan(text string, points bool) []token {
	s.setText(text)
	s.pos, s.tokens, s.sentence, s.clause = 0, s.tokens[:0], 0, 0
	s.atStart, s.pointDecimal, s.ambiguousPoint = true, points, false
	for s.pos < len(s.text) && len(s.tokens) < maxTokens {
		s.scanNext()
	}
	s.markQuestion(0)
	return s.tokens
}

// setText stores the NFKC runes of text.
func (s *scanner) setText(text string) {
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
	s.text, s.normalized = s.text[:0], norm.NFKC.AppendString(s.normalized[:0], text)
	for i := 0; i < len(s.normalized); {
		r, n := utf8.DecodeRune(s.normalized[i:])
		s.text = append(s.text, r)
		i += n
	}
}

// releaseBuffers drops buffers that only a long text needs.
func (s *scanner) releaseBuffers() {
	if cap(s.text) > maxBytes {
		s.text, s.normalized = nil, nil
	}
}

func (s *scanner) scanNext() {
	r := s.text[s.pos]
	switch is := classOf(r); {
	case is&whitespace != 0 && r != '\n':
		s.pos++
	case isUnspaced(r):
		s.wordBuf = utf8.AppendRune(s.wordBuf[:0], unicode.ToLower(r))
		s.addToken(s.words.lookup(s.wordBuf), glyph)
		s.pos++
	case is&digits != 0:
		s.scanNumber()
	case is&(letter|wordMark) != 0 || r >= utf8.RuneSelf && isWordRune(r):
		s.scanWord()
	default:
		s.scanMark(r)
		s.pos++
	}
}

func (s *scanner) addToken(l *lexeme, kind tokenKind) *token {
	s.tokens = append(s.tokens, token{})
	t := &s.tokens[len(s.tokens)-1]
	t.lexeme, t.kind, t.sentence, t.clause, t.first = l, kind, s.sentence, s.clause, s.atStart
	s.atStart = false
	return t
}

func (s *scanner) scanWord() {
	from := s.pos
	all := s.scanASCII()
	more, known, divided := s.scanRest(from)
	all |= more
	for s.pos < len(s.text) && s.pos-from < 4 && (s.text[s.pos] == '+' || s.text[s.pos] == '#') {
		s.wordBuf = append(s.wordBuf, byte(s.text[s.pos])) // C++, C#
		s.pos++
	}
	if !known {
		s.wordBuf = append(s.wordBuf[:0], foldWord(string(s.text[from:min(s.pos, from+maxWord)]))...)
	}
	head, tail := s.wordBuf, []byte(nil)
	if divided {
		head, tail = splitApostrophe(s.wordBuf)
	}
	upper := all&capital != 0
	name := upper && !s.atStart || all&digits != 0
	for _, part := range [2][]byte{head, tail} {
		if len(part) > 0 {
			t := s.addToken(s.words.lookup(part), word)
			t.isName, t.upper = name, upper
		}
	}
}

// scanASCII scans the leading ASCII letters and digits of a word and returns the union of their
// classes.
func (s *scanner) scanASCII() (all class) {
	low := s.wordBuf[:0]
	for _, r := range s.text[s.pos:min(len(s.text), s.pos+maxWord)] {
		if r >= utf8.RuneSelf {
			break
		}
		is := classes[r]
		if is&(letter|digits|wordMark) == 0 {
			break
		}
		all |= is
		low = append(low, byte(r)|byte(is&capital)<<4) // the bit of lower case
	}
	s.pos += len(low)
	s.wordBuf = low
	return all
}

// scanRest scans the rest of a word. It returns the union of the classes, whether the word folds
// letter by letter, and whether it may have an apostrophe.
func (s *scanner) scanRest(from int) (all class, known, divided bool) {
	known = true
	for ; s.pos < len(s.text); s.pos++ {
		r := s.text[s.pos]
		is := classOf(r)
		switch {
		case r < utf8.RuneSelf && is&(letter|digits|wordMark) != 0:
		case r >= utf8.RuneSelf && isWordRune(r) && !isUnspaced(r), s.isApostrophe():
			divided = true // some letters are apostrophes
		default:
			return all, known, divided
		}
		all |= is
		if s.pos-from < maxWord {
			known = s.foldRune(r, is) && known
		}
	}
	return all, known, divided
}

// foldRune appends a folded letter and reports whether it folds alone.
func (s *scanner) foldRune(r rune, is class) bool {
	switch {
	case r < utf8.RuneSelf:
		s.wordBuf = append(s.wordBuf, byte(lowerRune(r, is)))
	case r == '’':
		s.wordBuf = append(s.wordBuf, '\'')
	case r < maxFolded && !unicode.Is(unicode.M, r):
		s.wordBuf = append(s.wordBuf, foldTable()[r]...)
	default:
		return false
	}
	return true
}

// isApostrophe reports whether an apostrophe within a word is at the position.
func (s *scanner) isApostrophe() bool {
	r := s.text[s.pos]
	return (r == '\'' || r == '’' || r == 'ʼ') && s.pos+1 < len(s.text) && unicode.IsLetter(s.text[s.pos+1])
}

// splitApostrophe splits "don't" into "do" and "not", "Anna's" into "anna", and "l'eau" into "l"
// and "eau".
func splitApostrophe(w []byte) (head, tail []byte) {
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
func (s *scanner) scanMark(r rune) {
	switch r {
	case '.', '!', '…', '。', '！', '\n', '?', '？':
		if r == '?' || r == '？' {
			s.markQuestion(s.sentence)
		}
		if !s.atStart {
			s.sentence, s.clause, s.atStart = incrementCapped(s.sentence), incrementCapped(s.clause), true
		}
	case ',', ';', ':', '(', ')', '、', '，', '；', '：', '—', '–', '[', ']':
		s.clause = incrementCapped(s.clause)
	case '%', '<', '>', '=', '≤', '≥', '≠', '+', '$', '€', '£', '¥', '→', '←', '&':
		s.wordBuf = utf8.AppendRune(s.wordBuf[:0], r)
		s.addToken(s.words.lookup(s.wordBuf), mark)
	case '-':
		s.scanArrow()
	}
}

// scanArrow scans "->".
func (s *scanner) scanArrow() {
	if s.pos+1 < len(s.text) && s.text[s.pos+1] == '>' {
		s.pos++
		s.addToken(s.words.lookup([]byte("→")), mark)
	}
}

// markQuestion marks the tokens of a sentence that ends with a question mark.
func (s *scanner) markQuestion(sentence uint8) {
	if s.pos >= len(s.text) || s.text[s.pos] != '?' && s.text[s.pos] != '？' {
		return
	}
	for i := len(s.tokens) - 1; i >= 0 && s.tokens[i].sentence == sentence; i-- {
		s.tokens[i].inQuestion = true
	}
}

// incrementCapped returns n+1, at most 200.
func incrementCapped(n uint8) uint8 { return min(n+1, 200) }

// isUnspaced reports whether r belongs to a script without spaces between words.
func isUnspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar) || r == 'ー'
}
