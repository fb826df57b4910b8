package same

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A token is a word, a number or a mark of a text, in its order.
type token struct {
	text     string // in small letters and without accents; a mark as it is
	kind     tokenKind
	sentence uint8
	clause   uint8
	first    bool    // of its sentence
	name     bool    // a capital, or letters with digits, where no sentence begins
	value    float64 // of a number
	upper    bool    // it has a capital
	asks     bool    // its sentence ends with a question mark
}

type tokenKind uint8

const (
	word tokenKind = iota
	number
	han  // a letter of a script that does not space words
	mark // a comma, a stop, a sign
)

// A scanner takes a text apart.
type scanner struct {
	text     []rune
	at       int
	tokens   []token
	sentence uint8
	clause   uint8
	begins   bool // a sentence begins here
	points   bool // a point is a decimal point, and a comma none
}

// scan returns the tokens of a text.
func scan(text string, points bool) []token {
	s := scanner{text: []rune(norm.NFKC.String(text)), begins: true, points: points}
	for s.at < len(s.text) && len(s.tokens) < maxTokens {
		s.next()
	}
	s.ask(0)
	return s.tokens
}

// next takes what stands at the place.
func (s *scanner) next() {
	r := s.text[s.at]
	switch {
	case unspaced(r):
		s.add(token{text: string(unicode.ToLower(r)), kind: han})
		s.at++
	case isDigit(r):
		s.number()
	case inWord(r):
		s.word()
	default:
		s.mark(r)
		s.at++
	}
}

func (s *scanner) add(t token) {
	t.sentence, t.clause, t.first = s.sentence, s.clause, s.begins
	s.begins = false
	s.tokens = append(s.tokens, t)
}

// word takes a word. What follows an apostrophe belongs to it until it is known
// what it is.
func (s *scanner) word() {
	from, upper, digits := s.at, false, false
	for s.at < len(s.text) && (inWord(s.text[s.at]) && !unspaced(s.text[s.at]) || s.apostrophe()) {
		upper = upper || unicode.IsUpper(s.text[s.at])
		digits = digits || isDigit(s.text[s.at])
		s.at++
	}
	for s.at < len(s.text) && s.at-from < 4 && (s.text[s.at] == '+' || s.text[s.at] == '#') {
		s.at++ // C++, C#
	}
	text := fold(string(s.text[from:min(s.at, from+maxWord)]))
	name := upper && !s.begins || digits
	for _, w := range parts(text) {
		if w != "" {
			s.add(token{text: w, name: name, upper: upper})
		}
	}
}

// apostrophe reports whether an apostrophe within a word is here.
func (s *scanner) apostrophe() bool {
	r := s.text[s.at]
	return (r == '\'' || r == '’' || r == 'ʼ') && s.at+1 < len(s.text) && unicode.IsLetter(s.text[s.at+1])
}

// parts takes a word with apostrophes apart: "don't" is "do" and "not",
// "Anna's" is "anna", and "l'eau" is "l" and "eau".
func parts(w string) []string {
	head, tail, ok := strings.Cut(w, "'")
	if !ok {
		return []string{w}
	}
	tail = strings.ReplaceAll(tail, "'", "")
	switch {
	case tail == "t" && strings.HasSuffix(head, "n"):
		switch head {
		case "can", "won", "shan":
			return []string{"not"}
		}
		return []string{head[:len(head)-1], "not"}
	case tail == "s" || tail == "re" || tail == "ve" || tail == "ll" || tail == "d" || tail == "m":
		return []string{head}
	}
	return []string{head, tail}
}

// mark takes what is no word: the end of a sentence or clause, or a sign.
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
		s.add(token{text: string(r), kind: mark})
	case '-':
		s.arrow()
	}
}

// arrow takes an arrow of two signs.
func (s *scanner) arrow() {
	if s.at+1 < len(s.text) && s.text[s.at+1] == '>' {
		s.at++
		s.add(token{text: "→", kind: mark})
	}
}

// ask marks the tokens of a sentence as a question, if it is one.
func (s *scanner) ask(sentence uint8) {
	if s.at >= len(s.text) || s.text[s.at] != '?' && s.text[s.at] != '？' {
		return
	}
	for i := len(s.tokens) - 1; i >= 0 && s.tokens[i].sentence == sentence; i-- {
		s.tokens[i].asks = true
	}
}

// bump returns the next number, up to the last there is.
func bump(n uint8) uint8 { return min(n+1, 200) }

func isDigit(r rune) bool { return '0' <= r && r <= '9' || r > 0x7f && unicode.IsDigit(r) }

func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '_' }

// unspaced reports whether r is of a script that does not space words.
func unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar) || r == 'ー'
}

// fold returns a word in small letters and without accents.
func fold(w string) string {
	ascii := true
	for i := 0; i < len(w) && ascii; i++ {
		ascii = w[i] < 0x80
	}
	if ascii {
		return strings.ToLower(w)
	}
	return letters.Replace(strings.Map(unmarked, norm.NFKD.String(strings.ToLower(w))))
}

// unmarked drops the marks that a letter can do without.
func unmarked(r rune) rune {
	switch {
	case 0x0300 <= r && r <= 0x036f, 0x0591 <= r && r <= 0x05c7, 0x064b <= r && r <= 0x065f:
		return -1
	}
	return r
}

// letters has the letters that are others with something that is no mark.
var letters = strings.NewReplacer("’", "'", "ʼ", "'", "ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "ς", "σ")
