package planfile

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/textkit"
)

var whole = ponder.Plan{
	Steps: []string{"Who measured it?", "Web queries:"}, Terms: []string{"Challenger"}, Web: []string{"challenger deep 1875", "# hadal"}, Memory: []string{"- my dive"},
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want ponder.Plan
	}{
		"the text of a plan": {Text(whole), whole},
		"an edited text":     {EditText("How deep\nis it?", whole), whole},
		"JSON":               {`{"steps":["a?"],"terms":["t"],"web_queries":["b"],"memory_queries":["c"],"model":"x"}`, ponder.Plan{Steps: []string{"a?"}, Terms: []string{"t"}, Web: []string{"b"}, Memory: []string{"c"}}},
		"other names":        {"steps:\n* a?\nWEB:\n•  b\n memory : \n-c\n", ponder.Plan{Steps: []string{"a?"}, Web: []string{"b"}}},
		"CRLF and a mark":    {"\ufeffWeb queries:\r\n- b\r\n\r\n# no\r\n-\r\n", ponder.Plan{Web: []string{"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(test.text))
			if name == "other names" {
				test.want.Memory = []string{"c"}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "empty",
		"# only a comment":              "empty",
		EditText("Why?", ponder.Plan{}): "empty",
		"{}":                            "empty",
		"- a query":                     "line 1 of the plan is in no section",
		"Web queries:\nb":               "line 2 of the plan does not begin with a dash",
		"Searches:\n- b":                "line 1 of the plan is in no section",
		`{"steps":"a"}`:                 "read the plan",
		"{\"steps\":":                   "read the plan",
		strings.Repeat("#", MaxBytes+1): "more than",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: error %v, want %q", text, err, want)
		}
		if want == "empty" && !errors.Is(err, ErrEmpty) {
			t.Errorf("%.40q: %v is not ErrEmpty", text, err)
		}
	}
}

// A plan of one-line texts survives its text and its JSON.
func FuzzParse(f *testing.F) {
	f.Add("Who?", "web", "memory")
	f.Add("- Terms:", "# x", "*")
	f.Fuzz(func(t *testing.T, step, web, memory string) {
		_, _ = Parse([]byte(step))
		p := ponder.Plan{Steps: []string{step}, Web: []string{web}, Memory: []string{memory}}
		for _, one := range []string{step, web, memory} {
			if one != strings.TrimSpace(textkit.OneLine(one)) || one == "" || !utf8.ValidString(one) || len(one) > 1000 {
				return // the text has one line for each
			}
		}
		js, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{Text(p), EditText(step, p), string(js)} {
			got, err := Parse([]byte(text))
			if diff := cmp.Diff(p, got); err != nil || diff != "" {
				t.Errorf("error %v: %s", err, diff)
			}
		}
	})
}
