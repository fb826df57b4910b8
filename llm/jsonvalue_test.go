package llm

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestParseValue(t *testing.T) {
	for text, want := range map[string]any{
		`{"a":[1,2e400,"x"],"b":{"c":-1e999,"d":3}}`: map[string]any{"a": []any{1.0, nil, "x"}, "b": map[string]any{"c": nil, "d": 3.0}},
		`4.57E+2454016984539427`:                     nil,
		`[1e308]`:                                    []any{1e308},
	} {
		if got, err := ParseValue([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := ParseValue([]byte(`{"a":1e999,}`)); err == nil {
		t.Error("invalid JSON was parsed")
	}
}

// A number without bounds is missing, and the rest of the answer counts.
func TestDecodeHugeNumber(t *testing.T) {
	type answer struct {
		Text  string   `json:"text"`
		Share *float64 `json:"share,omitempty"`
	}
	a, err := Decode[answer](`{"text":"So it is.","share":4.5E+245401698}`, SchemaFor[answer]("answer"))
	if err != nil || a.Text != "So it is." || a.Share != nil {
		js, _ := json.Marshal(a)
		t.Errorf("%s, %v", js, err)
	}
}
