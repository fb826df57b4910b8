package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"ponder/internal/textkit"
	"slices"
	"strconv"
	"strings"
)

// A shape is the part of JSON Schema that [SchemaFor] makes. It is read anew for
// each answer, which takes a tenth of what the full validator needs to resolve a
// schema, and it says all that is wrong with an answer in terms of the answer.
type shape struct {
	never      bool // the schema false
	types      []string
	properties map[string]*shape
	required   []string
	items      *shape
	additional *shape
	enum       []any
}

// errKeyword says that a schema has more than a shape holds.
var errKeyword = errors.New("schema has other keywords")

// UnmarshalJSON reads a schema, or returns errKeyword.
func (s *shape) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return errKeyword
	case data[0] == 't':
		return nil
	case data[0] == 'f':
		s.never = true
		return nil
	}
	var raw struct {
		Type                 json.RawMessage   `json:"type"`
		Properties           map[string]*shape `json:"properties"`
		Required             []string          `json:"required"`
		Items                *shape            `json:"items"`
		AdditionalProperties *shape            `json:"additionalProperties"`
		Enum                 []any             `json:"enum"`
		Description          string            `json:"description"`
		Title                string            `json:"title"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&raw); err != nil {
		return errKeyword
	}
	*s = shape{properties: raw.Properties, required: raw.Required, items: raw.Items,
		additional: raw.AdditionalProperties, enum: raw.Enum}
	return s.readType(raw.Type)
}

func (s *shape) readType(data json.RawMessage) error {
	switch {
	case len(data) == 0:
		return nil
	case data[0] == '"':
		s.types = []string{""}
		return json.Unmarshal(data, &s.types[0])
	default:
		return json.Unmarshal(data, &s.types)
	}
}

// fit returns v with what a schema can settle by itself set right, in place
// where it can: members that are null or unknown where the schema allows neither
// are dropped, null for a list is the empty list, and a number or a truth value
// in quotes is one without.
func (s *shape) fit(v any) any {
	if s == nil {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			v[name] = s.member(name).fit(m)
			if s.superfluous(name, v[name]) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = s.items.fit(v[i])
		}
	case string:
		return s.unquote(v)
	case nil:
		if s.wants("array") && !s.wants("null") {
			return []any{}
		}
	}
	return v
}

// member returns the shape of a member of an object, nil for any.
func (s *shape) member(name string) *shape {
	if p, ok := s.properties[name]; ok {
		return p
	}
	return s.additional
}

// superfluous reports whether an object is better off without a member.
func (s *shape) superfluous(name string, v any) bool {
	m := s.member(name)
	if m == nil {
		return false
	}
	return m.never || v == nil && len(m.types) > 0 && !m.wants("null")
}

// wants reports whether s names a type. Without types it allows all, and wants none.
func (s *shape) wants(typ string) bool { return slices.Contains(s.types, typ) }

// unquote returns the number or truth value in text if s wants one and no string.
func (s *shape) unquote(text string) any {
	if s.wants("string") || len(text) > 32 {
		return text
	}
	t := strings.ToLower(strings.TrimSpace(text))
	if s.wants("boolean") && (t == "true" || t == "false") {
		return t == "true"
	}
	if f, err := strconv.ParseFloat(t, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && (s.wants("number") || s.wants("integer")) {
		return f
	}
	return text
}

// maxFaults bounds how many faults one message names.
const maxFaults = 5

// faults appends what is wrong with v, which is at path in the answer.
func (s *shape) faults(list []string, path string, v any) []string {
	if s == nil || len(list) >= maxFaults {
		return list
	}
	if s.never {
		return append(list, fault(path, "is not allowed"))
	}
	if got := typeOf(v); len(s.types) > 0 && !s.wants(got) && (got != "integer" || !s.wants("number")) {
		return append(list, fault(path, "want "+strings.Join(s.types, " or ")+", got "+got+sample(v)))
	}
	if len(s.enum) > 0 && !slices.ContainsFunc(s.enum, func(e any) bool { return same(e, v) }) {
		return append(list, fault(path, "want one of "+sampleList(s.enum)+", got"+sample(v)))
	}
	switch v := v.(type) {
	case map[string]any:
		return s.objectFaults(list, path, v)
	case []any:
		for i, item := range v {
			list = s.items.faults(list, path+"["+strconv.Itoa(i)+"]", item)
		}
	}
	return list
}

func (s *shape) objectFaults(list []string, path string, v map[string]any) []string {
	for _, name := range s.required {
		if _, ok := v[name]; !ok && len(list) < maxFaults {
			list = append(list, fault(join(path, name), "is missing"))
		}
	}
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list = s.member(name).faults(list, join(path, name), v[name])
	}
	return list
}

// fault says what is wrong at path.
func fault(path, what string) string {
	if path == "" {
		return "the answer: " + what
	}
	return path + ": " + what
}

// join returns the path of a member.
func join(path, name string) string {
	name = textkit.TruncateBytes(name, 60)
	if path == "" {
		return name
	}
	return path + "." + name
}

// typeOf names the JSON type of a decoded value.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// same reports whether two decoded values are equal. Enums hold no containers.
func same(a, b any) bool {
	switch a.(type) {
	case []any, map[string]any:
		return false
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// sample shows a scalar.
func sample(v any) string {
	switch v := v.(type) {
	case string:
		return " " + strconv.Quote(textkit.TruncateBytes(v, 40))
	case float64, bool:
		return fmt.Sprintf(" %v", v)
	}
	return ""
}

func sampleList(values []any) string {
	var parts []string
	for _, v := range values[:min(len(values), 20)] {
		parts = append(parts, strings.TrimSpace(sample(v)))
	}
	return strings.Join(parts, ", ")
}
