package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ponder/llm"
)

// An Object is a JSON object that keeps the order of its fields, which models follow in
// schemas.
type Object []Field

type Field struct {
	Key   string
	Value json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// ParseObject parses an object. The last of duplicate keys wins.
func ParseObject(raw []byte) (Object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	var o Object
	at := map[string]int{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		key, _ := t.(string) // the decoder accepts only string keys
		if i, twice := at[key]; twice {
			o[i].Value = v
			continue
		}
		at[key] = len(o)
		o = append(o, Field{key, v})
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	return o, nil
}

// Value returns the value of key, or nil.
func (o Object) Value(key string) json.RawMessage {
	for _, f := range o {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// String returns the string value of key, or "".
func (o Object) String(key string) string {
	var s string
	if json.Unmarshal(o.Value(key), &s) != nil {
		return ""
	}
	return s
}

// Set sets key in place, or appends it.
func (o *Object) Set(key string, value json.RawMessage) {
	for i, f := range *o {
		if f.Key == key {
			(*o)[i].Value = value
			return
		}
	}
	*o = append(*o, Field{key, value})
}

// MapObject applies f to each value. It returns false if raw is no object or f fails.
func MapObject(raw json.RawMessage, f func(json.RawMessage) (json.RawMessage, bool)) (json.RawMessage, bool) {
	o, err := ParseObject(raw)
	ok := err == nil
	for i := 0; ok && i < len(o); i++ {
		o[i].Value, ok = f(o[i].Value)
	}
	if !ok {
		return nil, false
	}
	text, err := o.MarshalJSON()
	return text, err == nil
}

// MapList is [MapObject] for a JSON list.
func MapList(raw json.RawMessage, f func(json.RawMessage) (json.RawMessage, bool)) (json.RawMessage, bool) {
	var list []json.RawMessage
	ok := json.Unmarshal(raw, &list) == nil
	for i := 0; ok && i < len(list); i++ {
		list[i], ok = f(list[i])
	}
	if !ok {
		return nil, false
	}
	text, err := json.Marshal(list)
	return text, err == nil
}

func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(f.Key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(f.Value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// SchemaPrompt asks for JSON of a schema, for models without a schema mode.
func SchemaPrompt(schema json.RawMessage) string {
	return "Answer with one JSON value that is valid under the JSON schema below, and with nothing else: " +
		"no words around it, no code fence.\n\n" + Text(schema)
}

// Paragraphs joins the texts that are not empty with blank lines.
func Paragraphs(texts ...string) string {
	var kept []string
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n\n")
}

// SchemaName returns a name that every provider accepts.
func SchemaName(s *llm.Schema) string {
	name := strings.Map(func(r rune) rune {
		if isKeyRune(r) && r != '*' {
			return r
		}
		return '_'
	}, s.Name)
	if name == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}

// SchemaDoc returns a schema's description, or "".
func SchemaDoc(schema json.RawMessage) string {
	o, err := ParseObject(schema)
	if err != nil {
		return ""
	}
	return o.String("description")
}

// IsObjectSchema reports whether a schema has type object, as tool inputs require.
func IsObjectSchema(schema json.RawMessage) bool {
	o, err := ParseObject(schema)
	return err == nil && o.String("type") == "object"
}

// ToolName returns a name that every provider accepts: letters, digits, _ and -.
func ToolName(s string) string {
	for i := range len(s) {
		if !isKeyRune(rune(s[i])) || s[i] == '*' {
			return strings.Map(func(r rune) rune {
				if isKeyRune(r) && r != '*' {
					return r
				}
				return '_'
			}, s)
		}
	}
	return s
}

// CheckVectors returns an error unless there are n vectors of equal length.
func CheckVectors(vectors [][]float32, n int) error {
	if len(vectors) != n {
		return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf("the answer has %d vectors for %d texts", len(vectors), n)}
	}
	for i, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf("the answer has no vector for text %d", i+1)}
		}
	}
	return nil
}
