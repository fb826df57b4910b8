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

// A Scanner walks once over a JSON value whose form is known, for the many small
// pieces of a stream that are all alike. Its methods pass over what they name, and
// report false if something else is next: then the piece is for the decoder. Of
// what they pass over without reading they check only that it ends.
type Scanner struct {
	data []byte
	at   int
}

// Scan returns a scanner at the beginning of data.
func Scan(data []byte) Scanner { return Scanner{data: data} }

// Members calls f with each key of an object, to pass over its value, until it
// returns false. It reports whether the whole object was read so; a key that is
// not of small letters, digits and _ stops it too, for the decoder takes a key in
// capitals for the same.
func (s *Scanner) Members(f func(key []byte) bool) bool {
	if !s.Take('{') {
		return false
	}
	if s.Take('}') {
		return true
	}
	for {
		key, ok := s.key()
		if !ok || !s.Take(':') {
			return false
		}
		if s.space(); !f(key) {
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

func (s *Scanner) key() ([]byte, bool) {
	s.space()
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

func (s *Scanner) space() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\t' || s.data[s.at] == '\r') {
		s.at++
	}
}

// End reports whether nothing is left.
func (s *Scanner) End() bool {
	s.space()
	return s.at == len(s.data)
}

// Take passes over one byte.
func (s *Scanner) Take(b byte) bool {
	s.space()
	if s.at == len(s.data) || s.data[s.at] != b {
		return false
	}
	s.at++
	return true
}

// Null passes over null.
func (s *Scanner) Null() bool { return s.Word("null") }

// Word passes over a word, as true or a quoted name.
func (s *Scanner) Word(word string) bool {
	s.space()
	if end := s.at + len(word); end > len(s.data) || string(s.data[s.at:end]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// Scalar passes over a value that is no object and no list.
func (s *Scanner) Scalar() bool {
	s.space()
	return s.at < len(s.data) && s.data[s.at] != '{' && s.data[s.at] != '[' && s.Skip()
}

// Skip passes over any value.
func (s *Scanner) Skip() bool {
	s.space()
	start, depth := s.at, 0
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			if !s.quoted() {
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

// Raw passes over any value and returns it as it stands, part of the data; nil if
// there is none.
func (s *Scanner) Raw() []byte {
	s.space()
	start := s.at
	if !s.Skip() {
		return nil
	}
	return s.data[start:s.at]
}

// quoted passes over a string.
func (s *Scanner) quoted() bool {
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

// Int passes over a whole number and puts it into to, and leaves it for null.
func (s *Scanner) Int(to *int) bool {
	if s.Null() {
		return true
	}
	n, err := strconv.Atoi(string(s.Raw()))
	*to = n
	return err == nil
}

// Text passes over a string and puts its text into to, and leaves it for null.
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
		s.run()
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
	case unescape(text, to):
		return true
	}
	var slow string
	err := json.Unmarshal(s.data[start:s.at], &slow)
	*to = slow
	return err == nil
}

// run passes over what stands for itself in a string and is ASCII: some of it or all.
// It looks at eight bytes at once; the first that is not so, and perhaps some behind
// it, has its highest bit set then.
func (s *Scanner) run() {
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

// Same is Text for what is most likely in to already. It does not take no text
// for another.
func (s *Scanner) Same(to *string) bool {
	s.space()
	if end := s.at + len(*to) + 2; end <= len(s.data) && s.data[s.at] == '"' && s.data[end-1] == '"' &&
		string(s.data[s.at+1:end-1]) == *to && !strings.ContainsAny(*to, `"\\`) {
		s.at = end
		return true
	}
	return s.Text(to) && *to != ""
}

// The letters of escapes and what they stand for.
const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)

// unescape puts the text of a JSON string into to, unless it has an escape that
// is a number or none.
func unescape(text []byte, to *string) bool {
	var out strings.Builder
	out.Grow(len(text))
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			break
		}
		n := strings.IndexByte(escapes, text[i+1]) // a string does not end in a lone backslash
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
