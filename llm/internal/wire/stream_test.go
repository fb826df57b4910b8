package wire

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
)

func TestStreamLost(t *testing.T) {
	for _, test := range []struct {
		name, body string
		cause      error
		err        string
	}{
		{"before", "data: a\n\n", &llm.Error{Class: llm.Truncated, Message: "connection lost"}, "p/m: connection lost"},
		{"after", "data: almost\n\n", &llm.Error{Class: llm.Truncated, Message: "connection lost"}, ""},
		{"cancelled after", "data: almost\n\n", &llm.Error{Class: llm.Cancelled, Message: "cancelled"}, "p/m: cancelled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp := &http.Response{Body: io.NopCloser(io.MultiReader(strings.NewReader(test.body), iotest.ErrReader(test.cause)))}
			var got error
			var answer *llm.Response
			RequestInfo{Model: "p/m"}.Stream(resp, Data(resp.Body), &listFold{}, func(d llm.Delta, err error) bool {
				answer, got = d.Done, err
				return true
			})
			if test.err == "" {
				if answer == nil || got != nil {
					t.Errorf("got %v and %v, want an answer", answer, got)
				}
			} else if got == nil || got.Error() != test.err {
				t.Errorf("got %v, want %s", got, test.err)
			}
		})
	}
}

// "end" is the last piece, "almost" the terminal event.
type listFold struct {
	pieces []string
	ended  bool
}

func (l *listFold) Add(piece []byte) (llm.Delta, bool, error) {
	if string(piece) == "bad" {
		return llm.Delta{}, false, errors.New("bad piece")
	}
	l.ended = string(piece) == "end"
	l.pieces = append(l.pieces, string(piece))
	if string(piece) == "almost" {
		l.ended = true
		return llm.Delta{}, false, nil
	}
	return llm.Delta{Text: string(piece)}, l.ended, nil
}

func (l *listFold) Answer() (*llm.Response, error) {
	if !l.ended {
		return nil, nil
	}
	return &llm.Response{}, nil
}

func (l *listFold) IsFinished() bool { return l.ended }

func (l *listFold) Usage() llm.Usage { return llm.Usage{Output: len(l.pieces)} }

func TestStream(t *testing.T) {
	ask := RequestInfo{Model: "p/m", Size: 36, Advice: func(c llm.Class) string { return "advice on " + string(c) }}
	for _, test := range []struct {
		name, body string
		texts      []string
		err        string
		usage      llm.Usage
	}{
		{"whole", "data: a\n\ndata: end\n\ndata: never\n\n", []string{"a", "end"}, "", llm.Usage{}},
		{"cut", "data: a\n\n", []string{"a"}, "p/m: the stream ended before the answer was complete: advice on truncated", llm.Usage{Output: 1}},
		{"empty", "", nil, "p/m: the stream ended before the answer was complete: advice on truncated", llm.Usage{Input: 10, Estimated: true}},
		{"in band", "data: a\n\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n", []string{"a"}, "p/m: busy: advice on transient", llm.Usage{Output: 1}},
		{"event", "event: error\ndata: gone\n\n", nil, "p/m: gone: advice on transient", llm.Usage{}},
		{"fold", "data: bad\n\n", nil, "p/m: bad piece: advice on malformed", llm.Usage{Input: 10, Estimated: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var texts []string
			var last error
			var done bool
			resp := &http.Response{Body: io.NopCloser(strings.NewReader(test.body))}
			ask.Stream(resp, Data(resp.Body), &listFold{}, func(d llm.Delta, err error) bool {
				if d.Text != "" {
					texts = append(texts, d.Text)
				}
				last, done = err, d.Done != nil
				return true
			})
			if diff := cmp.Diff(test.texts, texts); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
			if test.err == "" {
				if last != nil || !done {
					t.Errorf("ends with %v", last)
				}
				return
			}
			var e *llm.Error
			if !errors.As(last, &e) || e.Error() != test.err {
				t.Fatalf("error %v, want %s", last, test.err)
			}
			if diff := cmp.Diff(test.usage, e.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamLeftEarly(t *testing.T) {
	resp := &http.Response{Body: io.NopCloser(strings.NewReader("data: a\n\ndata: b\n\n"))}
	fold := &listFold{}
	RequestInfo{}.Stream(resp, Data(resp.Body), fold, func(llm.Delta, error) bool { return false })
	if len(fold.pieces) != 1 {
		t.Errorf("%d pieces were read", len(fold.pieces))
	}
}

func TestRefusalsCostNothing(t *testing.T) {
	for _, e := range []*llm.Error{
		{Class: llm.RateLimited, Status: 429}, {Class: llm.Unreachable}, {Class: llm.BadRequest},
	} {
		var got *llm.Error
		if err := (RequestInfo{Size: 100}).AttributeCut(e, llm.Usage{}); !errors.As(err, &got) || got.Usage != (llm.Usage{}) {
			t.Errorf("%s: %+v", e.Class, got)
		}
	}
}

func TestBody(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb\xfe":      `"a` + "\uFFFD" + `b` + "\uFFFD" + `"`,
		"\\ufffd\xff":     `"\\ufffd` + "\uFFFD" + `"`,
		"<b>":             `"\u003cb\u003e"`,
		"\uFFFD \\":       `"` + "\uFFFD" + ` \\"`,
		"\\\\ufffd \xff!": `"\\\\ufffd ` + "\uFFFD" + `!"`,
	} {
		got, err := Body(in)
		if err != nil || string(got) != want {
			t.Errorf("Body(%q) = %s, %v, want %s", in, got, err, want)
		}
	}
	if _, err := Body(func() {}); llm.ClassOf(err) != llm.BadRequest {
		t.Errorf("error %v", err)
	}
}

func TestParts(t *testing.T) {
	var p Parts
	call := llm.Part{Call: &llm.ToolCall{Input: []byte("{}")}}
	for _, err := range []error{p.Text("a"), p.Text(""), p.Text("b"), p.Reasoning("c"), p.Reasoning("d"), p.Text("e"), p.Add(call), p.Text("f")} {
		if err != nil {
			t.Error(err)
		}
	}
	if p.Size() != 8 {
		t.Errorf("size %d", p.Size())
	}
	want := []llm.Part{{Text: "ab"}, {Reasoning: "cd"}, {Text: "e"}, call, {Text: "f"}}
	if diff := cmp.Diff(want, p.TakeParts()); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	big := strings.Repeat("x", maxAnswer)
	if err := errors.Join(p.Text(big), p.Text("x")); llm.ClassOf(err) != llm.Malformed {
		t.Errorf("an endless answer: %v", err)
	}
}

func TestCallInput(t *testing.T) {
	for in, want := range map[string][2]string{
		"":        {`{}`, `{}`},
		" ":       {`{}`, `{}`},
		`{"a":1}`: {`{"a":1}`, `{"a":1}`},
		`[1]`:     {`[1]`, `{"input":[1]}`},
		`{"a`:     {`"{\"a"`, `{"input":"{\"a"}`},
		`null`:    {`null`, `{}`},
	} {
		got := CallInput([]byte(in))
		if object := CallObject(got); string(got) != want[0] || string(object) != want[1] {
			t.Errorf("%q: input %s and object %s, want %v", in, got, object, want)
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"": "answer", "a b": "a_b", "x-Y_9": "x-Y_9", "é*": "__", strings.Repeat("a", 99): strings.Repeat("a", 64)} {
		if got := SchemaName(&llm.Schema{Name: in}); got != want {
			t.Errorf("name of %q is %q, want %q", in, got, want)
		}
	}
	if got := ToolName("functions.x:0"); got != "functions_x_0" {
		t.Errorf("got %q", got)
	}
}

func TestObject(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                          `{}`,
		` {"z": 1, "a": {"b" : [2]}}`: `{"z":1,"a":{"b" : [2]}}`,
		`{"a":1,"b":2,"a":3}`:         `{"a":3,"b":2}`,
		`{"<":1}`:                     `{"\u003c":1}`,
	} {
		o, err := ParseObject([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if got, err := o.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "[]", "{", `{"a"`, `{"a":}`, "7", `{"a":1`, "null"} {
		if o, err := ParseObject([]byte(in)); err == nil {
			t.Errorf("%s is %v", in, o)
		}
	}
	o := Object{{"a", []byte(`"x"`)}, {"n", []byte(`1`)}}
	o.Set("a", []byte(`"y"`))
	o.Set("c", []byte(`2`))
	if o.String("a") != "y" || o.String("n") != "" || o.String("none") != "" || string(o.Value("c")) != "2" {
		t.Errorf("object %v", o)
	}
}

func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1]},"a":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ParseObject(data)
		if err != nil {
			return
		}
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseObject(text)
		if err != nil || len(again) != len(o) {
			t.Fatalf("%s became %s: %v", data, text, err)
		}
	})
}
