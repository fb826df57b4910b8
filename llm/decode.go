package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"ponder/internal/textkit"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxAnswer is in bytes; Repair has the lower limit [MaxRepair].
const maxAnswer = 8 << 20

// Decode reads a model's answer as a T: JSON, or text in which [Repair] finds a value.
// Of several values that fit the schema the newest complete one wins. Decode drops unknown members and nulls,
// turns a null list into an empty one and unquotes numbers. A nil schema accepts any
// value.
//
// The error is a Malformed [*Error] whose one line tells the model what to fix: see
// [Reask].
func Decode[T any](text string, schema *Schema) (T, error) {
	var zero T
	c, err := newChecker(schema)
	if err != nil {
		return zero, malformedError("%v", err)
	}
	values, err := candidateValues(text)
	if err != nil {
		return zero, malformedError("%v", err)
	}
	var first error
	for _, data := range values {
		v, err := decodeOne[T](data, c)
		if err == nil {
			return v, nil
		}
		first = cmp.Or(first, err)
	}
	return zero, malformedError("%v", first)
}

// candidateValues returns the values in text, best first.
func candidateValues(text string) ([]json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the answer is longer than %d MB", maxAnswer>>20)
	}
	data := []byte(text)
	if !json.Valid(data) {
		return repairNewest(text)
	}
	values := []json.RawMessage{data}
	if text[0] == '"' { // possibly JSON inside a JSON string
		var inner string
		if json.Unmarshal(data, &inner) == nil {
			more, err := repairNewest(inner)
			if err == nil {
				values = append(values, more...)
			}
		}
	}
	return values, nil
}

func decodeOne[T any](data json.RawMessage, c *checker) (v T, err error) {
	if c != nil {
		if data, err = c.checkValue(data); err != nil {
			return v, err
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return v, nil
}

type checker struct {
	schema   jsonschema.Schema
	resolved *jsonschema.Resolved
}

func newChecker(schema *Schema) (*checker, error) {
	if schema == nil || len(schema.JSON) == 0 {
		return nil, nil
	}
	var c checker
	if err := json.Unmarshal(schema.JSON, &c.schema); err != nil {
		return nil, fmt.Errorf("read schema %s: %w", schema.Name, err)
	}
	var err error
	if c.resolved, err = c.schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("resolve schema %s: %w", schema.Name, err)
	}
	return &c, nil
}

// checkValue validates data and fixes slips.
func (c *checker) checkValue(data json.RawMessage) (json.RawMessage, error) {
	v, err := ParseValue(data)
	if err != nil {
		return nil, errors.New("the answer is not JSON")
	}
	if c.resolved.Validate(v) == nil { // large integers keep their digits
		return data, nil
	}
	v = fitValue(&c.schema, v)
	err = c.resolved.Validate(v)
	if err == nil {
		return json.Marshal(v)
	}
	if list := findFaults(&c.schema, nil, "", v); len(list) > 0 {
		return nil, errors.New(strings.Join(list, "; "))
	}
	return nil, plainFault(err)
}

// plainFault replaces the schema path by the value's.
func plainFault(err error) error {
	text := err.Error()
	path := ""
	for {
		at, rest, ok := strings.Cut(text, ": ")
		if !ok || !strings.HasPrefix(at, "validating ") {
			break
		}
		path, text = strings.TrimPrefix(at, "validating "), rest
	}
	path = strings.ReplaceAll(strings.ReplaceAll(path, "/properties/", "."), "/items", "[]")
	return errors.New(formatFault(strings.TrimPrefix(strings.TrimPrefix(path, "root"), "."), text))
}

const maxFaultText = 600

func malformedError(format string, args ...any) *Error {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	return &Error{Class: Malformed, Message: textkit.TruncateBytes(text, maxFaultText)}
}

// Reask appends the answer, its fault and the form of the schema to req, so that cached
// prefixes stay valid. It drops the answer's tool calls, which have no results. Repeating it
// more than once seldom helps. The result shares messages with req.
func Reask(req *Request, answer Message, err error) *Request {
	what := err.Error()
	var e *Error
	if errors.As(err, &e) {
		what = e.Message
	}
	form := "in the format that was asked for, and nothing else."
	if req.Schema != nil {
		form = "with one JSON value of this form and nothing else:\n" + req.Schema.Form()
	}
	again := *req
	again.Messages = append(slices.Clip(req.Messages), validTurn(answer), Say(User,
		"That answer cannot be used: "+what+".\nAnswer again, "+form))
	return &again
}

// validTurn returns a valid turn: without calls, never empty.
func validTurn(answer Message) Message {
	if strings.TrimSpace(answer.Text()) == "" {
		return Say(Assistant, "(no answer)")
	}
	parts := make([]Part, 0, len(answer.Parts))
	for _, p := range answer.Parts {
		if p.Call == nil && p.Result == nil {
			parts = append(parts, p)
		}
	}
	return Message{Role: Assistant, Parts: parts}
}
