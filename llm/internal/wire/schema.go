package wire

import (
	"encoding/json"
	"strings"

	"ponder/llm"
)

// SchemaPrompt asks in words for an answer of a JSON schema, for models that
// have no better way.
func SchemaPrompt(schema json.RawMessage) string {
	return "Answer with one JSON value that is valid under the JSON schema below, and with nothing else: " +
		"no words around it, no code fence.\n\n" + Text(schema)
}

// Paragraphs joins texts that are not empty, with a blank line between.
func Paragraphs(texts ...string) string {
	var kept []string
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n\n")
}

// SchemaName returns a name for a schema that every provider takes.
func SchemaName(s *llm.Schema) string {
	name := strings.Map(func(r rune) rune {
		if keyRune(r) && r != '*' {
			return r
		}
		return '_'
	}, s.Name)
	if name == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}

// SchemaDoc returns the description of a schema, or "".
func SchemaDoc(schema json.RawMessage) string {
	o, err := ParseObject(schema)
	if err != nil {
		return ""
	}
	return o.String("description")
}

// IsObjectSchema reports whether a schema is of objects, as inputs of tools must be.
func IsObjectSchema(schema json.RawMessage) bool {
	o, err := ParseObject(schema)
	return err == nil && o.String("type") == "object"
}

// ToolName returns an id or a name as every provider takes it: letters, digits,
// _ and - only.
func ToolName(s string) string {
	for i := range len(s) {
		if !keyRune(rune(s[i])) || s[i] == '*' {
			return strings.Map(func(r rune) rune {
				if keyRune(r) && r != '*' {
					return r
				}
				return '_'
			}, s)
		}
	}
	return s
}
