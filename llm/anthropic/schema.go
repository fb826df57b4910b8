package anthropic

import (
	"encoding/json"

	"ponder/llm/internal/wire"
)

const maxSchemaDepth = 50

// strictSchema closes objects and drops unsupported bounds, because callers validate. It
// fails for maps with free keys and recursive schemas.
func strictSchema(schema json.RawMessage) (json.RawMessage, bool) {
	s := strictRewriter{}
	out, ok := s.rewriteSchema(schema, 0)
	if !ok || s.refs && s.defs == 0 {
		return nil, false
	}
	return out, true
}

type strictRewriter struct {
	refs bool
	defs int
}

func (s *strictRewriter) rewriteSchema(raw json.RawMessage, depth int) (json.RawMessage, bool) {
	in, err := wire.ParseObject(raw)
	if err != nil || depth > maxSchemaDepth {
		return nil, false
	}
	var out wire.Object
	for _, f := range in {
		value, keep, ok := s.rewriteField(f, depth)
		if !ok {
			return nil, false
		}
		if f.Key == "oneOf" {
			f.Key = "anyOf"
		}
		if keep {
			out.Set(f.Key, value)
		}
	}
	if in.String("type") == "object" || in.Value("properties") != nil {
		// Closing is only stricter, but a map would be empty.
		if in.Value("properties") == nil && !isClosed(in.Value("additionalProperties")) {
			return nil, false
		}
		out.Set("additionalProperties", json.RawMessage("false"))
	}
	text, err := out.MarshalJSON()
	return text, err == nil
}

func isClosed(raw json.RawMessage) bool {
	text, err := json.Marshal(raw) // compacts
	return err == nil && (string(text) == "false" || string(text) == `{"not":{}}`)
}

// rewriteField rewrites a keyword; keep reports whether the API supports it.
func (s *strictRewriter) rewriteField(f wire.Field, depth int) (value json.RawMessage, keep, ok bool) {
	switch f.Key {
	case "properties", "$defs", "definitions":
		value, ok = s.rewriteMembers(f, depth)
		return value, true, ok
	case "items":
		value, ok = s.rewriteSchema(f.Value, depth+1)
		return value, true, ok
	case "anyOf", "oneOf", "allOf":
		value, ok = wire.MapList(f.Value, func(raw json.RawMessage) (json.RawMessage, bool) { return s.rewriteSchema(raw, depth+1) })
		return value, true, ok
	case "$ref":
		s.refs = true
		return f.Value, true, depth > 0
	case "patternProperties", "propertyNames", "prefixItems", "not", "if", "then", "else", "dependentSchemas", "unevaluatedProperties":
		return nil, false, false
	case "type", "enum", "const", "required", "description", "title", "default":
		return f.Value, true, true
	}
	return nil, false, true
}

// rewriteMembers refuses definitions with references, which may recurse.
func (s *strictRewriter) rewriteMembers(f wire.Field, depth int) (json.RawMessage, bool) {
	return wire.MapObject(f.Value, func(raw json.RawMessage) (json.RawMessage, bool) {
		if f.Key == "properties" {
			return s.rewriteSchema(raw, depth+1)
		}
		s.defs++
		inner := &strictRewriter{}
		value, ok := inner.rewriteSchema(raw, depth+1)
		return value, ok && !inner.refs
	})
}
