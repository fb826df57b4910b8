package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"ponder/llm/internal/wire"
)

const (
	maxSchemaDepth = 30

	// with references, in bytes
	maxSchemaSize = 256 << 10
)

// ownSchema rewrites a schema in Gemini's OpenAPI dialect: with upper-case types,
// nullable, expanded references and supported keywords only. Recursion ends in an
// arbitrary object. It fails if the schema is unreadable.
func ownSchema(schema json.RawMessage) (json.RawMessage, bool) {
	d := dialect{own: true}
	return d.rewriteSchema(schema)
}

// plainSchema only expands references and drops unsupported keywords.
func plainSchema(schema json.RawMessage) (json.RawMessage, bool) {
	d := dialect{}
	return d.rewriteSchema(schema)
}

// toolParameters returns nil for an object without fields, which the API refuses.
func toolParameters(schema json.RawMessage) json.RawMessage {
	o, err := wire.ParseObject(schema)
	if err != nil || o.Value("properties") == nil && o.String("type") == "OBJECT" {
		return nil
	}
	return schema
}

type dialect struct {
	own  bool
	root wire.Object // target of references
	size int
}

func (d *dialect) rewriteSchema(schema json.RawMessage) (json.RawMessage, bool) {
	root, err := wire.ParseObject(schema)
	if err != nil || len(schema) > maxSchemaSize {
		return nil, false
	}
	d.root = root
	return d.rewriteObject(root, nil, 0)
}

// rewriteObject rewrites a schema; open are the enclosing references.
func (d *dialect) rewriteObject(in wire.Object, open []string, depth int) (json.RawMessage, bool) {
	if ref := in.String("$ref"); ref != "" {
		if slices.Contains(open, ref) || depth > maxSchemaDepth {
			return d.anySchema(), true
		}
		target, ok := d.findRef(ref)
		if !ok {
			return d.anySchema(), true
		}
		if doc := in.Value("description"); doc != nil {
			target.Set("description", doc)
		}
		return d.rewriteObject(target, append(slices.Clip(open), ref), depth+1)
	}
	if depth > maxSchemaDepth {
		return d.anySchema(), true
	}
	var out wire.Object
	for _, f := range in {
		if !d.rewriteField(&out, f, open, depth) {
			return nil, false
		}
	}
	text, err := out.MarshalJSON()
	d.size += len(text)
	return text, err == nil && d.size <= maxSchemaSize
}

// anySchema replaces recursive and external references.
func (d *dialect) anySchema() json.RawMessage {
	if d.own {
		return json.RawMessage(`{"type":"OBJECT"}`)
	}
	return json.RawMessage(`{"type":"object"}`)
}

func (d *dialect) findRef(ref string) (wire.Object, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	at := d.root
	for _, key := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if key == "" {
			continue
		}
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		next, err := wire.ParseObject(at.Value(key))
		if err != nil {
			return nil, false
		}
		at = next
	}
	return slices.Clone(at), true
}

func (d *dialect) rewriteField(out *wire.Object, f wire.Field, open []string, depth int) bool {
	switch f.Key {
	case "type":
		return d.rewriteType(out, f.Value)
	case "properties":
		return d.rewriteMembers(out, f, open, depth)
	case "items":
		inner, ok := d.rewriteNested(f.Value, open, depth)
		out.Set("items", inner)
		return ok
	case "anyOf", "oneOf":
		return d.rewriteAlternatives(out, f.Value, open, depth)
	case "const":
		return d.rewriteConst(out, f.Value)
	case "enum":
		return d.rewriteEnum(out, f.Value)
	case "additionalProperties":
		return d.own || d.rewriteAdditional(out, f.Value, open, depth)
	case "format":
		d.rewriteFormat(out, f)
	case "description", "title", "required", "minItems", "maxItems", "minimum", "maximum", "propertyOrdering":
		out.Set(f.Key, f.Value)
	case "minLength", "maxLength", "pattern", "minProperties", "maxProperties", "nullable":
		if d.own {
			out.Set(f.Key, f.Value)
		}
	case "allOf", "not", "if", "then", "else", "patternProperties", "prefixItems":
		// The API refuses these. Callers validate the answer.
	}
	return true
}

func (d *dialect) rewriteAdditional(out *wire.Object, raw json.RawMessage, open []string, depth int) bool {
	inner, ok := d.rewriteNested(raw, open, depth)
	if isBool(raw) {
		inner = raw
	} else if in, err := wire.ParseObject(raw); err == nil && len(in) == 1 && in.Value("not") != nil {
		inner = json.RawMessage("false")
	}
	out.Set("additionalProperties", inner)
	return ok
}

func isBool(raw json.RawMessage) bool {
	var b bool
	return json.Unmarshal(raw, &b) == nil
}

// rewriteFormat keeps the formats that the API supports.
func (d *dialect) rewriteFormat(out *wire.Object, f wire.Field) {
	var format string
	if json.Unmarshal(f.Value, &format) != nil {
		return
	}
	known := []string{"date-time", "enum", "float", "double", "int32", "int64"}
	if !d.own {
		known = []string{"date-time", "date", "time"}
	}
	if slices.Contains(known, format) {
		out.Set(f.Key, f.Value)
	}
}

func (d *dialect) rewriteType(out *wire.Object, raw json.RawMessage) bool {
	if !d.own {
		out.Set("type", raw)
		return true
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		out.Set("type", quoteName(strings.ToUpper(one)))
		return true
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return false
	}
	var kept []string
	for _, t := range many {
		if t == "null" {
			out.Set("nullable", json.RawMessage("true"))
		} else {
			kept = append(kept, strings.ToUpper(t))
		}
	}
	switch len(kept) {
	case 0:
		out.Set("type", quoteName("NULL"))
	case 1:
		out.Set("type", quoteName(kept[0]))
	default:
		var each []json.RawMessage
		for _, t := range kept {
			each = append(each, json.RawMessage(`{"type":`+string(quoteName(t))+`}`))
		}
		return setJSON(out, "anyOf", each)
	}
	return true
}

func quoteName(s string) json.RawMessage { return json.RawMessage(`"` + wire.ToolName(s) + `"`) }

func setJSON(out *wire.Object, key string, v any) bool {
	text, err := json.Marshal(v)
	out.Set(key, text)
	return err == nil
}

func (d *dialect) rewriteMembers(out *wire.Object, f wire.Field, open []string, depth int) bool {
	members, ok := wire.MapObject(f.Value, func(raw json.RawMessage) (json.RawMessage, bool) { return d.rewriteNested(raw, open, depth) })
	if string(members) != "{}" { // the API refuses an empty set
		out.Set("properties", members)
	}
	return ok
}

// rewriteNested rewrites a nested schema. The schema true allows any value.
func (d *dialect) rewriteNested(raw json.RawMessage, open []string, depth int) (json.RawMessage, bool) {
	if isBool(raw) {
		return json.RawMessage("{}"), true
	}
	in, err := wire.ParseObject(raw)
	if err != nil {
		return nil, false
	}
	return d.rewriteObject(in, open, depth+1)
}

// rewriteAlternatives rewrites anyOf. In the own dialect, null becomes nullable and a single
// alternative is inlined.
func (d *dialect) rewriteAlternatives(out *wire.Object, raw json.RawMessage, open []string, depth int) bool {
	var in, kept []json.RawMessage
	if json.Unmarshal(raw, &in) != nil {
		return false
	}
	for _, alt := range in {
		inner, ok := d.rewriteNested(alt, open, depth)
		if !ok {
			return false
		}
		if d.own && string(inner) == `{"type":"NULL"}` {
			out.Set("nullable", json.RawMessage("true"))
			continue
		}
		kept = append(kept, inner)
	}
	if d.own && len(kept) == 1 {
		only, err := wire.ParseObject(kept[0])
		for _, f := range only {
			out.Set(f.Key, f.Value)
		}
		return err == nil
	}
	return setJSON(out, "anyOf", kept)
}

func (d *dialect) rewriteConst(out *wire.Object, raw json.RawMessage) bool {
	return d.rewriteEnum(out, json.RawMessage("["+string(raw)+"]"))
}

// rewriteEnum keeps only lists of strings in the own dialect.
func (d *dialect) rewriteEnum(out *wire.Object, raw json.RawMessage) bool {
	var values []any
	if json.Unmarshal(raw, &values) != nil {
		return false
	}
	var kept []string
	for _, v := range values {
		switch v := v.(type) {
		case string:
			kept = append(kept, v)
		case nil:
			if d.own {
				out.Set("nullable", json.RawMessage("true"))
			}
		default:
			if !d.own {
				out.Set("enum", raw)
			}
			return true
		}
	}
	if !d.own {
		out.Set("enum", raw)
		return true
	}
	if len(kept) == 0 {
		return true
	}
	if out.Value("type") == nil {
		out.Set("type", quoteName("STRING"))
	}
	return setJSON(out, "enum", kept)
}
