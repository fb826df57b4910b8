package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Scanner reads JSON of known form in one pass. Its methods consume a value, or return
// false for the caller to use the decoder. They do not validate skipped values.
type Scanner struct {
	data []byte
	at   int
}

func Scan(data []byte) Scanner { return Scanner{data: data} }

// Members calls f with each key, to consume its value, while f returns true. It accepts
// only keys of a-z, 0-9 and _, because the decoder ignores case.
func (s *Scanner) Members(f func(key []byte) bool) bool {
	if !s.Take('{') {
		return false
	}
	if s.Take('}') {
		return true
	}
	for {
		key, ok := s.readKey()
		if !ok || !s.Take(':') {
			return false
		}
		if s.skipSpace(); !f(key) {
			return false
		}
		if s.Take('}') {
			return true
		}
		if !s.Take(',') {
			return false
		}
	}
}

func (s *Scanner) readKey() ([]byte, bool) {
	s.skipSpace()
	if s.at == len(s.data) || s.data[s.at] != '"' {
		return nil, false
	}
	start := s.at + 1
	for i := start; i < len(s.data); i++ {
		switch b := s.data[i]; {
		case 'a' <= b && b <= 'z', b == '_', '0' <= b && b <= '9':
		default:
			s.at = i + 1
			return s.data[start:i], b == '"'
		}
	}
	return nil, false
}

func (s *Scanner) skipSpace() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\t' || s.data[s.at] == '\r') {
		s.at++
	}
}

// End reports whether only white space is left.
func (s *Scanner) End() bool {
	s.skipSpace()
	return s.at == len(s.data)
}

func (s *Scanner) Take(b byte) bool {
	s.skipSpace()
	if s.at == len(s.data) || s.data[s.at] != b {
		return false
	}
	s.at++
	return true
}

func (s *Scanner) Null() bool { return s.Word("null") }

// Word consumes a token such as true.
func (s *Scanner) Word(word string) bool {
	s.skipSpace()
	if end := s.at + len(word); end > len(s.data) || string(s.data[s.at:end]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// Scalar skips a value that is no object or list.
func (s *Scanner) Scalar() bool {
	s.skipSpace()
	return s.at < len(s.data) && s.data[s.at] != '{' && s.data[s.at] != '[' && s.Skip()
}

// Skip skips any value.
func (s *Scanner) Skip() bool {
	s.skipSpace()
	start, depth := s.at, 0
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			if !s.skipString() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return s.at > start
			}
			if depth--; depth == 0 {
				s.at++
				return true
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return s.at > start
			}
		}
		s.at++
	}
	return depth == 0 && s.at > start
}

// Raw consumes a value and returns its bytes, or nil.
func (s *Scanner) Raw() []byte {
	s.skipSpace()
	start := s.at
	if !s.Skip() {
		return nil
	}
	return s.data[start:s.at]
}

func (s *Scanner) skipString() bool {
	for s.at++; ; s.at++ {
		n := bytes.IndexByte(s.data[s.at:], '"')
		if n < 0 {
			return false
		}
		s.at += n
		slashes := 0
		for s.data[s.at-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.at++
			return true
		}
	}
}

// Int consumes a whole number, or null, which leaves to unchanged.
func (s *Scanner) Int(to *int) bool {
	if s.Null() {
		return true
	}
	n, err := strconv.Atoi(string(s.Raw()))
	*to = n
	return err == nil
}

// Text consumes a string, or null, which leaves to unchanged.
func (s *Scanner) Text(to *string) bool {
	if s.Null() {
		return true
	}
	start := s.at
	if start == len(s.data) || s.data[start] != '"' {
		return false
	}
	plain, ascii := true, true
	for s.at++; ; s.at++ {
		s.skipPlain()
		if s.at >= len(s.data) || s.data[s.at] == '"' {
			break
		}
		switch b := s.data[s.at]; {
		case b == '\\':
			plain = false
			s.at++
		case b < ' ':
			return false
		case b >= utf8.RuneSelf:
			ascii = false
		}
	}
	if s.at++; s.at > len(s.data) {
		return false
	}
	text := s.data[start+1 : s.at-1]
	switch {
	case !ascii && !utf8.Valid(text):
	case plain:
		*to = string(text)
		return true
	case unescapeString(text, to):
		return true
	}
	var slow string
	err := json.Unmarshal(s.data[start:s.at], &slow)
	*to = slow
	return err == nil
}

// skipPlain skips plain ASCII, eight bytes at once. The first special byte, and perhaps later
// ones, gets its high bit set.
func (s *Scanner) skipPlain() {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for s.at+8 <= len(s.data) {
		v := binary.LittleEndian.Uint64(s.data[s.at:])
		quote, slash := v^(ones*'"'), v^(ones*'\\')
		n := bits.TrailingZeros64((v|(v-ones*' ')|(quote-ones)|(slash-ones))&tops) / 8
		if s.at += n; n < 8 {
			return
		}
	}
}

// TextLike is Text, but reuses *to if unchanged. It fails if *to is empty then.
func (s *Scanner) TextLike(to *string) bool {
	s.skipSpace()
	if end := s.at + len(*to) + 2; end <= len(s.data) && s.data[s.at] == '"' && s.data[end-1] == '"' &&
		string(s.data[s.at+1:end-1]) == *to && !strings.ContainsAny(*to, `"\\`) {
		s.at = end
		return true
	}
	return s.Text(to) && *to != ""
}

const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// unescapeString decodes a string. It returns false for \u and unknown escapes.
func unescapeString(text []byte, to *string) bool {
	var out strings.Builder
	out.Grow(len(text))
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			break
		}
		n := strings.IndexByte(escapes, text[i+1]) // never a lone backslash
		if n < 0 {
			return false
		}
		out.Write(text[:i])
		out.WriteByte(escaped[n])
		text = text[i+2:]
	}
	out.Write(text)
	*to = out.String()
	return true
}
