package limitio

import (
	"encoding/json"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

type decodedValue struct {
	Text string
	Raw  json.RawMessage
	Data []byte
	Any  any
	List []string
	Map  map[string]string
	Next *decodedValue
}

// randomValue returns a value whose texts are often long, with characters that JSON escapes.
func randomValue(r *rand.Rand, depth int) *decodedValue {
	text := func() string {
		return strings.Repeat([]string{"a", "é", "\"", "\\", "\n", "<", " ", "\u2028", "😀"}[r.IntN(9)], r.IntN(3*longText))
	}
	raw, err := json.Marshal(map[string]any{text(): []any{text(), r.IntN(100), text()}})
	if err != nil {
		panic(err)
	}
	v := &decodedValue{Text: text(), Raw: raw, Data: []byte(text()), Any: []any{text(), map[string]any{"k": text(), "n": 1.5}, nil, true}, List: []string{text(), text()}, Map: map[string]string{text(): text()}}
	if depth > 0 {
		v.Next = randomValue(r, depth-1)
	}
	return v
}

// TestLongTexts checks that cutting and restoring change nothing.
func TestLongTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	l := NewLongTexts()
	for range 100 {
		want := randomValue(r, r.IntN(4))
		js, err := json.MarshalIndent(want, "", "\t \n")
		if err != nil {
			t.Fatal(err)
		}
		short, names := l.cut(js)
		if len(names) != len(l.list) || strings.Contains(string(short), strings.Repeat("a", longText)) {
			t.Fatalf("cut %d texts, holds %d: %s", len(names), len(l.list), short)
		}
		got := &decodedValue{}
		if err := json.Unmarshal(short, got); err != nil {
			t.Fatalf("%v: %s", err, short)
		}
		l.Restore(got)
		if !reflect.DeepEqual(compactRaw(t, want), compactRaw(t, got)) {
			t.Fatalf("the value changed: %s", js)
		}
		if len(l.list) != 0 {
			t.Fatalf("%d texts remain", len(l.list))
		}
	}
}

func compactRaw(t *testing.T, v *decodedValue) *decodedValue {
	t.Helper()
	for at := v; at != nil; at = at.Next {
		var value any
		if err := json.Unmarshal(at.Raw, &value); err != nil {
			t.Fatal(err)
		}
		js, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		at.Raw = js
	}
	return v
}

func TestCutRequest(t *testing.T) {
	l := NewLongTexts()
	long := `"` + strings.Repeat("a", LargeBody) + `"`
	for name, test := range map[string]struct {
		body  string
		texts int
		valid bool
	}{
		"none":               {"", 0, false},
		"small":              {`{"a":"` + strings.Repeat("b", 2*longText) + `"}`, 0, true},
		"large":              {`{"a":` + long + `,"b":[` + long + `]}`, 2, true},
		"a long key":         {`{` + long + `:1}`, 1, true},
		"not ended":          {`{"a":` + long + `,"b":` + long[:len(long)-1], 1, false},
		"ends with a slash":  {`{"a":"` + strings.Repeat("a", LargeBody) + `\`, 0, false},
		"a wrong escape":     {`{"a":"` + strings.Repeat("a", LargeBody) + `\x"}`, 0, false},
		"a control byte":     {`{"a":"` + strings.Repeat("a", LargeBody) + "\x01\"}", 0, false},
		"two numbers":        {`[1 2` + strings.Repeat(" ", LargeBody) + `]`, 0, false},
		"white space":        {`{"a":` + strings.Repeat(" \n", LargeBody) + `1}`, 0, true},
		"another's mark":     {`{"a":"` + l.mark + `0000000001","b":` + long + `}`, 1, true},
		"many of 257 bytes":  {`[` + strings.Repeat(`"`+strings.Repeat("a", longText)+`",`, 5000) + `1]`, 5000, true},
		"many of 200 bytes ": {`[` + strings.Repeat(`"`+strings.Repeat("a", 200)+`",`, 6000) + `1]`, 0, true},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(test.body))
		release := l.CutRequest(r)
		short, err := RequestBody(r)
		if err != nil || json.Valid(short) != test.valid || len(l.list) != test.texts {
			t.Errorf("%s: %v, valid %v, %d texts", name, err, json.Valid(short), len(l.list))
		}
		if test.texts > 0 && len(short) > len(test.body)/5 {
			t.Errorf("%s: %d bytes of %d remain", name, len(short), len(test.body))
		}
		release()
		if len(l.list) != 0 {
			t.Errorf("%s: %d texts remain after the request", name, len(l.list))
		}
	}
	var text any = l.mark + "0000000001"
	l.Restore(&text)
	if !reflect.DeepEqual(text, any(l.mark+"0000000001")) {
		t.Errorf("restored %q from an ended request", text)
	}
}
