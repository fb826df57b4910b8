package llm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

type thought struct {
	Text       string   `json:"text" jsonschema:"one thought, <= 3 sentences"`
	Confidence float64  `json:"confidence"`
	Tags       []string `json:"tags"`
	Depth      uint8    `json:"depth,omitempty"`
	Parent     *int     `json:"parent,omitempty"`
}

type thoughts struct {
	Thoughts []thought `json:"thoughts"`
	Done     bool      `json:"done"`
	Note     string    `json:"note,omitempty"`
}

func TestSchemaFor(t *testing.T) {
	got := SchemaFor[thoughts]("thoughts")
	const want = `{"type":"object","properties":{"thoughts":{"type":"array","items":` +
		`{"type":"object","properties":{"text":{"type":"string","description":"one thought, \u003c= 3 sentences"},"confidence":{"type":"number"},` +
		`"tags":{"type":"array","items":{"type":"string"}},"depth":{"type":"integer"},"parent":{"type":"integer"}},` +
		`"required":["text","confidence","tags"],"additionalProperties":false}},"done":{"type":"boolean"},"note":{"type":"string"}},` +
		`"required":["thoughts","done"],"additionalProperties":false}`
	if diff := cmp.Diff(&Schema{Name: "thoughts", JSON: json.RawMessage(want)}, got); diff != "" {
		t.Errorf("SchemaFor (-want +got):\n%s", diff)
	}
	for range 20 {
		if again := SchemaFor[thoughts]("thoughts"); string(again.JSON) != string(got.JSON) {
			t.Fatalf("not the same bytes: %s", again.JSON)
		}
	}
}

func TestSchemaStoredBytes(t *testing.T) {
	req := Request{Schema: SchemaFor[thoughts]("thoughts")}
	data, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	var back Request
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(req.Schema.JSON), string(back.Schema.JSON)); diff != "" {
		t.Error(diff)
	}
}

func TestSchemaForPanics(t *testing.T) {
	type loop struct{ Next []*struct{ C chan int } }
	tests := []struct {
		name string
		call func()
	}{
		{"channel", func() { SchemaFor[loop]("loop") }},
		{"no name", func() { SchemaFor[int]("") }},
		{"space in name", func() { SchemaFor[int]("a b") }},
		{"long name", func() { SchemaFor[int](strings.Repeat("a", 65)) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			test.call()
		})
	}
}

func TestFaultsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	accepted := 0
	for range 20_000 {
		data := randomSchema(rng, 3)
		var js jsonschema.Schema
		if err := json.Unmarshal([]byte(data), &js); err != nil {
			t.Fatal(err)
		}
		full, err := js.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		v := sampleValue(rng, 3)
		want := full.Validate(v)
		got := findFaults(&js, nil, "", v)
		if (want == nil) != (len(got) == 0) {
			t.Fatalf("schema %s\nvalue %v\nvalidator: %v\nfaults: %q", data, v, want, got)
		}
		if want == nil {
			accepted++
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d values fit, a poor test", accepted)
	}
}

func randomSchema(rng *rand.Rand, depth int) string {
	n := rng.IntN(9)
	if depth == 0 {
		n %= 6
	}
	switch n {
	case 0:
		return `{"type":"string","description":"x"}`
	case 1:
		return `{"type":"number"}`
	case 2:
		return `{"type":["null","integer"]}`
	case 3:
		return `{"type":"boolean","title":"x"}`
	case 4:
		return `{"enum":["a",1,null]}`
	case 5:
		return `true`
	case 6:
		return `{"type":"array","items":` + randomSchema(rng, depth-1) + `}`
	case 7:
		return `{"type":"object","additionalProperties":` + randomSchema(rng, depth-1) + `}`
	}
	required := []string{`["a"]`, `["a","b"]`, `[]`}[rng.IntN(3)]
	return fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s},"required":%s,"additionalProperties":false}`,
		randomSchema(rng, depth-1), randomSchema(rng, depth-1), required)
}

func sampleValue(rng *rand.Rand, depth int) any {
	scalars := []any{nil, true, false, "a", "b", 1.0, 1.5, -3.0, "1"}
	switch n := rng.IntN(6); {
	case depth == 0 || n < 3:
		return scalars[rng.IntN(len(scalars))]
	case n == 3:
		list := []any{}
		for range rng.IntN(3) {
			list = append(list, sampleValue(rng, depth-1))
		}
		return list
	default:
		m := map[string]any{}
		for _, name := range []string{"a", "b", "c"}[:rng.IntN(4)] {
			m[name] = sampleValue(rng, depth-1)
		}
		return m
	}
}

// Tags bound a schema; adapters of strict providers drop what they refuse.
func TestSchemaTags(t *testing.T) {
	type item struct {
		Kind string   `json:"kind" enum:"a,b"`
		Sure *float64 `json:"sure" bounds:"0,1"`
		Rank int      `json:"rank,omitempty" bounds:"1,10"`
		Text string   `json:"text" bounds:"5"`
	}
	type form struct {
		Items []item   `json:"items" bounds:"1,5"`
		Notes []string `json:"notes,omitempty" bounds:"0,3"`
		Free  string   `json:"free"`
	}
	got := string(SchemaFor[form]("form").JSON)
	for _, want := range []string{
		`"enum":["a","b"]`, `"minimum":0,"maximum":1`, `"minimum":1,"maximum":10`, `"minLength":5`, `"minItems":1,"maxItems":5`, `"minItems":0,"maxItems":3`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the schema lacks %s: %s", want, got)
		}
	}
	if strings.Count(got, "min") != 5 || strings.Contains(got, "null") {
		t.Errorf("the schema: %s", got)
	}
}
