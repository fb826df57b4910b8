package openai

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Nearly all that streams is the same small object around a few words. These
// functions find the words without decoding the object, and leave whatever is
// not quite so to the decoder.

// quickChunk returns what a chunk says, if it is one of the many that only say
// words.
func quickChunk(data []byte) (s said, ok bool) {
	choices := 0
	ok = members(data, func(key string, value []byte) bool {
		if key != "choices" {
			return scalar(value) && key != "error" && (key != "usage" && key != "x_groq" || isNull(value))
		}
		choices++
		return quickChoice(value, &s)
	})
	return s, ok && choices == 1
}

// quickChoice reads a list of one choice.
func quickChoice(value []byte, s *said) bool {
	if len(value) < 2 || value[0] != '[' {
		return false
	}
	deltas := 0
	ok := members(bytes.TrimSpace(value[1:len(value)-1]), func(key string, value []byte) bool {
		switch key {
		case "index":
			return string(value) == "0"
		case "delta":
			deltas++
			return deltas == 1 && members(value, func(key string, value []byte) bool { return quickDelta(key, value, s) })
		}
		return isNull(value)
	})
	return ok && deltas == 1
}

func quickDelta(key string, value []byte, s *said) bool {
	to := &s.Content.text
	switch key {
	case "role":
		return scalar(value)
	case "content":
	case "reasoning_content":
		to = &s.ReasoningContent
	case "reasoning":
		to = &s.Reasoning
	default:
		return isNull(value)
	}
	return isNull(value) || *to == "" && quickString(value, to)
}

// quickEvent reads an event of the Responses API, if it only brings words, or
// nothing but its type matters.
func quickEvent(data []byte) (ev event, ok bool) {
	types, deltas, more := 0, 0, false
	ok = members(data, func(key string, value []byte) bool {
		switch key {
		case "type":
			types++
			ev.Type = quickType(value)
			return ev.Type != ""
		case "delta":
			deltas++
			return deltas == 1 && quickString(value, (*string)(&ev.Delta))
		case "summary_index":
			n, err := strconv.Atoi(string(value))
			ev.Summary = n
			return err == nil
		case "response", "item", "object":
			more = true
		}
		return key != "error"
	})
	words := deltas == 1 && !more
	return ev, ok && types == 1 && (words || !bringsWords(ev.Type))
}

// bringsWords reports whether the delta of an event of a type matters.
func bringsWords(typ string) bool {
	return typ == "response.output_text.delta" || typ == "response.reasoning_summary_text.delta"
}

// quickType returns a type of event of which the words matter or nothing does,
// else "".
func quickType(quoted []byte) string {
	switch string(quoted) {
	case `"response.output_text.delta"`:
		return "response.output_text.delta"
	case `"response.reasoning_summary_text.delta"`:
		return "response.reasoning_summary_text.delta"
	case `"response.output_item.added"`:
		return "response.output_item.added"
	case `"response.function_call_arguments.delta"`, `"response.function_call_arguments.done"`, `"response.in_progress"`,
		`"response.content_part.added"`, `"response.content_part.done"`, `"response.output_text.done"`,
		`"response.reasoning_summary_part.added"`, `"response.reasoning_summary_part.done"`, `"response.reasoning_summary_text.done"`:
		return "of no matter"
	}
	return ""
}

// members calls f with the keys and values of an object until it returns false.
// It reports whether the whole object was read so; any key that is not of small
// letters, digits and _ stops it too. Of values it checks only that they end.
func members(data []byte, f func(key string, value []byte) bool) bool {
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

func (s *scanner) key() (string, bool) {
	s.space()
	value, ok := s.quoted()
	if !ok {
		return "", false
	}
	value = value[1 : len(value)-1]
	for _, b := range value {
		if (b < 'a' || b > 'z') && b != '_' && (b < '0' || b > '9') {
			return "", false
		}
	}
	return string(value), true
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

// quickString puts the text of a JSON string into to.
func quickString(value []byte, to *string) bool {
	if value[0] != '"' {
		return false
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
		return json.Unmarshal(value, to) == nil
	}
	for _, b := range text {
		if b < ' ' {
			return false
		}
	}
	*to = string(text)
	return true
}
