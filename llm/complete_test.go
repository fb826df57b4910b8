package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCompletePart(t *testing.T) {
	const one = `{"thought":"One is so.","confidence":0.8}`
	for name, tt := range map[string][2]string{
		"whole":                          {`{"thoughts":[` + one + `]}`, `{"thoughts":[` + one + `]}`},
		"within the second item":         {`{"thoughts":[` + one + `,{"thought":"Two is`, `{"thoughts":[` + one + `]}`},
		"after a text":                   {`{"thoughts":[` + one + `,{"thought":"Two is so."`, `{"thoughts":[` + one + `,{"thought":"Two is so."}]}`},
		"within a later member":          {`{"thoughts":[{"thought":"One is so.","type":"ins`, `{"thoughts":[{"thought":"One is so."}]}`},
		"within a name":                  {`{"thoughts":[{"thought":"One is so.","ty`, `{"thoughts":[{"thought":"One is so."}]}`},
		"within a number":                {`{"thoughts":[{"thought":"One is so.","confidence":0.`, `{"thoughts":[{"thought":"One is so."}]}`},
		"nothing complete":               {`{"thoughts":[{"thought":"One`, `{}`},
		"an answer":                      {`{"answer":"It is so. It is not so, because`, `{"answer":"It is so."}`},
		"an answer with lines":           {`{"answer":"# So\n\nIt is so.\n- one\n- tw`, `{"answer":"# So\n\nIt is so.\n- one"}`},
		"an answer with quotes":          {`{"answer":"It is \"so\". And \"no`, `{"answer":"It is \"so\"."}`},
		"an answer in half an escape":    {`{"answer":"It is so. And \u00`, `{"answer":"It is so."}`},
		"a list of texts":                {`{"a":["x y","z`, `{"a":["x y"]}`},
		"a member after another":         {`{"answer":"So.","insights":["One.","Tw`, `{"answer":"So.","insights":["One."]}`},
		"in a fence":                     {"```json\n{\"thoughts\":[" + one + ",{", `{"thoughts":[` + one + `]}`},
		"white space":                    {`{"thoughts":[` + one + `    `, `{"thoughts":[` + one + `]}`},
		"prose":                          {"It is so. It is not so, bec", "It is so."},
		"prose with a citation":          {"It is so. [e3] It is not so, bec", "It is so. [e3]"},
		"prose with a citation, inside":  {"It is so [e3]. It is not so, bec", "It is so [e3]."},
		"a list":                         {"1. One is so\n2. Two is so\n3. Thr", "1. One is so\n2. Two is so"},
		"decimals and names":             {"It is 3.5 m. In 1.4 days, it", "It is 3.5 m."},
		"one sentence":                   {"It is so because", "It is so because"},
		"whole prose":                    {"It is so. Really.", "It is so. Really."},
		"Chinese":                        {"河很宽。水很", "河很宽。"},
		"empty":                          {"", ""},
		"JSON that is not JSON any more": {`{"a":1}}`, `{"a":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CompletePart(tt[0]); got != tt[1] {
				t.Errorf("%q, want %q", got, tt[1])
			}
		})
	}
}

// Every prefix of a value has a valid complete part, which only grows.
func TestCompletePrefixes(t *testing.T) {
	const text = `{"thoughts":[{"thought":"One, \"so\".","n":-1.5e3,"ok":true,"none":null,"cites":["e1","e2"]},{"thought":"Two.","deep":{"a":[[1],[2,3]]}}],"answer":"It is so. It\u0027s not. No.","list":[]}`
	size := 0
	for n := 1; n <= len(text); n++ {
		got := CompletePart(text[:n])
		if !json.Valid([]byte(got)) {
			t.Fatalf("of %q: %q is not JSON", text[:n], got)
		}
		kept := strings.TrimRight(got, `"]}`)
		if !strings.HasPrefix(text, kept) {
			t.Fatalf("of %q: %q is not in it", text[:n], got)
		}
		if len(kept) < size {
			t.Fatalf("of %q: %q is shorter than before", text[:n], got)
		}
		size = len(kept)
	}
}

func FuzzCompletePart(f *testing.F) {
	f.Add(`{"a":["b","c`)
	f.Add("So. It [e1")
	f.Add("```json\n[{\"a\":1},{\"a\"")
	f.Fuzz(func(t *testing.T, text string) {
		got := CompletePart(text)
		if again := CompletePart(got); len(again) > len(got) {
			t.Errorf("%q became %q, then %q", text, got, again)
		}
		if len(got) > len(text)+200 {
			t.Errorf("%q became %q", text, got)
		}
	})
}
