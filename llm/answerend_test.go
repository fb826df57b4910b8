package llm

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

var endSchema = &Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"},"list":{"type":"array"}},"required":["answer"]}`)}

func TestAnswerEnd(t *testing.T) {
	const value = `{"answer":"So {it} is \"so\".","list":[1,{"a":[]}]}`
	space := strings.Repeat(" ", 100)
	prose := strings.Repeat("and so on ", 40)
	for name, tt := range map[string]struct {
		text string
		want string // the answer; "" if there is no end
		done bool
	}{
		"a value":                      {value, value, false},
		"white space without end":      {value + space, value, true},
		"line ends without end":        {"\n " + value + strings.Repeat("\n", 100), "\n " + value, true},
		"a little white space":         {value + "\n\n", value, false},
		"prose without end":            {value + prose, value, true},
		"a few words":                  {value + "\nI hope this helps.", value, false},
		"a fence":                      {"```json\n" + value + "\n```\n" + prose, "```json\n" + value, true},
		"a correction":                 {value + "\n\nWait, that is wrong. Corrected:\n\n" + value + "x", value + "\n\nWait, that is wrong. Corrected:\n\n" + value, true},
		"a correction that breaks off": {value + "\nCorrected: " + value[:9], value, false},
		"items, one value each":        {`{"a":1}` + "\n" + `{"a":2}` + "\n" + `{"a":3}`, `{"a":1}` + "\n" + `{"a":2}` + "\n" + `{"a":3}`, false},
		"items without end":            {strings.Repeat(`{"a":1}`+"\n", 20), strings.TrimSpace(strings.Repeat(`{"a":1}`+"\n", 8)), true},
		"a list":                       {`[{"a":1},{"a":2}]` + space, `[{"a":1},{"a":2}]`, true},
		"equal items":                  {`{"list":[{"a":1},{"b":2},{"b":2}, {"b":2},{"b":2}`, `{"list":[{"a":1},{"b":2}`, true},
		"two equal items":              {`{"list":[{"b":2},{"b":2},{"a":1},{"b":2}],"answer":""}`, `{"list":[{"b":2},{"b":2},{"a":1},{"b":2}],"answer":""}`, false},
		"a list of nothing":            {`{"list":["", "", "", "", ""`, `{"list":[""`, true},
		"equal numbers":                {`{"list":[0,0,0,0,0,0,0,0],"answer":""}`, `{"list":[0,0,0,0,0,0,0,0],"answer":""}`, false},
		"numbers without end":          {`{"list":[` + strings.Repeat("0,", 100), `{"list":[0`, true},
		"a text with commas":           {`{"list":["a,a,a,a,a,a","b"],"answer":""}`, `{"list":["a,a,a,a,a,a","b"],"answer":""}`, false},
		"prose":                        {"So it is. " + value + space, "", false},
		"reasoning":                    {"<think>{}</think>" + value + space, "", false},
		"an open value":                {value[:20] + space + space, "", false},
		"text after a wrong quote":     {`{"answer":"a" } b","list":[]}` + space, `{"answer":"a" }`, true},
		"a bracket in a text":          {`{"answer":"}"` + space, "", false},
		"nothing":                      {"", "", false},
		"only white space":             {strings.Repeat(" ", 300), "", false},
		"a byte order mark":            {"\ufeff" + value + space, "\ufeff" + value, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewAnswerEnd(endSchema)
			n, done := 0, false
			for i := 0; i < len(tt.text) && !done; i++ {
				n, done = e.Add(tt.text[i : i+1])
			}
			if got := tt.text[:n]; got != tt.want || done != tt.done {
				t.Errorf("%q, %v; want %q, %v", got, done, tt.want, tt.done)
			}
		})
	}
	for _, none := range []*AnswerEnd{NewAnswerEnd(nil)} {
		if _, done := none.Add(value + space); done {
			t.Error("an answer without a schema ends")
		}
	}
}

func FuzzAnswerEnd(f *testing.F) {
	f.Add(`{"answer":"a"}`+strings.Repeat(" ", 90), uint64(1))
	f.Add("```json\n{\"answer\":[1,2,{}]}\n```", uint64(2))
	f.Add(`{"a":1}{"a":2}`, uint64(3))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		whole, parts := NewAnswerEnd(endSchema), NewAnswerEnd(endSchema)
		n, done := whole.Add(text)
		if n < 0 || n > len(text) || done && n == 0 {
			t.Fatalf("the answer has %d of %d bytes", n, len(text))
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		n2, done2 := 0, false
		for rest := text; rest != "" && !done2; {
			k := 1 + rng.IntN(min(len(rest), 7))
			n2, done2 = parts.Add(rest[:k])
			rest = rest[k:]
		}
		if n != n2 || done != done2 {
			t.Errorf("whole: %d %v; in pieces: %d %v", n, done, n2, done2)
		}
	})
}
