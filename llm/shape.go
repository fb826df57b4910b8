package llm

import (
	"fmt"
	"maps"
	"math"
	"ponder/internal/textkit"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaTypes returns a schema's types; none means any.
func schemaTypes(s *jsonschema.Schema) []string {
	if s != nil && s.Type != "" {
		return []string{s.Type}
	}
	if s == nil {
		return nil
	}
	return s.Types
}

func isFalse(s *jsonschema.Schema) bool { return s != nil && s.Not != nil && len(schemaTypes(s)) == 0 }

// fitValue fixes slips, in place where possible: it drops null and unknown members, turns null
// into an empty list, and unquotes numbers and booleans.
func fitValue(s *jsonschema.Schema, v any) any {
	if s == nil {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			v[name] = fitValue(memberSchema(s, name), m)
			if isSuperfluous(memberSchema(s, name), v[name]) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = fitValue(s.Items, v[i])
		}
	case string:
		return unquoteValue(s, v)
	case nil:
		if allowsType(s, "array") && !allowsType(s, "null") {
			return []any{}
		}
	}
	return v
}

func memberSchema(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if p, ok := s.Properties[name]; ok {
		return p
	}
	return s.AdditionalProperties
}

func isSuperfluous(m *jsonschema.Schema, v any) bool {
	return isFalse(m) || v == nil && len(schemaTypes(m)) > 0 && !allowsType(m, "null")
}

// allowsType reports whether s names typ; a schema without types names none.
func allowsType(s *jsonschema.Schema, typ string) bool { return slices.Contains(schemaTypes(s), typ) }

func unquoteValue(s *jsonschema.Schema, text string) any {
	if allowsType(s, "string") || len(text) > 32 {
		return text
	}
	t := strings.ToLower(strings.TrimSpace(text))
	if allowsType(s, "boolean") && (t == "true" || t == "false") {
		return t == "true"
	}
	if f, err := strconv.ParseFloat(t, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && (allowsType(s, "number") || allowsType(s, "integer")) {
		return f
	}
	return text
}

const maxFaults = 5

func findFaults(s *jsonschema.Schema, list []string, path string, v any) []string {
	if s == nil || len(list) >= maxFaults {
		return list
	}
	if isFalse(s) {
		return append(list, formatFault(path, "is not allowed"))
	}
	if got := jsonType(v); len(schemaTypes(s)) > 0 && !allowsType(s, got) && (got != "integer" || !allowsType(s, "number")) {
		return append(list, formatFault(path, "want "+strings.Join(schemaTypes(s), " or ")+", got "+got+sampleText(v)))
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return append(list, formatFault(path, "want one of "+sampleList(s.Enum)+", got"+sampleText(v)))
	}
	switch v := v.(type) {
	case map[string]any:
		return objectFaults(s, list, path, v)
	case []any:
		for i, item := range v {
			list = findFaults(s.Items, list, path+"["+strconv.Itoa(i)+"]", item)
		}
	}
	return list
}

func objectFaults(s *jsonschema.Schema, list []string, path string, v map[string]any) []string {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok && len(list) < maxFaults {
			list = append(list, formatFault(joinPath(path, name), "is missing"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = findFaults(memberSchema(s, name), list, joinPath(path, name), v[name])
	}
	return list
}

func formatFault(path, what string) string {
	if path == "" {
		return "the answer: " + what
	}
	return path + ": " + what
}

func joinPath(path, name string) string {
	name = textkit.TruncateBytes(name, 60)
	if path == "" {
		return name
	}
	return path + "." + name
}

func jsonType(v any) string {
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

func sampleText(v any) string {
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
		parts = append(parts, strings.TrimSpace(sampleText(v)))
	}
	return strings.Join(parts, ", ")
}
