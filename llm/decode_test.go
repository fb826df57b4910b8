package llm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	schema := SchemaFor[thoughts]("thoughts")
	one := 1
	want := thoughts{Thoughts: []thought{{Text: "x", Confidence: 0.5, Tags: []string{"a"}, Parent: &one}}, Done: true}
	tests := []struct {
		name, text string
		want       thoughts
	}{
		{"strict", `{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1}],"done":true}`, want},
		{"repaired", "Sure:\n```json\n{thoughts: [{'text': 'x', confidence: .5, tags: ['a',], parent: 1}], done: True\n```", want},
		{"the second of two fits", `[1] says {"done": true} but {"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1}],"done":true}`, want},
		{"a correction wins", `{"thoughts":[],"done":false}

Wait, that is wrong. Correction:

{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1}],"done":true}`, want},
		{"a correction in a fence wins", "```json\n{\"thoughts\":[],\"done\":false}\n```\nCorrected:\n```json\n" + `{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1}],"done":true}` + "\n```", want},
		{"a repeated answer", strings.Repeat(`{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1}],"done":true}`, 2), want},
		{"a correction of another form loses", `{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1}],"done":true} Correction: {"done":false}`, want},
		{"a correction that breaks off loses", `{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1}],"done":true} Correction: {"done":false,"thoughts":[`, want},
		{"a correction in prose does not win over a fence", "```json\n" + `{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1}],"done":true}` + "\n```\nnot {\"thoughts\":[],\"done\":false}", want},
		{"full-width punctuation", `｛"thoughts"：［｛"text"："x"，"confidence"：０．５，"tags"：［"a"］，"parent"：1｝］，"done"：true｝`, want},
		{"JSON in a string", `"{\"thoughts\":[{\"text\":\"x\",\"confidence\":0.5,\"tags\":[\"a\"],\"parent\":1}],\"done\":true}"`, want},
		{"unknown members", `{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1,"why":{}}],"done":true,"more":[1]}`, want},
		{"nulls for nothing", `{"thoughts":[{"text":"x","confidence":0.5,"tags":["a"],"parent":1,"depth":null}],"done":true,"note":null}`, want},
		{"numbers in quotes", `{"thoughts":[{"text":"x","confidence":"0.5","tags":["a"],"parent":" 1 "}],"done":"True"}`, want},
		{"null list", `{"thoughts":null,"done":true}`, thoughts{Thoughts: []thought{}, Done: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decode[thoughts](test.text, schema)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Decode (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	schema := SchemaFor[thoughts]("thoughts")
	bounded := &Schema{Name: "n", JSON: json.RawMessage(`{"type":"object","properties":{"n":{"type":"array","items":{"type":"integer","maximum":3}}}}`)}
	tests := []struct {
		name, text string
		schema     *Schema
		want       string
	}{
		{"no JSON", "I cannot do that.", schema, "there is no JSON value in the answer"},
		{"empty", "", schema, "there is no JSON value in the answer"},
		{"missing", `{"thoughts":[{"text":"x","tags":[]}]}`, schema, "done: is missing; thoughts[0].confidence: is missing"},
		{"wrong types", `{"thoughts":[{"text":1,"confidence":"high","tags":["a",[]]}],"done":0}`, schema,
			`done: want boolean, got integer 0; thoughts[0].confidence: want number, got string "high"; thoughts[0].tags[1]: want string, got array; thoughts[0].text: want string, got integer 1`},
		{"not an object", `[1,2]`, schema, "the answer: want object, got array"},
		{"many faults", `{"thoughts":[1,2,3,4,5,6,7],"done":true}`, schema,
			"thoughts[0]: want object, got integer 1; thoughts[1]: want object, got integer 2; thoughts[2]: want object, got integer 3; thoughts[3]: want object, got integer 4; thoughts[4]: want object, got integer 5"},
		{"out of a Go type", `{"thoughts":[{"text":"x","confidence":1,"tags":[],"depth":300}],"done":true}`, schema,
			"cannot unmarshal number 300 into Go struct field"},
		{"other keywords", `{"n":[1,5]}`, bounded, "n[]: maximum: 5/1 is greater than 3.000000"},
		{"bad schema", `{}`, &Schema{Name: "x", JSON: json.RawMessage(`{"type":`)}, "read schema x"},
		{"too deep", strings.Repeat("[", 300), schema, "nested deeper than 200 levels"},
		{"too long", strings.Repeat("x", MaxRepair+1), schema, "longer than 256 KB"},
		{"far too long", `"` + strings.Repeat("x", maxAnswer) + `"`, schema, "longer than 8 MB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Decode[thoughts](test.text, test.schema)
			var e *Error
			if !errors.As(err, &e) || e.Class != Malformed {
				t.Fatalf("error = %#v, want class malformed", err)
			}
			if !strings.Contains(e.Message, test.want) {
				t.Errorf("message = %q\nwant %q", e.Message, test.want)
			}
			if len(e.Message) > maxFaultText+3 || strings.Contains(e.Message, "\n") {
				t.Errorf("message is not one short line: %d bytes", len(e.Message))
			}
		})
	}
}

func TestDecodeKeepsLargeIntegers(t *testing.T) {
	type id struct {
		ID int64 `json:"id"`
	}
	got, err := Decode[id](`The id: {"id": 9007199254740993}`, SchemaFor[id]("id"))
	if err != nil || got.ID != 9007199254740993 {
		t.Errorf("Decode = %d, %v", got.ID, err)
	}
}

func TestDecodeWithoutSchema(t *testing.T) {
	got, err := Decode[map[string]int]("```\n{a: 1}\n```", nil)
	if diff := cmp.Diff(map[string]int{"a": 1}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReask(t *testing.T) {
	req := &Request{
		System:   "s",
		Messages: append(make([]Message, 0, 8), Say(User, "q")),
		Schema:   SchemaFor[thoughts]("thoughts"),
	}
	answer := Message{Role: Assistant, Parts: []Part{
		{Reasoning: "r", Opaque: &Opaque{Model: "p/m", Data: json.RawMessage(`1`)}},
		{Text: "{}"},
		{Call: &ToolCall{ID: "1", Name: "n"}},
	}}
	_, err := Decode[thoughts]("{}", req.Schema)
	got := Reask(req, answer, err)
	want := []Message{
		Say(User, "q"),
		{Role: Assistant, Parts: answer.Parts[:2]},
		Say(User, "That answer cannot be used: thoughts: is missing; done: is missing.\nAnswer again, with one JSON value of this form and nothing else:\n{\"thoughts\":[{\"text\":\"...\",\"confidence\":0.0,\"tags\":[\"...\"],\"depth\":0,\"parent\":0}],\"done\":false,\"note\":\"...\"}"),
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got.System != "s" || got.Schema != req.Schema || len(req.Messages) != 1 {
		t.Errorf("the request changed: %+v", req)
	}
	again := Reask(req, Message{}, errors.New("other"))
	if diff := cmp.Diff(Say(Assistant, "(no answer)"), again.Messages[1]); diff != "" {
		t.Errorf("empty answer (-want +got):\n%s", diff)
	}
	if got.Messages[2].Text() == again.Messages[2].Text() {
		t.Error("two requests share the array of their messages")
	}
}

func FuzzDecode(f *testing.F) {
	schema := SchemaFor[thoughts]("thoughts")
	for _, c := range repairCases(f) {
		f.Add(c.text)
	}
	f.Add(`{"thoughts":[{"text":"x","confidence":"0.5","tags":null}],"done":"true"}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Decode[thoughts](text, schema)
		if err != nil && ClassOf(err) != Malformed {
			t.Fatalf("error of class %s: %v", ClassOf(err), err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	schema := SchemaFor[thoughts]("thoughts")
	text := `{"thoughts":[` + strings.Repeat(`{"text":"a thought of some words, to be of a likely length","confidence":0.5,"tags":["a","b"]},`, 4) +
		`{"text":"x","confidence":0.5,"tags":[]}],"done":true}`
	for b.Loop() {
		if _, err := Decode[thoughts](text, schema); err != nil {
			b.Fatal(err)
		}
	}
}
