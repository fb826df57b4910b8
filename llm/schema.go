package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaFor returns T's JSON schema, a base for every schema mode. Objects are closed,
// fields without omitempty or omitzero required, and nothing is nullable. jsonschema tags
// are descriptions; see [applyTags] for the tags enum and bounds. The bytes depend only on T and name, so prompt caches hit; compute it
// once.
//
// Mark optional fields omitempty. Strict modes refuse maps and any; use lists of named
// pairs.
//
// SchemaFor panics if T has no schema (recursion, channels, functions) or name is not 1
// to 64 letters, digits, _ and -.
func SchemaFor[T any](name string) *Schema {
	if !isSchemaName(name) {
		panic(fmt.Sprintf("llm: schema name %q: want 1 to 64 letters, digits, _ and -", name))
	}
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("llm: schema %s: %v", name, err))
	}
	simplifySchema(s)
	applyTags(s, reflect.TypeFor[T]())
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("llm: schema %s: %v", name, err))
	}
	return &Schema{Name: name, JSON: data}
}

func isSchemaName(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return name != "" && len(name) <= 64 && strings.Trim(name, allowed) == ""
}

// simplifySchema removes nullable types and integer ranges, which some providers refuse.
func simplifySchema(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	s.Minimum, s.Maximum = nil, nil
	simplifySchema(s.Items)
	for _, p := range s.Properties {
		simplifySchema(p)
	}
	if a := s.AdditionalProperties; a != nil && a.Not == nil {
		simplifySchema(a)
	}
}

// maxFormDepth limits the depth of a form.
const maxFormDepth = 6

// Form returns the form of the schema's values in one line, for models:
// {"thoughts":[{"thought":"...","type":"insight or critique","confidence":0.0}]}.
func (s *Schema) Form() string {
	var v jsonschema.Schema
	if json.Unmarshal(s.JSON, &v) != nil {
		return string(s.JSON)
	}
	return string(appendForm(nil, &v, 0))
}

func appendForm(b []byte, s *jsonschema.Schema, depth int) []byte {
	types := schemaTypes(s)
	switch {
	case s == nil || len(types) == 0 || depth > maxFormDepth:
		return append(b, `"..."`...)
	case slices.Contains(types, "object"):
		b = append(b, '{')
		for i, name := range memberNames(s) {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendQuote(b, name)
			b = appendForm(append(b, ':'), s.Properties[name], depth+1)
		}
		return append(b, '}')
	case slices.Contains(types, "array"):
		return append(appendForm(append(b, '['), s.Items, depth+1), ']')
	case slices.Contains(types, "string"):
		var values []string
		for _, e := range s.Enum {
			if text, ok := e.(string); ok {
				values = append(values, text)
			}
		}
		return strconv.AppendQuote(b, cmp.Or(strings.Join(values, " or "), "..."))
	case slices.Contains(types, "number"):
		return append(b, "0.0"...)
	case slices.Contains(types, "integer"):
		return append(b, '0')
	}
	return append(b, "false"...)
}

// memberNames returns the members of an object, required ones first and in their order.
func memberNames(s *jsonschema.Schema) []string {
	names := slices.Clone(s.Required)
	for _, name := range slices.Concat(s.PropertyOrder, slices.Sorted(maps.Keys(s.Properties))) {
		if s.Properties[name] != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
