package llm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaFor returns the JSON schema of T under name, in the form that every
// provider's schema mode starts from: objects allow no further properties, all
// fields are required but those with omitempty or omitzero, and nothing is
// nullable. A field's jsonschema tag is its description. The bytes depend on T
// and name alone, so prompt caches hit; compute a schema once and keep it.
//
// A field that a model may have nothing for is best marked omitempty. Maps and
// fields of type any make schemas that strict modes refuse: use lists of named
// pairs instead.
//
// SchemaFor panics if T has no schema (it is recursive, or holds channels or
// functions) or if name has anything but letters, digits, _ and -.
func SchemaFor[T any](name string) *Schema {
	if !schemaName(name) {
		panic(fmt.Sprintf("llm: schema name %q: want 1 to 64 letters, digits, _ and -", name))
	}
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("llm: schema %s: %v", name, err))
	}
	plain(s)
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("llm: schema %s: %v", name, err))
	}
	return &Schema{Name: name, JSON: data}
}

// schemaName reports whether every provider takes name as a schema's.
func schemaName(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return name != "" && len(name) <= 64 && strings.Trim(name, allowed) == ""
}

// plain removes from an inferred schema what some provider refuses: null beside
// a type, and the bounds of Go's integer types, which decoding checks anyway.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	s.Minimum, s.Maximum = nil, nil
	plain(s.Items)
	for _, p := range s.Properties {
		plain(p)
	}
	if a := s.AdditionalProperties; a != nil && a.Not == nil {
		plain(a)
	}
}
