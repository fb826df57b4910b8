package llm

import (
	"encoding/json"
	"fmt"
	"reflect"
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
