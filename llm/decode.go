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

// maxAnswer bounds the answers that Decode reads, in bytes. Text that needs
// repair is bounded lower, by [MaxRepair].
const maxAnswer = 8 << 20

// Decode reads a model's answer as a T. The text may be a JSON value, or
// anything that [Repair] finds one in; of several values the first that fits the
// schema counts. Small slips are forgiven where the schema leaves no doubt:
// unknown members and nulls are dropped, a null list is empty, a number in
// quotes is a number. A nil schema only asks that the value decodes into a T.
//
// The error is an [*Error] of class Malformed. Its text is one short line that
// says what is wrong with the answer, fit to be sent to the model: see [Reask].
func Decode[T any](text string, schema *Schema) (T, error) {
	var zero T
	c, err := newChecker(schema)
	if err != nil {
		return zero, malformed("%v", err)
	}
	values, err := candidates(text)
	if err != nil {
		return zero, malformed("%v", err)
	}
	var first error
	for _, data := range values {
		v, err := decodeOne[T](data, c)
		if err == nil {
			return v, nil
		}
		first = cmp.Or(first, err)
	}
	return zero, malformed("%v", first)
}

// candidates returns the values in text that may be the answer, best first.
func candidates(text string) ([]json.RawMessage, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the answer is longer than %d MB", maxAnswer>>20)
	}
	data := []byte(text)
	if !json.Valid(data) {
		return RepairAll(text)
	}
	values := []json.RawMessage{data}
	if text[0] == '"' { // perhaps JSON in a JSON string
		var inner string
		if json.Unmarshal(data, &inner) == nil {
			more, err := RepairAll(inner)
			if err == nil {
				values = append(values, more...)
			}
		}
	}
	return values, nil
}

// decodeOne fits one value to the schema and decodes it.
func decodeOne[T any](data json.RawMessage, c *checker) (v T, err error) {
	if c != nil {
		if data, err = c.check(data); err != nil {
			return v, err
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return v, nil
}

// A checker checks values against one schema.
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

// check returns data, with small slips set right, if it fits the schema.
func (c *checker) check(data json.RawMessage) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, errors.New("the answer is not JSON")
	}
	if c.resolved.Validate(v) == nil { // as is, so that large integers keep their digits
		return data, nil
	}
	v = fit(&c.schema, v)
	err := c.resolved.Validate(v)
	if err == nil {
		return json.Marshal(v)
	}
	if list := faults(&c.schema, nil, "", v); len(list) > 0 {
		return nil, errors.New(strings.Join(list, "; "))
	}
	return nil, plainFault(err)
}

// plainFault drops from a validator's error the way it took through the schema.
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
	return errors.New(fault(strings.TrimPrefix(strings.TrimPrefix(path, "root"), "."), text))
}

// maxFaultText bounds the text of a decoding error, in bytes.
const maxFaultText = 600

// malformed returns the error of an answer that is not what was asked for.
func malformed(format string, args ...any) *Error {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	return &Error{Class: Malformed, Message: textkit.TruncateBytes(text, maxFaultText)}
}

// Reask returns req with a model's answer to it and a message that names what is
// wrong with the answer appended, so that the prefix stays cached. Asking more
// than once again is seldom worth it. Tool calls of the answer are left out, for
// nothing answers them. It shares all but the end of the messages with req.
func Reask(req *Request, answer Message, err error) *Request {
	what := err.Error()
	var e *Error
	if errors.As(err, &e) {
		what = e.Message
	}
	again := *req
	again.Messages = append(slices.Clip(req.Messages), spoken(answer), Say(User,
		"That answer cannot be used: "+what+".\nAnswer again, with one JSON value that matches the schema and nothing else."))
	return &again
}

// spoken returns an answer as it can stand in a conversation: not empty, and
// without tool calls.
func spoken(answer Message) Message {
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
