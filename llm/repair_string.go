package llm

import (
	"strings"
	"unicode/utf8"
)

// A stringContext is a string's context.
type stringContext int

const (
	inKey stringContext = iota
	inObject
	inArray
)

// maxKey limits the look-ahead, in bytes.
const maxKey = 128

func (s *scanner) quoteAt(i int) rune {
	switch c := s.byteAt(i); {
	case c == '"' || c == '\'':
		return rune(c)
	case c == '`' && !s.fenceAt(i):
		return '`'
	case c < utf8.RuneSelf:
		return 0
	}
	if r, _ := utf8.DecodeRuneInString(s.text[i:]); strings.ContainsRune("“”„‟‘’‚«＂", r) {
		return r
	}
	return 0
}

// closingAt returns the length of a quote that can close q, or 0.
func (s *scanner) closingAt(i int, q rune) int {
	closing := string(q)
	switch q {
	case '“', '”', '„', '‟', '＂':
		closing = "”“\"＂"
	case '‘', '’', '‚':
		closing = "’‘'"
	case '«':
		closing = "»"
	}
	c := s.byteAt(i)
	if c < utf8.RuneSelf {
		if i < len(s.text) && strings.IndexByte(closing, c) >= 0 {
			return 1
		}
		return 0
	}
	if r, n := utf8.DecodeRuneInString(s.text[i:]); r != utf8.RuneError && strings.ContainsRune(closing, r) {
		return n
	}
	return 0
}

// readString reads a string opened by q. The context of a quote tells whether it ends the
// string.
func (s *scanner) readString(q rune, where stringContext) {
	s.i += utf8.RuneLen(q)
	s.out = append(s.out, '"')
	for s.i < len(s.text) {
		c := s.byteAt(s.i)
		switch n := s.closingAt(s.i, q); {
		case n > 0 && s.canClose(s.i+n, where):
			s.i += n
			s.out = append(s.out, '"')
			return
		case c == '\\':
			s.readEscape()
		case c == '\n' && where == inObject:
			if s.lineBreak() {
				s.out = append(s.out, '"')
				return
			}
		case !utf8.FullRuneInString(s.text[s.i:]): // truncated rune
			s.i = len(s.text)
		default:
			r, n := utf8.DecodeRuneInString(s.text[s.i:])
			s.writeRune(r)
			s.i += n
		}
	}
	if s.inFence {
		s.trimFence()
	}
	s.out = append(s.out, '"')
}

// lineBreak reports whether the string ended without a quote, because a key follows.
func (s *scanner) lineBreak() (ended bool) {
	end := s.skipSpace(s.i)
	if s.quoteAt(end) != 0 && s.keyAt(end, false) {
		text := strings.TrimRight(string(s.out[len(s.out)-min(len(s.out), 8):]), ", \t")
		s.out = append(s.out[:len(s.out)-min(len(s.out), 8)], text...)
		s.i = end
		return true
	}
	for _, r := range s.text[s.i:end] {
		s.writeRune(r)
	}
	s.i = end
	return false
}

func (s *scanner) trimFence() {
	out, ok := strings.CutSuffix(strings.TrimRight(string(s.out[len(s.out)-min(len(s.out), 64):]), " "), "```")
	if ok {
		s.out = append(s.out[:len(s.out)-min(len(s.out), 64)], strings.TrimSuffix(out, `\n`)...)
	}
}

func (s *scanner) readEscape() {
	c := s.byteAt(s.i + 1)
	switch c {
	case 'b', 'f', 'n', 'r', 't', '"', '\\':
		s.out = append(s.out, '\\', c)
		s.i += 2
	case '/', '\'', '`':
		s.out = append(s.out, c)
		s.i += 2
	case 'u':
		s.hexEscape(4)
	case 'x':
		s.hexEscape(2)
	case '\n':
		s.i += 2
	case 0: // truncated, or a NUL
		s.i++
	default:
		s.out = append(s.out, `\\`...)
		s.i++
	}
}

// hexEscape treats \u and \x without n digits as text.
func (s *scanner) hexEscape(n int) {
	digits := s.text[min(s.i+2, len(s.text)):min(s.i+2+n, len(s.text))]
	s.steps += n
	switch {
	case strings.Trim(digits, "0123456789abcdefABCDEF") != "":
		s.out = append(s.out, `\\`...)
		s.i++
	case len(digits) < n: // truncated
		s.i = len(s.text)
	default:
		s.out = append(append(s.out, `\u00`[:6-n]...), digits...)
		s.i += 2 + n
	}
}

// canClose reports whether the text after a quote can follow a string.
func (s *scanner) canClose(i int, where stringContext) bool {
	j := s.skipSpace(i)
	if s.atEnd(j) {
		return true
	}
	c := s.byteAt(j)
	switch {
	case where == inKey:
		return !isLetter(c)
	case c == '}' || c == ']':
		return true
	case c == ',':
		next := s.skipSpace(j + s.widthAt(j))
		return s.followsComma(next, where) && !(s.widthAt(j) > 1 && s.quoteAt(next) == 0 && s.wordKeyAt(next)) // such a comma and a word are prose
	case s.commentAt(j):
		return j > i || c == '/'
	case c == '+':
		return s.quoteAt(s.skipSpace(j+1)) != 0
	case j == i:
		return false
	case where == inArray: // missing comma
		return s.quoteAt(j) != 0 || c == '{'
	}
	return s.keyAt(j, true) && (s.quoteAt(j) != 0 || strings.IndexByte(s.text[i:j], '\n') >= 0)
}

func (s *scanner) followsComma(i int, where stringContext) bool {
	if s.atEnd(i) || s.commentAt(i) {
		return true
	}
	c := s.byteAt(i)
	switch {
	case c == '}' || c == ']' || c == ',' || c == '{':
		return true
	case c == '.' || strings.HasPrefix(s.text[i:], "…"):
		return true
	case where == inObject:
		return s.keyAt(i, true)
	}
	return c == '[' || c == '-' || isDigit(c) || s.quoteAt(i) != 0 || s.literalAt(i)
}

func (s *scanner) skipSpace(i int) int {
	for {
		n := spaceLen(s.text, i)
		s.steps++
		if n == 0 {
			return i
		}
		i += n
	}
}

// keyAt returns unseen for truncated or overlong keys.
func (s *scanner) keyAt(i int, unseen bool) bool {
	if s.quoteAt(i) == 0 {
		return s.wordKeyAt(i)
	}
	end, ok := s.keyEnd(i)
	switch {
	case !ok:
		return false
	case end < 0 || s.atEnd(s.skipSpace(end)):
		return unseen
	}
	return s.colonAt(end)
}

// keyEnd returns -1 for truncated or overlong keys.
func (s *scanner) keyEnd(i int) (end int, ok bool) {
	q := s.quoteAt(i)
	i += utf8.RuneLen(q)
	for limit := i + maxKey; i < len(s.text) && i < limit; i++ {
		if n := s.closingAt(i, q); n > 0 {
			return i + n, true
		}
		switch s.byteAt(i) {
		case '\\':
			i++
		case '\n':
			return 0, false
		}
	}
	return -1, true
}

func (s *scanner) wordKeyAt(i int) bool {
	start := i
	for i < len(s.text) && i-start < maxKey && isWordByte(s.byteAt(i)) {
		i++
	}
	return i > start && i < len(s.text) && s.colonAt(i)
}

func (s *scanner) colonAt(i int) bool {
	i = s.skipSpace(i)
	c := s.byteAt(i)
	return c == ':' || c == '=' && s.byteAt(i+1) == '>'
}

// objectAt reports whether an object can start so.
func (s *scanner) objectAt(i int) bool {
	i = s.skipSpace(i)
	if c := s.byteAt(i); c == '}' || s.atEnd(i) || c == '/' && s.commentAt(i) {
		return true
	}
	if s.quoteAt(i) == 0 {
		return s.wordKeyAt(i)
	}
	end, ok := s.keyEnd(i)
	return ok && (end < 0 || s.canClose(end, inKey))
}

// arrayAt reports whether an array can start so.
func (s *scanner) arrayAt(i int) bool {
	for range 4 {
		i = s.skipSpace(i)
		c := s.byteAt(i)
		switch {
		case c == '[':
			i += s.widthAt(i)
			continue
		case c == '{':
			return s.objectAt(i + s.widthAt(i))
		case c == ']' || s.atEnd(i) || c == '/' && s.commentAt(i):
			return true
		case c == '+' || c == '-' || c == '.':
			return isDigit(s.byteAt(i+1)) || c != '.' && s.byteAt(i+1) == '.' && isDigit(s.byteAt(i+2))
		case isDigit(c):
			return true
		}
		return s.quoteAt(i) != 0 || s.literalAt(i)
	}
	return true
}

// escapedAt matches {\n \"a\": 1}.
func (s *scanner) escapedAt(i int) bool {
	for {
		i = s.skipSpace(i)
		c := s.byteAt(i + 1)
		if s.byteAt(i) != '\\' || c != 'n' && c != 'r' && c != 't' {
			return s.byteAt(i) == '\\' && c == '"'
		}
		i += 2
	}
}

// bareObject accepts members without braces.
func (s *scanner) bareObject() bool {
	i := s.skipSpace(0)
	if s.quoteAt(i) == 0 || !s.keyAt(i, false) {
		return false
	}
	s.i = i
	return true
}

func isWordByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '-' || c == '.'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || c >= utf8.RuneSelf
}
