package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// members calls f with the keys and values of an object until it returns false.
// It reports whether the whole object was read so; any key that is not of small
// letters, digits and _ stops it too. Of values it checks only that they end.
func members(data []byte, f func(key, value []byte) bool) bool {
	s := scanner{data: data}
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return s.end()
	}
	for {
		key, ok := s.key()
		if !ok || !s.take(':') {
			return false
		}
		value, ok := s.value()
		if !ok || !f(key, value) {
			return false
		}
		if s.take('}') {
			return s.end()
		}
		if !s.take(',') {
			return false
		}
	}
}

// A scanner walks over JSON.
type scanner struct {
	data []byte
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\t' || s.data[s.at] == '\r') {
		s.at++
	}
}

func (s *scanner) end() bool {
	s.space()
	return s.at == len(s.data)
}

// take passes over a byte, if it is next.
func (s *scanner) take(b byte) bool {
	s.space()
	if s.at == len(s.data) || s.data[s.at] != b {
		return false
	}
	s.at++
	return true
}

func (s *scanner) key() ([]byte, bool) {
	s.space()
	value, ok := s.quoted()
	if !ok {
		return nil, false
	}
	value = value[1 : len(value)-1]
	for _, b := range value {
		if (b < 'a' || b > 'z') && b != '_' && (b < '0' || b > '9') {
			return nil, false
		}
	}
	return value, true
}

// quoted passes over a string.
func (s *scanner) quoted() ([]byte, bool) {
	start := s.at
	if start == len(s.data) || s.data[start] != '"' {
		return nil, false
	}
	for s.at++; ; s.at++ {
		n := bytes.IndexByte(s.data[s.at:], '"')
		if n < 0 {
			return nil, false
		}
		s.at += n
		slashes := 0
		for s.data[s.at-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			s.at++
			return s.data[start:s.at], true
		}
	}
}

// value passes over a value.
func (s *scanner) value() ([]byte, bool) {
	s.space()
	start, depth := s.at, 0
	for s.at < len(s.data) {
		switch b := s.data[s.at]; b {
		case '"':
			if _, ok := s.quoted(); !ok {
				return nil, false
			}
			if depth == 0 {
				return s.data[start:s.at], true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.at++
				return s.data[start:s.at], true
			}
		}
		if depth < 0 || depth == 0 && (s.data[s.at] == ',' || s.data[s.at] == ' ') {
			return s.data[start:s.at], s.at > start
		}
		s.at++
	}
	return nil, false
}

func isNull(value []byte) bool { return string(value) == "null" }

// scalar reports whether a value is no object and no list.
func scalar(value []byte) bool { return value[0] != '{' && value[0] != '[' }

// quickInt puts a whole number into to, and leaves it for null.
func quickInt(value []byte, to *int) bool {
	if isNull(value) {
		return true
	}
	n, err := strconv.Atoi(string(value))
	*to = n
	return err == nil
}

// quickSame is quickString for a text that is most likely in to already. It
// leaves it for null and for no text.
func quickSame(value []byte, to *string) bool {
	if isNull(value) || len(value) == len(*to)+2 && value[0] == '"' && string(value[1:len(value)-1]) == *to {
		return true
	}
	old := *to
	ok := quickString(value, to)
	if *to == "" {
		*to = old
	}
	return ok
}

// quickString puts the text of a JSON string into to.
func quickString(value []byte, to *string) bool {
	if value[0] != '"' {
		return false
	}
	text := value[1 : len(value)-1]
	for _, b := range text {
		if b < ' ' {
			return false
		}
	}
	if !utf8.Valid(text) {
		return slowString(value, to)
	}
	if bytes.IndexByte(text, '\\') < 0 {
		*to = string(text)
		return true
	}
	return unescaped(text, to) || slowString(value, to)
}

func slowString(value []byte, to *string) bool {
	var text string
	err := json.Unmarshal(value, &text)
	*to = text
	return err == nil
}

// unescaped puts the text of a JSON string with escapes into to, unless one of
// them is a number.
func unescaped(text []byte, to *string) bool {
	var out strings.Builder
	out.Grow(len(text))
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			out.Write(text)
			*to = out.String()
			return true
		}
		b := strings.IndexByte(escapes, text[i+1]) // a string does not end in a lone backslash
		if b < 0 {
			return false
		}
		out.Write(text[:i])
		out.WriteByte(escaped[b])
		text = text[i+2:]
	}
}

// The letters of escapes and what they stand for.
const (
	escapes = `"\/bfnrt`
	escaped = "\"\\/\b\f\n\r\t"
)
