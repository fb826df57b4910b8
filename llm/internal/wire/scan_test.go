package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScannerText(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		ok             bool
	}{
		{"plain", `"a b"`, "a b", true},
		{"letters beyond ASCII", `"é"`, "é", true},
		{"escapes", `"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{"numbers of letters", `"\u00e9\ud83d\ude00\n"`, "é😀\n", true},
		{"half a pair", `"\ud83d"`, "\uFFFD", true},
		{"bytes that are no text", "\"a\xff\"", "a\uFFFD", true},
		{"null", `null`, "old", true},
		{"nothing", `""`, "", true},
		{"an escape that is none", `"\a"`, "", false},
		{"a control character", "\"a\nb\"", "", false},
		{"no end", `"a`, "", false},
		{"an end that is escaped", `"a\"`, "", false},
		{"a backslash at the end", `"a\`, "", false},
		{"a number", `1`, "", false},
		{"no value", ``, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := "old"
			s := Scan([]byte(test.in))
			if ok := s.Text(&got) && s.End(); ok != test.ok || ok && got != test.want {
				t.Errorf("%v: %q, want %v: %q", ok, got, test.ok, test.want)
			}
		})
	}
}

func TestScannerSame(t *testing.T) {
	for _, test := range []struct {
		name, old, in, want string
		ok                  bool
	}{
		{"the same", "a", ` "a"`, "a", true},
		{"another", "a", `"b"`, "b", true},
		{"a longer one", "a", `"ab"`, "ab", true},
		{"no text", "a", `""`, "", false},
		{"no text again", "", `""`, "", true},
		{"null", "a", `null`, "a", true},
		{"the first", "", `"b"`, "b", true},
		{"quotes within", `a","b`, `"a","b"`, "", false},
		{"a backslash at the end", `a\`, `"a\"`, "", false},
		{"a list", "a", `["a"]`, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.old
			s := Scan([]byte(test.in))
			if ok := s.TextLike(&got) && s.End(); ok != test.ok || ok && got != test.want {
				t.Errorf("%v: %q, want %v: %q", ok, got, test.ok, test.want)
			}
		})
	}
}

func TestScannerMembers(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     map[string]string
		ok       bool
	}{
		{"none", ` { } `, map[string]string{}, true},
		{"all kinds", `{"a" : 1 , "b_2":[{"x":"]"}],"c":{"d":"}\""},"e":null}`,
			map[string]string{"a": "1", "b_2": `[{"x":"]"}]`, "c": `{"d":"}\""}`, "e": "null"}, true},
		{"a key in capitals", `{"A":1}`, nil, false},
		{"a key with an escape", `{"\u0061":1}`, nil, false},
		{"no value", `{"a":}`, nil, false},
		{"no comma", `{"a":1 "b":2}`, nil, false},
		{"no colon", `{"a" 1}`, nil, false},
		{"no end", `{"a":[1`, nil, false},
		{"a comma at the end", `{"a":1,}`, nil, false},
		{"something after it", `{"a":1} x`, nil, false},
		{"a list", `["a"]`, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := walkMembers([]byte(test.in))
			if ok != test.ok {
				t.Errorf("read: %v, want %v", ok, test.ok)
			}
			if diff := cmp.Diff(test.want, got); ok && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func walkMembers(data []byte) (map[string]string, bool) {
	s := Scan(data)
	found := map[string]string{}
	ok := s.Members(func(key []byte) bool {
		value := s.Raw()
		found[string(key)] = string(value)
		return value != nil
	})
	return found, ok && s.End()
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"x":"]"}],"c":{"d":"}\""}}`))
	f.Add([]byte(`"a\n\"\u00e9"`))
	f.Add([]byte(`-17`))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, isObject := walkMembers(data)
		s, word, number := Scan(data), "", 0
		isText := s.Text(&word) && s.End()
		s = Scan(data)
		isInt := s.Int(&number) && s.End()
		s = Scan(data)
		isValue := s.Skip() && s.End()
		if !json.Valid(data) {
			return
		}
		var members map[string]json.RawMessage
		var text string
		var n int
		switch {
		case !isValue:
			t.Fatalf("%q is not passed over", data)
		case isObject && (json.Unmarshal(data, &members) != nil || len(members) != len(found)):
			t.Fatalf("%q has %q, not %q", data, members, found)
		case isText && (json.Unmarshal(data, &text) != nil || text != word):
			t.Fatalf("%q is %q, not %q", data, text, word)
		case isInt && (json.Unmarshal(data, &n) != nil || n != number):
			t.Fatalf("%q is %d, not %d", data, n, number)
		}
		for key, value := range members {
			if isObject && string(value) != found[key] {
				t.Fatalf("%q has %s, not %s", data, value, found[key])
			}
		}
	})
}
