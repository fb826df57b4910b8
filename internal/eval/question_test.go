package eval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadQuestions(t *testing.T) {
	const text = "\ufeff" + `{"id":"capital","question":" Which town? ","reference":"Paris","note":{"from":"me"}}

{"question":"How many?","context":"There are 3.","documents":["a.md","sub/b.txt"],"checks":[{"number":3}]}
`
	got, err := ReadQuestions(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("%d questions", len(got))
	}
	if kind := got[1].Checks[0].Kind(); kind != "number" {
		t.Errorf("check of the kind %q", kind)
	}
	got[1].Checks = nil
	want := []Question{
		{ID: "capital", Line: 1, Text: "Which town?", Reference: []string{"Paris"}},
		{ID: "3", Line: 3, Text: "How many?", Context: "There are 3.", Documents: []string{"a.md", "sub/b.txt"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := got[1].Prompt("# A"); got != "There are 3.\n\n# A\n\nHow many?" {
		t.Errorf("asked %q", got)
	}
}

func TestReadQuestionsRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":         {"\n\n", "no questions"},
		"no JSON":         {"{\"question\":\"a\"}\nWhat?", "line 2: not JSON"},
		"cut off":         {`{"question":"a"`, "line 1: not JSON: unexpected EOF"},
		"a list":          {`["a"]`, "line 1: not a JSON object"},
		"two objects":     {`{"question":"a"}{"question":"b"}`, "line 1: more than one object"},
		"no question":     {`{"id":"a"}`, "line 1: no question"},
		"a slip":          {`{"question":"a","chekcs":[]}`, `line 1: unknown field "chekcs"`},
		"a number":        {`{"question":7}`, "line 1: question: not a number"},
		"the same id":     {"{\"id\":\"a\",\"question\":\"a\"}\n{\"id\":\"a\",\"question\":\"b\"}", `line 2: duplicate ID "a" of line 1`},
		"too long":        {`{"question":"` + strings.Repeat("a", MaxAsked+1) + `"}`, "line 1: question and context have more than 30000 bytes"},
		"a very long one": {"\n" + strings.Repeat(" ", MaxLine+1), "line 2: more than 1048576 bytes"},
		"not UTF-8":       {"{\"question\":\"\xff\"}", "line 1: not valid UTF-8"},
		"out of bounds":   {`{"question":"a","documents":["../secret"]}`, `line 1: document "../secret" must be below the folder`},
		"an empty text":   {`{"question":"a","reference":[""]}`, "line 1: an empty text"},
		"no kind":         {`{"question":"a","checks":[{}]}`, "line 1: check: use one of"},
		"two kinds":       {`{"question":"a","checks":[{"contains":"a","number":1}]}`, "line 1: check: use one of"},
		"a bad regex":     {`{"question":"a","checks":[{"regex":"("}]}`, "line 1: check: regex: missing closing )"},
		"a bad tolerance": {`{"question":"a","checks":[{"number":1,"tolerance":"some"}]}`, "line 1: check: tolerance: "},
		"negative":        {`{"question":"a","checks":[{"number":1,"tolerance":-1}]}`, "line 1: check: tolerance: "},
		"no number":       {`{"question":"a","checks":[{"contains":"a","tolerance":1}]}`, "line 1: check: tolerance requires number"},
		"no schema":       {`{"question":"a","checks":[{"json_schema":"a"}]}`, "line 1: check: json_schema: not an object"},
		"a bad schema":    {`{"question":"a","checks":[{"json_schema":{"$ref":"#/nowhere"}}]}`, "line 1: check: json_schema: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadQuestions(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", err, c.want)
			}
		})
	}
}

func FuzzReadQuestions(f *testing.F) {
	f.Add(`{"question":"a","reference":["b"],"checks":[{"number":3,"tolerance":"1%"},{"json_schema":{"type":"object"}}]}`, "It is 3.")
	f.Add(`{"question":"a","checks":[{"contains":["a"]},{"not_contains":"b"},{"regex":"(?i)x"},{"one_of":["a","b"]}]}`, `{"a":1}`)
	f.Fuzz(func(t *testing.T, text, answer string) {
		list, err := ReadQuestions(strings.NewReader(text))
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d questions, error %v", len(list), err)
		}
		for _, q := range list {
			if right, failed := q.Right(answer); right != (len(failed) == 0) || q.ID == "" || q.Text == "" {
				t.Fatalf("%+v: right %t, failed %v", q, right, failed)
			}
		}
	})
}
