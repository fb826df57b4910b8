package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxRepair limits [Repair]'s text, in bytes.
const MaxRepair = 256 << 10

const maxRepairDepth = 200

const maxFound = 16

// Worded for a model.
var (
	errNoValue   = errors.New("there is no JSON value in the answer")
	errRepairLen = fmt.Errorf("the answer is not JSON and longer than %d KB", MaxRepair>>10)
	errDepth     = fmt.Errorf("the JSON value is nested deeper than %d levels", maxRepairDepth)
)

// Repair returns the JSON value in a model's text. It skips <think> reasoning and prose,
// and prefers fenced values, then objects and lists of them, then the first. It closes
// truncated values. It fixes commas, quotes, bare keys, comments, raw line breaks,
// ellipses, Python and JavaScript literals, full-width punctuation, and double escapes.
// Valid JSON is only trimmed, the rest compact.
//
// The time is linear in the text, which may have [MaxRepair] bytes. Repair fails without
// a value, or if one is too deep.
func Repair(text string) (json.RawMessage, error) {
	values, err := RepairAll(text)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// RepairAll returns 1 to 16 repaired values, best first.
func RepairAll(text string) ([]json.RawMessage, error) {
	found, err := findAll(text)
	return sortByRank(found), err
}

// repairNewest is RepairAll, but of values of a rank the newest is first, because models
// correct themselves. Values that break off are last.
func repairNewest(text string) ([]json.RawMessage, error) {
	found, err := findAll(text)
	slices.Reverse(found)
	slices.SortStableFunc(found, func(a, b foundValue) int {
		switch {
		case a.cut == b.cut:
			return 0
		case a.cut:
			return 1
		}
		return -1
	})
	return sortByRank(found), err
}

func findAll(text string) ([]foundValue, error) {
	if len(text) <= MaxRepair {
		if data := bytes.TrimSpace([]byte(text)); json.Valid(data) {
			return []foundValue{{json: data}}, nil
		}
	}
	found, _, err := repairSteps(text)
	return found, err
}

func repairSteps(text string) (found []foundValue, steps int, err error) {
	if len(text) > MaxRepair {
		return nil, 0, errRepairLen
	}
	// Text after the reasoning wins; its start tag is often missing.
	for _, tail := range []string{afterThinking(text), text} {
		s := scanner{text: tail, unescape: true}
		err = s.findValues()
		steps += s.steps
		if err != nil {
			return nil, steps, err
		}
		if len(s.found) > 0 {
			return s.found, steps, nil
		}
		if len(tail) == len(text) {
			break
		}
	}
	return nil, steps, errNoValue
}

// afterThinking returns the text after the last end of reasoning.
func afterThinking(text string) string {
	for rest := text; ; {
		i := strings.IndexAny(rest, "<[◁")
		if i < 0 {
			return text
		}
		m, _ := lexMarker(rest[i:min(len(rest), i+maxMarker)], true)
		rest = rest[i+max(1, m.size):]
		if m.kind == markClose {
			text = rest
		}
	}
}

type foundValue struct {
	json json.RawMessage
	rank int
	cut  bool // it ends without its bracket
}

// Best first.
const (
	rankFenced = iota // for JSON or no language
	rankValue         // non-empty object, or list with strings or containers
	rankPlain         // such as [1], perhaps a citation
	rankScalar
	rankCount
)

func sortByRank(list []foundValue) []json.RawMessage {
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

// findValues collects values from left to right.
func (s *scanner) findValues() error {
	if s.bareObject() {
		return s.addContainer(s.readObject)
	}
	for s.i < len(s.text) && len(s.found) < maxFound {
		var err error
		switch c := s.byteAt(s.i); {
		case s.fenceAt(s.i):
			s.readFence()
		case c == '{' && s.objectAt(s.i+s.widthAt(s.i)):
			s.skipPunctuation()
			err = s.addContainer(s.readObject)
		case c == '[' && s.arrayAt(s.i+s.widthAt(s.i)):
			s.skipPunctuation()
			err = s.addContainer(s.readArray)
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

// addContainer records a container after its bracket.
func (s *scanner) addContainer(read func(depth int) error) error {
	start := len(s.out)
	s.rich, s.cut = false, false
	if err := read(1); err != nil {
		return err
	}
	f := foundValue{json: s.out[start:len(s.out):len(s.out)], rank: rankPlain, cut: s.cut}
	switch {
	case s.fenced:
		f.rank = rankFenced
	case s.rich || len(f.json) > 2 && s.out[start] == '{':
		f.rank = rankValue
	}
	s.found = append(s.found, f)
	return nil
}

// readFence updates fenced and inFence.
func (s *scanner) readFence() {
	for s.byteAt(s.i) == '`' {
		s.i++
	}
	start := s.i
	for s.i < len(s.text) && s.i-start < 16 && isWordByte(s.byteAt(s.i)) {
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

// findUnescaped removes one level of escapes, as in {\"a\": \"b\"}.
func (s *scanner) findUnescaped() error {
	rest := s.text[s.i:]
	s.steps += len(rest)
	in := scanner{text: unescaper.Replace(rest), fenced: s.fenced, inFence: s.inFence}
	err := in.findValues()
	s.steps += in.steps
	s.found = append(s.found, in.found...)
	return err
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\/`, "/")

func (s *scanner) addScalar() {
	text := strings.Trim(s.text, " \t\r\n`")
	if lit, ok := parseLiteral(text); ok {
		s.found = append(s.found, foundValue{json: json.RawMessage(lit), rank: rankScalar})
	}
}
