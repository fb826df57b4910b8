package mimic

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var schemas = map[string]string{
	"object":         `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0,"maximum":130}},"required":["name","age"],"additionalProperties":false}`,
	"thoughts":       `{"type":"object","properties":{"thoughts":{"type":"array","minItems":3,"maxItems":5,"items":{"type":"object","properties":{"text":{"type":"string","minLength":1},"type":{"type":"string","enum":["exploration","critique"]},"confidence":{"type":"number","minimum":0,"maximum":1},"sources":{"type":"array","items":{"type":"integer"}}},"required":["text","type","confidence","sources"],"additionalProperties":false}}},"required":["thoughts"]}`,
	"nullable list":  `{"type":["null","array"],"items":{"type":"string"}}`,
	"bounds":         `{"type":"array","minItems":2,"maxItems":2,"items":{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":6}}`,
	"multiple":       `{"type":"number","multipleOf":5,"minimum":11,"maximum":24}`,
	"exclusive":      `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
	"lengths":        `{"type":"string","minLength":80,"maxLength":90}`,
	"tiny string":    `{"type":"string","maxLength":3}`,
	"const and enum": `{"type":"object","properties":{"a":{"const":{"x":[1,2]}},"b":{"enum":[1,"two",null]}},"required":["a","b"]}`,
	"any of":         `{"anyOf":[{"type":"null"},{"type":"integer","minimum":7,"maximum":7}]}`,
	"one of":         `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"}},"required":["kind"]},{"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}]}`,
	"all of":         `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"boolean"}},"required":["b"]}]}`,
	"references":     `{"$defs":{"node":{"type":"object","properties":{"label":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["label","children"]}},"$ref":"#/$defs/node"}`,
	"unique":         `{"type":"array","uniqueItems":true,"items":{"enum":["a","b","c"]}}`,
	"formats":        `{"type":"object","properties":{"on":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},"url":{"type":"string","format":"uri"}},"required":["on","at","url"]}`,
	"negative":       `{"type":"integer","maximum":-5}`,
	"far bounds":     `{"type":"integer","minimum":1000}`,
	"no type":        `{"properties":{"a":{"items":{"type":"integer"}}},"required":["a"]}`,
	"boolean schema": `{"type":"object","properties":{"a":true},"required":["a"]}`,
	"booleans":       `{"type":"array","items":{"type":"boolean"}}`,
}

func TestFill(t *testing.T) {
	for name, text := range schemas {
		t.Run(name, func(t *testing.T) {
			var s jsonschema.Schema
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			valid, err := s.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(50) {
				got := New(seed, Prompt{Text: "What do foxes eat?\n[1] Foxes eat mice.\n"}).Fill(json.RawMessage(text))
				var v any
				if err := json.Unmarshal(got, &v); err != nil {
					t.Fatalf("%s: %v", got, err)
				}
				if err := valid.Validate(v); err != nil {
					t.Errorf("%s: %v", got, err)
				}
			}
		})
	}
}

func TestFillKeepsOrder(t *testing.T) {
	got := New(1, Prompt{}).Fill(json.RawMessage(`{"type":"object","properties":{"z":{"const":1},"a":{"const":2}},"required":["z","a"]}`))
	if string(got) != `{"z":1,"a":2}` {
		t.Errorf("filled with %s", got)
	}
}

func TestInputTakesNumbersOfThePrompt(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`)
	if got := New(1, Prompt{Text: "Add 17 and 4."}).Input(schema); string(got) != `{"a":17,"b":4}` {
		t.Errorf("input is %s", got)
	}
}

func TestSchemaInPrompt(t *testing.T) {
	text := `Answer with JSON of this schema: {"type": "object", "properties": {"who": {"type": "object", "properties": {"n": {"const": 4}}, "required": ["n"]}}, "required": ["who"]} and nothing else.`
	for _, p := range []Prompt{{Text: text}, {System: text, Text: "Who?"}, {Text: "Who?", System: text, JSON: true}} {
		if got := New(1, p).Answer(); got != `{"who":{"n":4}}` {
			t.Errorf("answer is %s", got)
		}
	}
}

func TestHostileSchemas(t *testing.T) {
	deep := ""
	for range 5000 {
		deep += `{"type":"array","items":`
	}
	tests := map[string]string{
		"deep": deep, "not an object": `"x"`, "cut": `{"type":`, "wrong types": `{"type":5,"properties":[]}`,
		"cycle of refs":  `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		"refers to self": `{"type":"object","properties":{"x":{"$ref":"#"}},"required":["x"]}`,
		"wide":           `{"type":"array","minItems":1000000000,"items":{"type":"array","minItems":1000000000,"items":{"type":"string","minLength":1000000000}}}`,
		"missing ref":    `{"$ref":"#/$defs/none"}`,
		"null parts":     `{"anyOf":[null],"allOf":[null]}`,
		"odd bounds":     `{"type":"integer","minimum":9,"maximum":3}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if got := New(1, Prompt{}).Fill(json.RawMessage(text)); !json.Valid(got) || len(got) > 64<<20 {
				t.Errorf("filled with %d bytes, valid: %v", len(got), json.Valid(got))
			}
		})
	}
}

func FuzzFill(f *testing.F) {
	for _, s := range schemas {
		f.Add(uint64(1), s)
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		if got := New(seed, Prompt{Text: "What?"}).Fill(json.RawMessage(text)); !json.Valid(got) {
			t.Errorf("filled %s with %s", text, got)
		}
	})
}
