package limitio

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Limits of JSON.
const (
	maxDepth   = 200  // nested arrays and objects
	maxLiteral = 1000 // bytes of a number
	minDecoded = 8 << 20
)

// Estimated memory of decoded values, besides the bytes of their texts. Each is the most that a
// decoder of a protocol needs: TestDecodedMemory in internal/httpapi measures it.
const (
	objectBytes  = 500
	memberBytes  = 100
	elementBytes = 700
	numberBytes  = 64 // of an element of a list of numbers
	escapedBytes = 12 // of a character that encoders escape
	invalidBytes = 4  // of a byte that is not UTF-8
)

// Errors of a JSON text.
var (
	ErrDeep   = fmt.Errorf("JSON is nested more than %d levels deep", maxDepth)
	ErrNumber = fmt.Errorf("JSON has a number of more than %d characters", maxLiteral)
	ErrDense  = errors.New("JSON has too many values for its size: send fewer items")
)

// A jsonShape scans a JSON text and estimates the memory of its values before a decoder builds
// them. It does not check syntax: decoders build no values behind an error.
type jsonShape struct {
	numbers bool // elements that are numbers are cheap

	depth    int
	isArray  [maxDepth + 1]bool // by depth
	inString bool
	escaped  bool
	element  bool // an element may begin
	literal  int  // bytes of the current number or word
	memory   int64
}

// scan reads the next part of the text.
func (s *jsonShape) scan(p []byte) error {
	for i := 0; i < len(p); i++ {
		if s.inString && !s.escaped {
			for i < len(p) && !isMark[p[i]] {
				i++
			}
			if i == len(p) {
				break
			}
		}
		if s.inString {
			s.scanMark(p[i])
		} else if err := s.scanToken(p[i]); err != nil {
			return err
		}
	}
	return nil
}

// isMark has the bytes of a text that scanMark reads.
var isMark = [256]bool{'"': true, '\\': true, '<': true, '>': true, '&': true}

func (s *jsonShape) scanMark(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inString = false
	case c == '<' || c == '>' || c == '&':
		s.memory += escapedBytes
	}
}

func (s *jsonShape) scanToken(c byte) error {
	switch c {
	case ' ', '\t', '\r', '\n':
		s.literal = 0
		return nil
	case '}', ']':
		s.depth, s.element, s.literal = max(0, s.depth-1), false, 0
		return nil
	case ',':
		s.element, s.literal = s.isArray[s.depth], 0
		return nil
	case ':':
		s.memory, s.literal = s.memory+memberBytes, 0
		return nil
	}
	if s.element {
		s.element = false
		if s.numbers && (c == '-' || c >= '0' && c <= '9') {
			s.memory += numberBytes
		} else {
			s.memory += elementBytes
		}
	}
	switch c {
	case '{', '[':
		if s.depth++; s.depth > maxDepth {
			return ErrDeep
		}
		s.isArray[s.depth], s.element = c == '[', c == '['
		s.memory += objectBytes
	case '"':
		s.inString = true
	default:
		if s.literal++; s.literal > maxLiteral {
			return ErrNumber
		}
	}
	return nil
}

// decodedBytes returns the estimate for a whole text, or an error if it exceeds the limit.
func (s *jsonShape) decodedBytes(text []byte) (int64, error) {
	if !utf8.Valid(text) {
		s.memory += invalidBytes * int64(len(text))
	}
	if s.memory > maxDecoded(len(text)) {
		return 0, ErrDense
	}
	return s.memory, nil
}

func maxDecoded(size int) int64 { return max(minDecoded, int64(bodyFactor-1)*int64(size)) }

// RawJSON is a value of a decoded text, like [encoding/json.RawMessage], but a part of the text and no copy. The
// text must not change, so decode it with [encoding/json.Unmarshal].
type RawJSON []byte

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *RawJSON) UnmarshalJSON(js []byte) error {
	*r = js
	return nil
}

// MarshalJSON implements [encoding/json.Marshaler].
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("null"), nil
	}
	return r, nil
}
