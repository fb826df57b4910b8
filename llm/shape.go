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

// typesOf returns a schema's types; none means any.
func typesOf(s *jsonschema.Schema) []string {
	if s != nil && s.Type != "" {
		return []string{s.Type}
	}
	if s == nil {
		return nil
	}
	return s.Types
}

func isFalse(s *jsonschema.Schema) bool { return s != nil && s.Not != nil && len(typesOf(s)) == 0 }

// fit fixes slips, in place where possible: it drops null and unknown members, turns null
// into an empty list, and unquotes numbers and booleans.
func fit(s *jsonschema.Schema, v any) any {
	if s == nil {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			v[name] = fit(member(s, name), m)
			if superfluous(member(s, name), v[name]) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = fit(s.Items, v[i])
		}
	case string:
		return unquote(s, v)
	case nil:
		if wants(s, "array") && !wants(s, "null") {
			return []any{}
		}
	}
	return v
}

func member(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if p, ok := s.Properties[name]; ok {
		return p
	}
	return s.AdditionalProperties
}

func superfluous(m *jsonschema.Schema, v any) bool {
	return isFalse(m) || v == nil && len(typesOf(m)) > 0 && !wants(m, "null")
}

// wants reports whether s names typ; a schema without types names none.
func wants(s *jsonschema.Schema, typ string) bool { return slices.Contains(typesOf(s), typ) }

func unquote(s *jsonschema.Schema, text string) any {
	if wants(s, "string") || len(text) > 32 {
		return text
	}
	t := strings.ToLower(strings.TrimSpace(text))
	if wants(s, "boolean") && (t == "true" || t == "false") {
		return t == "true"
	}
	if f, err := strconv.ParseFloat(t, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && (wants(s, "number") || wants(s, "integer")) {
		return f
	}
	return text
}

const maxFaults = 5

func faults(s *jsonschema.Schema, list []string, path string, v any) []string {
	if s == nil || len(list) >= maxFaults {
		return list
	}
	if isFalse(s) {
		return append(list, fault(path, "is not allowed"))
	}
	if got := typeOf(v); len(typesOf(s)) > 0 && !wants(s, got) && (got != "integer" || !wants(s, "number")) {
		return append(list, fault(path, "want "+strings.Join(typesOf(s), " or ")+", got "+got+sample(v)))
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return append(list, fault(path, "want one of "+sampleList(s.Enum)+", got"+sample(v)))
	}
	switch v := v.(type) {
	case map[string]any:
		return objectFaults(s, list, path, v)
	case []any:
		for i, item := range v {
			list = faults(s.Items, list, path+"["+strconv.Itoa(i)+"]", item)
		}
	}
	return list
}

func objectFaults(s *jsonschema.Schema, list []string, path string, v map[string]any) []string {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok && len(list) < maxFaults {
			list = append(list, fault(join(path, name), "is missing"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = faults(member(s, name), list, join(path, name), v[name])
	}
	return list
}

func fault(path, what string) string {
	if path == "" {
		return "the answer: " + what
	}
	return path + ": " + what
}

func join(path, name string) string {
	name = textkit.TruncateBytes(name, 60)
	if path == "" {
		return name
	}
	return path + "." + name
}

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
