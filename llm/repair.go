package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxRepair limits the text that [Repair] reads, in bytes.
const MaxRepair = 256 << 10

// maxRepairDepth limits the nesting of a repaired value.
const maxRepairDepth = 200

// maxFound limits the values found in one text.
const maxFound = 16

// Errors of Repair, worded for a model.
var (
	errNoValue   = errors.New("there is no JSON value in the answer")
	errRepairLen = fmt.Errorf("the answer is not JSON and longer than %d KB", MaxRepair>>10)
	errDepth     = fmt.Errorf("the JSON value is nested deeper than %d levels", maxRepairDepth)
)

// Repair returns the JSON value that a model's text contains. It skips <think> reasoning,
// prose and code fences. It prefers fenced values, then objects and lists of them, and
// among equals the first. It closes truncated values. It also fixes commas, quotes, bare
// keys, comments, raw line breaks, ellipses, Python and JavaScript literals, and doubly
// escaped JSON. The result is compact, but valid JSON is only trimmed.
//
// The time is linear in the text, which may have [MaxRepair] bytes. Repair fails if there
// is no value or one is nested too deeply.
func Repair(text string) (json.RawMessage, error) {
	values, err := RepairAll(text)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// RepairAll returns all values in text, repaired as by [Repair] and best first. Without
// an error it returns 1 to 16 values.
func RepairAll(text string) ([]json.RawMessage, error) {
	if len(text) <= MaxRepair {
		if data := bytes.TrimSpace([]byte(text)); json.Valid(data) {
			return []json.RawMessage{data}, nil
		}
	}
	values, _, err := repairSteps(text)
	return values, err
}

// repairSteps is RepairAll, with the number of steps taken.
func repairSteps(text string) (values []json.RawMessage, steps int, err error) {
	if len(text) > MaxRepair {
		return nil, 0, errRepairLen
	}
	// Text after the end of reasoning wins if it has a value. The start tag is often
	// missing, because templates drop it.
	for _, tail := range []string{afterThinking(text), text} {
		s := scanner{text: tail, unescape: true}
		err = s.find()
		steps += s.steps
		if err != nil {
			return nil, steps, err
		}
		if len(s.found) > 0 {
			return ranked(s.found), steps, nil
		}
		if len(tail) == len(text) {
			break
		}
	}
	return nil, steps, errNoValue
}

// afterThinking returns the text after the last end of reasoning.
func afterThinking(text string) string {
	for _, a := range append(asides[:len(asides):len(asides)], aside{end: "</thought>"}) {
		if i := strings.LastIndex(text, a.end); i >= 0 && a.end != "" {
			text = text[i+len(a.end):]
		}
	}
	return text
}

// A found is a value in a text, with its rank.
type found struct {
	json json.RawMessage
	rank int
}

// The ranks, best first.
const (
	rankFenced = iota // in a code fence for JSON or without a language
	rankValue         // a non-empty object, or a list with strings or containers
	rankPlain         // a list such as [1], which may be a citation
	rankScalar
	rankCount
)

// ranked returns the values by rank, then in text order.
func ranked(list []found) []json.RawMessage {
	values := make([]json.RawMessage, 0, len(list))
	for rank := range rankCount {
		for _, f := range list {
			if f.rank == rank {
				values = append(values, f.json)
			}
		}
	}
	return values
}

// find collects values from left to right, without overlap.
func (s *scanner) find() error {
	if s.bareObject() {
		return s.add(s.object)
	}
	for s.i < len(s.text) && len(s.found) < maxFound {
		var err error
		switch c := s.at(s.i); {
		case s.fenceAt(s.i):
			s.fence()
		case c == '{' && s.objectAt(s.i+1):
			s.i++
			err = s.add(s.object)
		case c == '[' && s.arrayAt(s.i+1):
			s.i++
			err = s.add(s.array)
		case (c == '{' || c == '[') && s.unescape && s.escapedAt(s.i+1):
			return s.findUnescaped()
		default:
			s.i++
		}
		if err != nil {
			return err
		}
	}
	if len(s.found) == 0 {
		s.addScalar()
	}
	return nil
}

// add reads a container after its opening bracket and records it.
func (s *scanner) add(read func(depth int) error) error {
	start := len(s.out)
	s.rich = false
	if err := read(1); err != nil {
		return err
	}
	f := found{json: s.out[start:len(s.out):len(s.out)], rank: rankPlain}
	switch {
	case s.fenced:
		f.rank = rankFenced
	case s.rich || len(f.json) > 2 && s.out[start] == '{':
		f.rank = rankValue
	}
	s.found = append(s.found, f)
	return nil
}

// fence reads a code fence marker and updates fenced and inFence.
func (s *scanner) fence() {
	for s.at(s.i) == '`' {
		s.i++
	}
	start := s.i
	for s.i < len(s.text) && s.i-start < 16 && wordByte(s.at(s.i)) {
		s.i++
	}
	switch strings.ToLower(s.text[start:s.i]) {
	case "", "json", "json5", "jsonc", "javascript", "js":
		s.fenced = !s.inFence
	default:
		s.fenced = false
	}
	s.inFence = !s.inFence
}

// findUnescaped searches the rest of the text without one level of escapes, as in {\"a\":
// \"b\"}.
func (s *scanner) findUnescaped() error {
	rest := s.text[s.i:]
	s.steps += len(rest)
	in := scanner{text: unescaper.Replace(rest), fenced: s.fenced, inFence: s.inFence}
	err := in.find()
	s.steps += in.steps
	s.found = append(s.found, in.found...)
	return err
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\/`, "/")

// addScalar records a text that is only a scalar.
func (s *scanner) addScalar() {
	text := strings.Trim(s.text, " \t\r\n`")
	if lit, ok := literal(text); ok {
		s.found = append(s.found, found{json: json.RawMessage(lit), rank: rankScalar})
	}
}
