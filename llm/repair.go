package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxRepair is the longest text that [Repair] looks at, in bytes.
const MaxRepair = 256 << 10

// maxRepairDepth bounds how deep a repaired value may be nested.
const maxRepairDepth = 200

// maxFound bounds how many values of one text are looked at.
const maxFound = 16

// Errors of Repair, fit to be shown to a model.
var (
	errNoValue   = errors.New("there is no JSON value in the answer")
	errRepairLen = fmt.Errorf("the answer is not JSON and longer than %d KB", MaxRepair>>10)
	errDepth     = fmt.Errorf("the JSON value is nested deeper than %d levels", maxRepairDepth)
)

// Repair returns the JSON value that a model meant by text. It passes over
// thinking in <think> tags, prose and code fences, prefers a value in a fence to
// one without and an object or a list of them to "[1]", and takes the first of
// equals. It closes what was cut off, and mends commas, quotes, keys without
// quotes, comments, raw line breaks, ellipses, literals of Python and
// JavaScript, and JSON that is escaped once too often. The result is compact, but
// a text that is JSON already comes back as it is.
//
// It takes steps linear in the length of text, which may be at most [MaxRepair]
// bytes, and fails if there is no value or one is nested too deeply.
func Repair(text string) (json.RawMessage, error) {
	values, err := RepairAll(text)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// RepairAll returns the JSON values in text, mended as by [Repair], the likeliest first,
// and equals in the order of the text: at least one, if there is no error, and at most
// sixteen.
func RepairAll(text string) ([]json.RawMessage, error) {
	if len(text) <= MaxRepair {
		if data := bytes.TrimSpace([]byte(text)); json.Valid(data) {
			return []json.RawMessage{data}, nil
		}
	}
	values, _, err := repairSteps(text)
	return values, err
}

// repairSteps is RepairAll with the number of steps it took.
func repairSteps(text string) (values []json.RawMessage, steps int, err error) {
	if len(text) > MaxRepair {
		return nil, 0, errRepairLen
	}
	// What follows the end of thinking counts, if there is a value in it.
	// The opening tag is often missing, for templates swallow it.
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

// afterThinking returns what follows the last end of thinking, wherever that stands.
func afterThinking(text string) string {
	for _, a := range append(asides[:len(asides):len(asides)], aside{end: "</thought>"}) {
		if i := strings.LastIndex(text, a.end); i >= 0 && a.end != "" {
			text = text[i+len(a.end):]
		}
	}
	return text
}

// A found is a value in a text, with how likely it is to be the answer.
type found struct {
	json json.RawMessage
	rank int
}

// The ranks, the likeliest first.
const (
	rankFenced = iota // in a code fence for JSON or for nothing in particular
	rankValue         // an object, or a list with more than plain words and numbers
	rankPlain         // a list such as [1], which may be a citation
	rankScalar
	rankCount
)

// ranked returns the values by rank, in the order of the text within a rank.
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

// find looks for values from left to right, each begun after the end of the one
// before.
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

// add reads a container, whose opening bracket is read, and keeps it.
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

// fence passes over the marker of a code fence and notes whether what follows
// is code that may be JSON.
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

// findUnescaped looks for values in the rest of the text with one level of
// escapes removed, as in {\"a\": \"b\"}.
func (s *scanner) findUnescaped() error {
	rest := s.text[s.i:]
	s.steps += len(rest)
	in := scanner{text: unescaper.Replace(rest), fenced: s.fenced, inFence: s.inFence}
	err := in.find()
	s.steps += in.steps
	s.found = append(s.found, in.found...)
	return err
}

// unescaper removes one level of escapes.
var unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\/`, "/")

// addScalar takes a text that is nothing but a scalar as a value.
func (s *scanner) addScalar() {
	text := strings.Trim(s.text, " \t\r\n`")
	if lit, ok := literal(text); ok {
		s.found = append(s.found, found{json: json.RawMessage(lit), rank: rankScalar})
	}
}
