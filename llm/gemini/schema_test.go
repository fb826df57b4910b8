package gemini

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSchemas(t *testing.T) {
	for _, test := range []struct{ name, in, own, plain string }{
		{"types", `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"array","items":{"type":"integer"}}},"required":["z"]}`,
			`{"type":"OBJECT","properties":{"z":{"type":"STRING"},"a":{"type":"ARRAY","items":{"type":"INTEGER"}}},"required":["z"]}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"array","items":{"type":"integer"}}},"required":["z"]}`},
		{"or null", `{"type":["null","string"]}`, `{"nullable":true,"type":"STRING"}`, `{"type":["null","string"]}`},
		{"several types", `{"type":["string","integer"]}`, `{"anyOf":[{"type":"STRING"},{"type":"INTEGER"}]}`, `{"type":["string","integer"]}`},
		{"null alone", `{"type":["null"]}`, `{"nullable":true,"type":"NULL"}`, `{"type":["null"]}`},
		{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"d"}},"$defs":{"x":{"type":"string"}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"STRING","description":"d"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"d"}}}`},
		{"itself", `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
			`{"type":"OBJECT","properties":{"a":{"type":"OBJECT","properties":{"a":{"type":"OBJECT"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"a":{"type":"object"}}}}}`},
		{"elsewhere", `{"items":{"$ref":"https://x/y"}}`, `{"items":{"type":"OBJECT"}}`, `{"items":{"type":"object"}}`},
		{"nothing there", `{"items":{"$ref":"#/$defs/~1x"}}`, `{"items":{"type":"OBJECT"}}`, `{"items":{"type":"object"}}`},
		{"alternatives", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"nullable":true,"type":"STRING"}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{"more alternatives", `{"oneOf":[{"type":"string"},{"type":"number"}]}`, `{"anyOf":[{"type":"STRING"},{"type":"NUMBER"}]}`, `{"anyOf":[{"type":"string"},{"type":"number"}]}`},
		{"a constant", `{"const":"a"}`, `{"type":"STRING","enum":["a"]}`, `{"enum":["a"]}`},
		{"words", `{"type":"string","enum":["a","b",null]}`, `{"type":"STRING","nullable":true,"enum":["a","b"]}`, `{"type":"string","enum":["a","b",null]}`},
		{"numbers", `{"type":"integer","enum":[1,2]}`, `{"type":"INTEGER"}`, `{"type":"integer","enum":[1,2]}`},
		{"a map", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"OBJECT"}`, `{"type":"object","additionalProperties":{"type":"string"}}`},
		{"closed", `{"type":"object","additionalProperties":false}`, `{"type":"OBJECT"}`, `{"type":"object","additionalProperties":false}`},
		{"bounds and formats", `{"type":"string","minLength":1,"format":"uri","$schema":"x","examples":[]}`, `{"type":"STRING","minLength":1}`, `{"type":"string"}`},
		{"a date", `{"type":"string","format":"date-time"}`, `{"type":"STRING","format":"date-time"}`, `{"type":"string","format":"date-time"}`},
		{"any value", `{"type":"array","items":true}`, `{"type":"ARRAY","items":{}}`, `{"type":"array","items":{}}`},
		{"no fields", `{"type":"object","properties":{}}`, `{"type":"OBJECT"}`, `{"type":"object"}`},
		{"no schema", `[]`, "", ""},
		{"a type that is none", `{"type":7}`, "", `{"type":7}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			own, ok := ownSchema(json.RawMessage(test.in))
			if ok != (test.own != "") || ok && string(own) != test.own {
				t.Errorf("own   %s, %v\nwant  %s", own, ok, test.own)
			}
			plain, ok := plainSchema(json.RawMessage(test.in))
			if ok != (test.plain != "") || ok && string(plain) != test.plain {
				t.Errorf("plain %s, %v\nwant  %s", plain, ok, test.plain)
			}
		})
	}
}

// Each level doubles the size.
func TestSchemaThatGrows(t *testing.T) {
	var defs []string
	for c := 'a'; c < 'z'; c++ {
		next := `{"$ref":"#/$defs/` + string(c+1) + `"}`
		defs = append(defs, `"`+string(c)+`":{"type":"object","properties":{"l":`+next+`,"r":`+next+`}}`)
	}
	schema := `{"$defs":{` + strings.Join(defs, ",") + `,"z":{"type":"string"}},"$ref":"#/$defs/a"}`
	if out, ok := ownSchema(json.RawMessage(schema)); ok {
		t.Errorf("%d bytes became %d", len(schema), len(out))
	}
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":["a","null"],"anyOf":[{"$ref":"#"},{"const":1}],"properties":{"x":true}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		for _, rewrite := range []func(json.RawMessage) (json.RawMessage, bool){ownSchema, plainSchema} {
			if out, ok := rewrite(schema); ok && !json.Valid(out) {
				t.Fatalf("not JSON: %s", out)
			}
		}
	})
}
