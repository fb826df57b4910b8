package llm

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// applyTags applies the tags enum and bounds of t's fields to its schema:
//
//	Kind string   `json:"kind" enum:"insight,critique"`
//	Sure float64  `json:"sure" bounds:"0,1"`   // minimum and maximum
//	Why  string   `json:"why" bounds:"10"`     // minLength
//	List []string `json:"list" bounds:"1,5"`   // minItems and maxItems
//
// Adapters drop the keywords that their provider refuses.
func applyTags(s *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			applyTags(s.Items, t.Elem())
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			p := s.Properties[name]
			if f.Anonymous || p == nil {
				continue
			}
			applyTags(p, f.Type)
			applyFieldTags(p, f)
		}
	}
}

func applyFieldTags(p *jsonschema.Schema, f reflect.StructField) {
	if values := f.Tag.Get("enum"); values != "" {
		for v := range strings.SplitSeq(values, ",") {
			p.Enum = append(p.Enum, v)
		}
	}
	bounds := f.Tag.Get("bounds")
	if bounds == "" {
		return
	}
	low, high, hasHigh := strings.Cut(bounds, ",")
	lo, err := strconv.ParseFloat(low, 64)
	hi, errHigh := lo, error(nil)
	if hasHigh {
		hi, errHigh = strconv.ParseFloat(high, 64)
	}
	if err != nil || errHigh != nil || hi < lo {
		panic(fmt.Sprintf("llm: field %s has the bounds %q", f.Name, bounds))
	}
	least, most := int(lo), int(hi)
	switch p.Type {
	case "number", "integer":
		if p.Minimum = &lo; hasHigh {
			p.Maximum = &hi
		}
	case "array":
		if p.MinItems = &least; hasHigh {
			p.MaxItems = &most
		}
	case "string":
		if p.MinLength = &least; hasHigh {
			p.MaxLength = &most
		}
	}
}
