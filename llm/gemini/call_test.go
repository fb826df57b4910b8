package gemini

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func callJSON(c string) string { return partsJSON(`{"functionCall":` + c + `}`) }

func TestPartialArgs(t *testing.T) {
	for name, tt := range map[string]struct {
		pieces []string // function calls
		want   []llm.ToolCall
	}{
		"as documented": {[]string{
			`{"name":"set","willContinue":true}`,
			`{"partialArgs":[{"jsonPath":"$.location","stringValue":"Boston","willContinue":true}],"willContinue":true}`,
			`{"partialArgs":[{"jsonPath":"$.location","stringValue":", MA"}],"willContinue":true}`,
			`{"partialArgs":[{"jsonPath":"$.brightness","numberValue":50},{"jsonPath":"$.on","boolValue":true},{"jsonPath":"$.by","nullValue":"NULL_VALUE"}],"willContinue":true}`, `{}`,
		}, []llm.ToolCall{{Name: "set", Input: json.RawMessage(`{"brightness":50,"by":null,"location":"Boston, MA","on":true}`)}}},
		"nested, with an ID": {[]string{
			`{"id":"x","name":"put","partialArgs":[{"jsonPath":"$.list[0].a","stringValue":"1"}],"willContinue":true}`,
			`{"id":"x","partialArgs":[{"jsonPath":"$.list[0].a","stringValue":"2"},{"jsonPath":"$.list[1]['b c']","numberValue":1.5},{"jsonPath":"$[\"d\\\"e\"]","stringValue":""}]}`,
		}, []llm.ToolCall{{ID: "x", Name: "put", Input: json.RawMessage(`{"d\"e":"","list":[{"a":"12"},{"b c":1.5}]}`)}}},
		"one piece": {[]string{`{"id":"x","name":"put","partialArgs":[{"jsonPath":"$.a","stringValue":"1"}]}`}, []llm.ToolCall{{ID: "x", Name: "put", Input: json.RawMessage(`{"a":"1"}`)}}},
		"two calls": {[]string{
			`{"id":"x","name":"put","willContinue":true}`, `{"partialArgs":[{"jsonPath":"$.a","stringValue":"1"}],"willContinue":true}`, `{}`,
			`{"id":"y","name":"put","willContinue":true}`, `{"partialArgs":[{"jsonPath":"$.a","stringValue":"2"}],"willContinue":true}`, `{}`,
		}, []llm.ToolCall{{ID: "x", Name: "put", Input: json.RawMessage(`{"a":"1"}`)}, {ID: "y", Name: "put", Input: json.RawMessage(`{"a":"2"}`)}}},
		"a whole call after an open one": {[]string{`{"id":"x","name":"put","willContinue":true}`, `{"id":"y","name":"get","args":{"b":[1]}}`},
			[]llm.ToolCall{{ID: "x", Name: "put", Input: json.RawMessage(`{}`)}, {ID: "y", Name: "get", Input: json.RawMessage(`{"b":[1]}`)}}},
		"members and pieces": {[]string{`{"id":"x","name":"put","args":{"a":{"z":1,"b":2}},"willContinue":true}`, `{"partialArgs":[{"jsonPath":"c","boolValue":false}]}`},
			[]llm.ToolCall{{ID: "x", Name: "put", Input: json.RawMessage(`{"a":{"z":1,"b":2},"c":false}`)}}},
		"an empty call": {[]string{`{}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var body string
			for _, p := range tt.pieces {
				body += callJSON(p) + "\n"
			}
			resp, err := readAnswer(t, 200, sse, toStream(body+done))
			if err != nil {
				t.Fatal(err)
			}
			calls := resp.Message.Calls()
			for i := range calls {
				if i < len(tt.want) && tt.want[i].ID == "" {
					calls[i].ID = ""
				}
			}
			if diff := cmp.Diff(tt.want, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// A call that is not complete, or cannot be, is no call.
func TestBrokenCalls(t *testing.T) {
	open := callJSON(`{"name":"set","willContinue":true}`)
	for name, body := range map[string]string{
		"open":           open + "\n" + done,
		"no name":        callJSON(`{"args":{"a":1}}`) + "\n" + done,
		"no path":        callJSON(`{"name":"set","partialArgs":[{"jsonPath":"$","stringValue":"x"}]}`) + "\n" + done,
		"a wildcard":     callJSON(`{"name":"set","partialArgs":[{"jsonPath":"$.a[*]","stringValue":"x"}]}`) + "\n" + done,
		"a far index":    callJSON(`{"name":"set","partialArgs":[{"jsonPath":"$.a[1000]","stringValue":"x"}]}`) + "\n" + done,
		"two kinds":      callJSON(`{"name":"set","partialArgs":[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.a.b","stringValue":"x"}]}`) + "\n" + done,
		"too deep":       callJSON(`{"name":"set","partialArgs":[{"jsonPath":"$`+strings.Repeat(".a", maxPathSteps+1)+`","stringValue":"x"}]}`) + "\n" + done,
		"unexpected":     strings.Replace(done, "STOP", "UNEXPECTED_TOOL_CALL", 1),
		"too many":       strings.Replace(done, "STOP", "TOO_MANY_TOOL_CALLS", 1),
		"malformed call": strings.Replace(done, "STOP", "MALFORMED_FUNCTION_CALL", 1),
	} {
		if resp, err := readAnswer(t, 200, sse, toStream(body)); llm.ClassOf(err) != llm.Malformed {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	resp, err := readAnswer(t, 200, sse, toStream(open+"\n"+strings.Replace(done, "STOP", "MAX_TOKENS", 1)))
	if err != nil || len(resp.Message.Calls()) > 0 || resp.Finish != llm.FinishLength {
		t.Errorf("full within a call: %v, %v", resp, err)
	}
}

// A model without system instructions or a schema gets them as words, and is asked once.
func TestRefusedFeatures(t *testing.T) {
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = append(asked, string(body))
		refuse := func(words string) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"code":400,"message":"`+words+` is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`)
		}
		switch {
		case strings.Contains(string(body), "systemInstruction"):
			refuse("Developer instruction")
		case strings.Contains(string(body), "responseMimeType"):
			refuse("JSON mode")
		default:
			w.Header().Set("Content-Type", sse)
			_, _ = io.WriteString(w, toStream(partsJSON(`{"text":"ok"}`)+"\n"+done))
		}
	}))
	defer server.Close()
	p := New(Config{BaseURL: server.URL})
	for range 2 {
		resp, err := llmtest.Generate(t, p.Model("gemma-3-27b-it"), &llm.Request{System: "Be brief.", Schema: schema, Messages: helloRequest().Messages})
		if err != nil || resp.Message.Text() != "ok" {
			t.Fatal(resp, err)
		}
	}
	if len(asked) != 4 {
		t.Fatalf("%d requests were sent, want 3 and then 1", len(asked))
	}
	if text := asked[3]; !strings.Contains(text, `{"contents":[{"role":"user","parts":[{"text":"Be brief.\n\nAnswer with one JSON value`) || !strings.Contains(text, `{"text":"hello"}]}]`) {
		t.Errorf("sent %s", text)
	}
	if resp, err := llmtest.Generate(t, p.Model("gemma-3-27b-it"), &llm.Request{System: "Be brief.", Messages: []llm.Message{llm.Say(llm.Assistant, "a"), llm.Say(llm.User, "q")}}); err != nil || !strings.Contains(asked[4], `[{"role":"user","parts":[{"text":"Be brief."}]},{"role":"model"`) {
		t.Errorf("%v, %v: sent %s", resp, err, asked[4])
	}
}

// A character in two pieces is whole, in escapes and in bytes.
func TestSplitCharacters(t *testing.T) {
	for _, pieces := range [][]string{{`\ud83d`, `\udcad ok`}, {"\xf0\x9f", "\x92\xad ok"}, {"\xf0", "\x9f", "\x92", "\xad ok"}, {"💭", " ok"}} {
		var body string
		for _, p := range pieces {
			body += partsJSON(`{"text":"`+p+`"}`) + "\n"
		}
		resp, err := readAnswer(t, 200, sse, toStream(body+done))
		if err != nil || resp.Message.Text() != "💭 ok" {
			t.Errorf("%q: %v, %v", pieces, resp, err)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, path := range []string{"$.foo.bar[0].data", `$['a b']["c"]`, "$[3]", "a.b", `$['it\'s']`, "$", "$..a", "$.a[", `$["\u00e4"]`} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		steps, ok := parsePath(path)
		if !ok {
			return
		}
		args, err := setValue(nil, steps, "x")
		if err != nil {
			return
		}
		if args, err = setValue(args, steps, "y"); err != nil {
			t.Fatalf("%s: the same place again: %v", path, err)
		}
		js, err := json.Marshal(finishArgs(args))
		if err != nil || strings.Count(string(js), `"xy"`) < 1 {
			t.Errorf("%s: %s, %v", path, js, err)
		}
	})
}
