package compat_test

import (
	"encoding/json"
	"testing"

	"ponder/internal/compat"
)

// A JSONTemplate encodes like json.Marshal.
func FuzzJSONTemplate(f *testing.F) {
	for _, text := range []string{"", "Yes, it is.", "a \"quote\" \\ <b>&amp;", "line\nline\t\x00\x1b", "ö 漢 \U0001f30a", "\u2028 \xff\xfe", compat.Placeholder} {
		f.Add(text, "7")
	}
	type value struct {
		Model string         `json:"model"`
		At    string         `json:"at,omitempty"`
		More  map[string]any `json:"more"`
	}
	of := func(at, text string) value {
		return value{"m <1> \"é\"", at, map[string]any{"z": text, "a": []int{1}, "b": nil}}
	}
	template := compat.NewJSONTemplate(of(compat.Placeholder, compat.Placeholder))
	f.Fuzz(func(t *testing.T, text, at string) {
		want, err := json.Marshal(of(at, text))
		if err != nil || at == "" {
			return
		}
		if got := template.Append([]byte("x"), at, text); string(got) != "x"+string(want) {
			t.Errorf("%s, not %s", got, want)
		}
	})
}

// A value that equals Gap still encodes as JSON.
func TestJSONTemplatePlaceholders(t *testing.T) {
	template := compat.NewJSONTemplate(map[string]string{"model": compat.Placeholder, "text": compat.Placeholder})
	if js := template.Append(nil, "Yes."); !json.Valid(js) {
		t.Errorf("%s", js)
	}
}
