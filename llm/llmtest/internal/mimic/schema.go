package mimic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A schema has what filling needs, in all providers' dialects.
type schema struct {
	Type             types              `json:"type"`
	Properties       properties         `json:"properties"`
	Required         []string           `json:"required"`
	Items            *schema            `json:"items"`
	Enum             []json.RawMessage  `json:"enum"`
	Const            json.RawMessage    `json:"const"`
	AnyOf            []*schema          `json:"anyOf"`
	OneOf            []*schema          `json:"oneOf"`
	AllOf            []*schema          `json:"allOf"`
	Ref              string             `json:"$ref"`
	Defs             map[string]*schema `json:"$defs"`
	Definitions      map[string]*schema `json:"definitions"`
	Minimum          *float64           `json:"minimum"`
	Maximum          *float64           `json:"maximum"`
	ExclusiveMinimum *float64           `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64           `json:"exclusiveMaximum"`
	MultipleOf       float64            `json:"multipleOf"`
	MinItems         *int               `json:"minItems"`
	MaxItems         *int               `json:"maxItems"`
	UniqueItems      bool               `json:"uniqueItems"`
	MinLength        *int               `json:"minLength"`
	MaxLength        *int               `json:"maxLength"`
	Format           string             `json:"format"`
}

const (
	maxSchema  = 1 << 20 // bytes
	maxNesting = 200
)

// schemaCache schemas are immutable.
var schemaCache Memo[*schema]

func compileSchema(text json.RawMessage) (*schema, error) {
	if s, ok := schemaCache.Load(text); ok {
		return s, nil
	}
	if len(text) > maxSchema || bracketDepth(text) > maxNesting {
		return nil, errors.New("read schema: too big")
	}
	s := new(schema)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	schemaCache.Store(text, s)
	return s, nil
}

// bracketDepth returns an upper bound of the bracket depth.
func bracketDepth(text []byte) (deepest int) {
	depth := 0
	for _, c := range text {
		switch c {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// UnmarshalJSON accepts a boolean as well.
func (s *schema) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] != '{' {
		return nil
	}
	type plain schema
	return json.Unmarshal(b, (*plain)(s))
}

type types []string

// UnmarshalJSON accepts a name or list.
func (t *types) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		if err := json.Unmarshal(b, (*[]string)(t)); err != nil {
			return err
		}
	} else {
		*t = types{""}
		if err := json.Unmarshal(b, &(*t)[0]); err != nil {
			return err
		}
	}
	for i := range *t {
		(*t)[i] = strings.ToLower((*t)[i])
	}
	return nil
}

type property struct {
	name   string
	schema *schema
}

type properties []property

// UnmarshalJSON keeps the order.
func (p *properties) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(errors.New("properties are not an object"), err)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		s := new(schema)
		if err := d.Decode(s); err != nil {
			return err
		}
		*p = append(*p, property{name, s})
	}
	return nil
}

// valueType returns the type to write: null only if it is the only type, or if brief.
func (s *schema) valueType(brief bool) string {
	if brief && slices.Contains(s.Type, "null") {
		return "null"
	}
	for _, t := range s.Type {
		if t != "null" {
			return t
		}
	}
	switch {
	case len(s.Type) > 0:
		return "null"
	case len(s.Properties) > 0:
		return "object"
	case s.Items != nil:
		return "array"
	case s.lowerBound() != nil || s.upperBound() != nil:
		return "number"
	}
	return "string"
}

func (s *schema) lowerBound() *float64 {
	if s.Minimum != nil {
		return s.Minimum
	}
	return s.ExclusiveMinimum
}

func (s *schema) upperBound() *float64 {
	if s.Maximum != nil {
		return s.Maximum
	}
	return s.ExclusiveMaximum
}

// resolveSchema follows references and choices. It may return nil.
func (f *filler) resolveSchema(s *schema) *schema {
	for range maxDepth {
		switch {
		case s == nil:
			return &schema{Type: types{"string"}}
		case s.Ref != "":
			s = f.lookupRef(s.Ref)
			if s == nil {
				return nil
			}
		case len(s.AnyOf) > 0:
			s = f.chooseSchema(s.AnyOf)
		case len(s.OneOf) > 0:
			s = f.chooseSchema(s.OneOf)
		case len(s.AllOf) > 0:
			s = mergeAllOf(s)
		default:
			return s
		}
	}
	return nil
}

func (f *filler) lookupRef(ref string) *schema {
	if ref == "#" {
		return f.root
	}
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	if s := f.root.Defs[name]; s != nil {
		return s
	}
	return f.root.Definitions[name]
}

// chooseSchema picks a schema, preferably not null.
func (f *filler) chooseSchema(of []*schema) *schema {
	s := pickRandom(f.w, of)
	for _, o := range of {
		if s == nil || len(s.Type) == 1 && s.Type[0] == "null" {
			s = o
		}
	}
	return s
}

func mergeAllOf(s *schema) *schema {
	all := *s
	all.AllOf = nil
	for _, p := range s.AllOf {
		if p == nil {
			continue
		}
		all.Properties = append(slices.Clip(all.Properties), p.Properties...)
		all.Required = append(slices.Clip(all.Required), p.Required...)
		if len(all.Type) == 0 {
			all.Type = p.Type
		}
		all.Ref = cmp.Or(all.Ref, p.Ref)
	}
	return &all
}

// findSchema finds the last object with properties.
func findSchema(texts ...string) json.RawMessage {
	for _, text := range texts {
		at := strings.LastIndex(text, `"properties"`)
		for tries := 0; at > 0 && tries < 200; tries++ {
			if at = strings.LastIndexByte(text[:at], '{'); at < 0 {
				break
			}
			var raw json.RawMessage
			if json.NewDecoder(strings.NewReader(text[at:])).Decode(&raw) != nil {
				continue
			}
			if s, err := compileSchema(raw); err == nil && len(s.Properties) > 0 && isOutermost(text[:at]) {
				return raw
			}
		}
	}
	return nil
}

// isOutermost reports whether s does not end inside a schema.
func isOutermost(s string) bool {
	s = strings.TrimRight(s, " \t\r\n")
	return s == "" || !strings.HasSuffix(s, `":`) && !strings.ContainsAny(s[len(s)-1:], "[,{")
}
