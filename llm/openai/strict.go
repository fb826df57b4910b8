package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"ponder/llm/internal/wire"
)

type shape struct {
	schema  json.RawMessage
	written []byte // as encoded, or nil
	doc     string
	strict  bool // strict mode accepts it
	object  bool // of type object
	lengths bool // it bounds lengths of strings
}

type shapeKey struct {
	schema  string
	lengths bool
}

// shapes caches schemas. It is safe for concurrent use.
type shapes struct {
	mu    sync.Mutex
	known map[shapeKey]shape
}

const maxShapes = 200

// lookupShape returns the shape of a schema, with or without its bounds of lengths.
func (s *shapes) lookupShape(schema json.RawMessage, lengths bool) shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := shapeKey{string(schema), lengths}
	if known, ok := s.known[key]; ok {
		return known
	}
	out := shape{schema: schema, doc: wire.SchemaDoc(schema), object: wire.IsObjectSchema(schema)}
	if enforced, ok := strictSchema(schema, lengths); ok {
		out.schema, out.strict = enforced, true
	}
	out.lengths = bytes.Contains(out.schema, []byte(`"minLength"`)) || bytes.Contains(out.schema, []byte(`"maxLength"`))
	if js, err := wire.Body(out.schema); err == nil {
		out.written = js
	}
	if s.known == nil || len(s.known) >= maxShapes {
		s.known = map[shapeKey]shape{}
	}
	s.known[key] = out
	return out
}

// lookupShape returns the shape of a schema, with bounds of lengths if the host may accept them.
func (m *model) lookupShape(p *plan, schema json.RawMessage, without feature) shape {
	if m.host.lengths && without&featLengths == 0 {
		if s := m.shapes.lookupShape(schema, true); s.lengths {
			p.uses |= featLengths
			return s
		}
	}
	return m.shapes.lookupShape(schema, false)
}

const maxSchemaDepth = 60

// strictSchema closes every object and requires every field. Optional fields become
// nullable; llm.Decode drops the nulls. It drops unsupported bounds, because callers
// validate. It fails for maps with free keys and conditions.
func strictSchema(schema json.RawMessage, lengths bool) (json.RawMessage, bool) {
	w := strictWriter{lengths: lengths}
	return w.strict(schema, 0)
}

// A strictWriter writes strict schemas.
type strictWriter struct {
	lengths bool // it keeps bounds of lengths
}

func (w strictWriter) strict(raw json.RawMessage, depth int) (json.RawMessage, bool) {
	in, err := wire.ParseObject(raw)
	if err != nil || depth > maxSchemaDepth {
		return nil, false
	}
	var out wire.Object
	for _, f := range in {
		if !w.writeField(&out, f, depth) {
			return nil, false
		}
	}
	if in.String("type") == "object" || in.Value("properties") != nil {
		if !closeObject(&out, in) {
			return nil, false
		}
	}
	text, err := out.MarshalJSON()
	return text, err == nil
}

func (w strictWriter) writeField(out *wire.Object, f wire.Field, depth int) bool {
	inner := func(raw json.RawMessage) (json.RawMessage, bool) { return w.strict(raw, depth+1) }
	switch f.Key {
	case "properties", "$defs", "definitions":
		members, ok := wire.MapObject(f.Value, inner)
		out.Set(f.Key, members)
		return ok
	case "items":
		items, ok := inner(f.Value)
		out.Set(f.Key, items)
		return ok
	case "anyOf", "oneOf":
		list, ok := wire.MapList(f.Value, inner)
		out.Set("anyOf", list)
		return ok
	case "allOf", "not", "if", "then", "else", "patternProperties", "propertyNames", "prefixItems", "dependentRequired",
		"dependentSchemas", "unevaluatedProperties", "contains":
		return false
	case "type", "enum", "const", "$ref", "description", "title", "pattern", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "minItems", "maxItems":
		out.Set(f.Key, f.Value)
	case "minLength", "maxLength":
		if w.lengths {
			out.Set(f.Key, f.Value)
		}
	case "format":
		known := []string{`"date-time"`, `"time"`, `"date"`, `"duration"`, `"email"`, `"hostname"`, `"ipv4"`, `"ipv6"`, `"uuid"`}
		if slices.Contains(known, string(f.Value)) {
			out.Set(f.Key, f.Value)
		}
	}
	return true
}

func closeObject(out *wire.Object, in wire.Object) bool {
	if more := in.Value("additionalProperties"); more != nil && !forbidsExtra(more) {
		return false
	}
	var required []string
	if raw := in.Value("required"); raw != nil && json.Unmarshal(raw, &required) != nil {
		return false
	}
	members, err := wire.ParseObject(out.Value("properties"))
	if err != nil {
		return false // unspecified
	}
	required = slices.DeleteFunc(required, func(name string) bool { return members.Value(name) == nil })
	for i, f := range members {
		if !slices.Contains(required, f.Key) {
			required = append(required, f.Key)
			members[i].Value = makeNullable(f.Value)
		}
	}
	if required == nil {
		required = []string{} // without fields
	}
	text, err := members.MarshalJSON()
	if err != nil {
		return false
	}
	list, err := json.Marshal(required)
	out.Set("properties", text)
	out.Set("additionalProperties", json.RawMessage("false"))
	out.Set("required", list)
	return err == nil
}

func forbidsExtra(raw json.RawMessage) bool {
	var b bool
	if json.Unmarshal(raw, &b) == nil {
		return !b
	}
	in, err := wire.ParseObject(raw)
	if err != nil || len(in) != 1 {
		return false
	}
	not, err := wire.ParseObject(in.Value("not"))
	return err == nil && len(not) == 0
}

func makeNullable(raw json.RawMessage) json.RawMessage {
	in, err := wire.ParseObject(raw)
	if err != nil {
		return raw
	}
	var types []string
	var one string
	if json.Unmarshal(in.Value("type"), &one) == nil {
		types = []string{one}
	} else if json.Unmarshal(in.Value("type"), &types) != nil {
		types = nil
	}
	if types == nil || in.Value("enum") != nil || in.Value("const") != nil {
		return json.RawMessage(`{"anyOf":[` + string(raw) + `,{"type":"null"}]}`)
	}
	if !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	list, err := json.Marshal(types)
	if err != nil {
		return raw
	}
	in.Set("type", list)
	text, err := in.MarshalJSON()
	if err != nil {
		return raw
	}
	return text
}
