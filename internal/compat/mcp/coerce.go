package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Models often write the arguments of a tool as text: "3" for a number, "true" for a boolean, and a
// list or an object as JSON text. coerceArguments converts them to the types of the schema.

// coerceArguments returns js with values of the schema's types, where a value has only one meaning.
// It returns other values unchanged, so that validation reports them.
func coerceArguments(schema *jsonschema.Schema, js json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(js))
	d.UseNumber()
	var value any
	if schema == nil || d.Decode(&value) != nil {
		return js
	}
	value, changed := coerceValue(schema, value)
	if !changed {
		return js
	}
	out, err := json.Marshal(value)
	if err != nil {
		return js
	}
	return out
}

func coerceValue(schema *jsonschema.Schema, value any) (_ any, changed bool) {
	types := slices.DeleteFunc(append(slices.Clone(schema.Types), schema.Type), func(t string) bool { return t == "" || t == "null" })
	if len(types) == 1 {
		value, changed = coerceTo(types[0], value)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, one := range v {
			property := schema.Properties[name]
			if property == nil {
				continue
			}
			if one == nil && !allowsNull(property) && !slices.Contains(schema.Required, name) {
				delete(v, name) // as if omitted
				changed = true
				continue
			}
			if other, did := coerceValue(property, one); did {
				v[name], changed = other, true
			}
		}
	case []any:
		for i, one := range v {
			if schema.Items == nil {
				break
			}
			if other, did := coerceValue(schema.Items, one); did {
				v[i], changed = other, true
			}
		}
	}
	return value, changed
}

func allowsNull(schema *jsonschema.Schema) bool {
	return schema.Type == "null" || slices.Contains(schema.Types, "null") || schema.Type == "" && len(schema.Types) == 0
}

// coerceTo converts a scalar, or text with JSON, to a type.
func coerceTo(kind string, value any) (any, bool) {
	text, isText := value.(string)
	text = strings.TrimSpace(text)
	switch number, isNumber := value.(json.Number); {
	case kind == "integer" && isNumber:
		return wholeNumber(number)
	case !isText:
	case kind == "boolean":
		if b, err := strconv.ParseBool(strings.ToLower(text)); err == nil && len(text) > 1 {
			return b, true
		}
	case kind == "integer" || kind == "number":
		var parsed json.Number
		if json.Unmarshal([]byte(text), &parsed) != nil || text == "" || text[0] == '"' {
			break
		}
		if kind == "integer" {
			whole, _ := wholeNumber(parsed)
			return whole, true
		}
		return parsed, true
	case kind == "array" || kind == "object":
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var parsed any
		if strings.HasPrefix(text, map[string]string{"array": "[", "object": "{"}[kind]) && d.Decode(&parsed) == nil && !d.More() {
			return parsed, true
		}
		if kind == "array" && text != "" {
			return []any{value}, true
		}
	}
	return value, false
}

// wholeNumber returns 3 for 3.0.
func wholeNumber(n json.Number) (json.Number, bool) {
	const limit = 1 << 53
	if _, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return n, false
	}
	f, err := n.Float64()
	if err != nil || f != float64(int64(f)) || f > limit || f < -limit {
		return n, false
	}
	return json.Number(strconv.FormatInt(int64(f), 10)), true
}
