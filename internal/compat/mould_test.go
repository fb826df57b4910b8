package compat_test

import (
	"encoding/json"
	"testing"

	"ponder/internal/compat"
)

// A Mould encodes like json.Marshal.
func FuzzMould(f *testing.F) {
	for _, text := range []string{"", "Yes, it is.", "a \"quote\" \\ <b>&amp;", "line\nline\t\x00\x1b", "ö 漢 \U0001f30a", "\u2028 \xff\xfe", compat.Gap} {
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
	mould := compat.NewMould(of(compat.Gap, compat.Gap))
	f.Fuzz(func(t *testing.T, text, at string) {
		want, err := json.Marshal(of(at, text))
		if err != nil || at == "" {
			return
		}
		if got := mould.Append([]byte("x"), at, text); string(got) != "x"+string(want) {
			t.Errorf("%s, not %s", got, want)
		}
	})
}

// A value that equals Gap still encodes as JSON.
func TestMouldGaps(t *testing.T) {
	mould := compat.NewMould(map[string]string{"model": compat.Gap, "text": compat.Gap})
	if js := mould.Append(nil, "Yes."); !json.Valid(js) {
		t.Errorf("%s", js)
	}
}
