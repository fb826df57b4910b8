package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/compat/protocoltest"
)

func TestCoerceArguments(t *testing.T) {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(`{"type":"object","required":["must"],"properties":{
		"n":{"type":"integer"},"x":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},"must":{"type":"string"},"any":{},
		"list":{"type":["null","array"],"items":{"type":"integer"}},"o":{"type":"object","properties":{"n":{"type":"integer"}}}}}`), &schema); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"n":"3"}`: `{"n":3}`, `{"n":" -3 "}`: `{"n":-3}`, `{"n":"3.0"}`: `{"n":3}`, `{"n":3.0}`: `{"n":3}`, `{"n":1e2}`: `{"n":100}`,
		`{"n":"9007199254740993"}`: `{"n":9007199254740993}`, `{"n":9007199254740993}`: `{"n":9007199254740993}`,
		`{"x":"0.25"}`: `{"x":0.25}`, `{"x":"1e3"}`: `{"x":1e3}`,
		`{"b":"true"}`: `{"b":true}`, `{"b":"False"}`: `{"b":false}`,
		`{"s":7}`: `{"s":7}`, `{"s":true}`: `{"s":true}`, `{"s":null}`: `{}`, `{"must":null}`: `{"must":null}`,
		`{"list":"[1,\"2\"]"}`: `{"list":[1,2]}`, `{"list":["1",2]}`: `{"list":[1,2]}`, `{"list":null}`: `{"list":null}`, `{"list":"7"}`: `{"list":[7]}`,
		`{"o":"{\"n\":\"1\"}"}`: `{"o":{"n":1}}`, `{"any":"3"}`: `{"any":"3"}`, `{"other":"3"}`: `{"other":"3"}`,
		`{"n":"three"}`: `{"n":"three"}`, `{"n":""}`: `{"n":""}`, `{"n":"3.5"}`: `{"n":3.5}`, `{"n":"\"3\""}`: `{"n":"\"3\""}`, `{"n":"NaN"}`: `{"n":"NaN"}`, `{"n":"0x1"}`: `{"n":"0x1"}`,
		`{"b":"1"}`: `{"b":"1"}`, `{"b":"yes"}`: `{"b":"yes"}`, `{"o":"{"}`: `{"o":"{"}`, `[1]`: `[1]`, `{`: `{`,
	} {
		if got := string(coerceArguments(&schema, json.RawMessage(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if got := string(coerceArguments(nil, json.RawMessage(`{"n":"3"}`))); got != `{"n":"3"}` {
		t.Errorf("without a schema: %s", got)
	}
}

func FuzzCoerceArguments(f *testing.F) {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"},"list":{"type":"array","items":{"type":"number"}}}}`), &schema); err != nil {
		f.Fatal(err)
	}
	f.Add(`{"n":"3","s":4,"list":"[1]"}`)
	f.Fuzz(func(t *testing.T, in string) {
		once := coerceArguments(&schema, json.RawMessage(in))
		if json.Valid([]byte(in)) && !json.Valid(once) {
			t.Errorf("%s becomes %s", in, once)
		}
		if twice := coerceArguments(&schema, once); string(twice) != string(once) {
			t.Errorf("%s, then %s", once, twice)
		}
	})
}

// Arguments as text reach the tools in both eras.
func TestTextArguments(t *testing.T) {
	forEachEra(t, defaultOptions, nil, func(t *testing.T, _ *rig, s *sdk.ClientSession) {
		callTool(t, s, "ponder_remember", args{"text": "The key is in the box."})
		text, out, failed := callTool(t, s, "ponder_recall", args{"query": "key", "limit": "3"})
		if hits, _ := out["hits"].([]any); failed || len(hits) != 1 {
			t.Errorf("%s", text)
		}
		if text, _, failed := callTool(t, s, "ponder_recall", args{"query": "key", "limit": "many"}); !failed || !strings.Contains(text, "limit") {
			t.Errorf("a word as a number: %s", text)
		}
		if text, out, failed := callTool(t, s, "ponder_step", args{"question": "Why?", "steps": "3"}); failed || out["prompt"] == "" {
			t.Errorf("%s", text)
		}
	})
}

// exactNumbers are ids that floating point changes.
var exactNumbers = []string{"9007199254740993", "-9223372036854775807", "123456789012345678901234567890", "1.5", "1e3", "7"}

func TestExactIDs(t *testing.T) {
	e := newExactIDs()
	for _, id := range exactNumbers {
		for _, form := range []string{
			`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, `{"method":"x","params":{"requestId":%s}}`, `{"method":"x","params":{"_meta":{"progressToken":%s}}}`, `{"params":{"progressToken":%s}}`,
		} {
			in := fmt.Sprintf(form, id)
			coded := e.encode([]byte("\xef\xbb\xbf" + in))
			if exact := id == "7"; (string(coded) == in) != exact {
				t.Errorf("%s becomes %s", in, coded)
			}
			var want, got any
			if json.Unmarshal([]byte(in), &want) != nil || json.Unmarshal(e.decode(coded), &got) != nil || !strings.Contains(string(e.decode(coded)), ":"+id) {
				t.Errorf("%s returns as %s", in, e.decode(coded))
			}
		}
	}
	for _, same := range []string{``, `x`, `[1]`, `{"id":"9007199254740993"}`, `{"id":null}`, `{"params":[9007199254740993]}`, `{"params":{"arguments":{"progressToken":9007199254740993}}}`} {
		if got := string(e.encode([]byte(same))); got != same {
			t.Errorf("%s becomes %s", same, got)
		}
	}
}

// A client with a byte-order mark and large ids gets its own ids back.
func TestExactAnswers(t *testing.T) {
	r := newRig(t, defaultOptions())
	for _, id := range exactNumbers {
		in, out := io.Pipe()
		lines := "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
		done := make(chan string)
		go func() {
			text, _ := io.ReadAll(in)
			done <- string(text)
		}()
		if err := r.server.ServeStream(context.Background(), testCaller(), nothingToClose{strings.NewReader(lines)}, out); err != nil {
			t.Fatal(err)
		}
		out.Close()
		if got := <-done; !strings.Contains(got, `"id":`+id+`,"result"`) || strings.Contains(got, "number-") {
			t.Errorf("over lines, %s: %s", id, got)
		}
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		} {
			req := protocoltest.Request(t.Context(), http.MethodPost, Path, "\xef\xbb\xbf"+body)
			req.Header.Set("Accept", "application/json, text/event-stream")
			got := r.Stream(req, 0)
			if !strings.Contains(got.Body, `"id":`+id+`,"result"`) || strings.Contains(got.Body, "number-") {
				t.Errorf("over HTTP, %s: %d %s", id, got.Code, got.Body)
			}
		}
	}
}

func TestComplete(t *testing.T) {
	forEachEra(t, defaultOptions, nil, func(t *testing.T, r *rig, s *sdk.ClientSession) {
		_, out, _ := callTool(t, s, "ponder_step", args{"question": "Why is the sky blue?"})
		id, _ := out["session"].(string)
		if len(id) < 10 {
			t.Fatalf("session %q", id)
		}
		complete := func(ref sdk.CompleteReference, name, value string) ([]string, error) {
			res, err := s.Complete(context.Background(), &sdk.CompleteParams{Ref: &ref, Argument: sdk.CompleteParamsArgument{Name: name, Value: value}})
			if err != nil {
				return nil, err
			}
			return res.Completion.Values, nil
		}
		template := sdk.CompleteReference{Type: "ref/resource", URI: sessionsURI + "{id}/report"}
		for value, want := range map[string]int{"": 1, strings.ToLower(id[:6]): 1, "zzz": 0} {
			for _, ref := range []struct {
				sdk.CompleteReference
				arg string
			}{{template, "id"}, {sdk.CompleteReference{Type: "ref/prompt", Name: "continue"}, "session"}} {
				got, err := complete(ref.CompleteReference, ref.arg, value)
				if err != nil || len(got) != want || want > 0 && got[0] != id {
					t.Errorf("%s %q: %v, %v", ref.Type, value, got, err)
				}
			}
		}
		for _, bad := range []struct {
			ref sdk.CompleteReference
			arg string
		}{{sdk.CompleteReference{Type: "ref/resource", URI: "ponder://other/{id}"}, "id"}, {template, "name"}, {sdk.CompleteReference{Type: "ref/prompt", Name: "none"}, "x"}} {
			if got, err := complete(bad.ref, bad.arg, ""); err == nil {
				t.Errorf("%+v: %v", bad, got)
			}
		}
	})
}

// A subscriber learns of new events of a session until it unsubscribes.
func TestSubscribe(t *testing.T) {
	updates := make(chan string, 100)
	options := func() *sdk.ClientOptions {
		return &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, req *sdk.ResourceUpdatedNotificationRequest) { updates <- req.Params.URI }}
	}
	test := func(t *testing.T, r *rig, s *sdk.ClientSession) {
		_, out, _ := callTool(t, s, "ponder_step", args{"question": "Why is the sky blue?"})
		id, _ := out["session"].(string)
		uri := sessionsURI + id + "/thoughts"
		ctx := context.Background()
		if err := s.Subscribe(ctx, &sdk.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
		await := func() {
			t.Helper()
			select {
			case got := <-updates:
				if got != uri {
					t.Errorf("told of %s", got)
				}
			case <-time.After(time.Minute):
				t.Fatal("no notification")
			}
		}
		if text, _, failed := callTool(t, s, "ponder_step", args{"session": id, "step": out["step"], "answer": answerPrompt(t, out["prompt"].(string))}); failed {
			t.Fatal(text)
		}
		await()
		if err := s.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, defaultOptions())
	for _, uri := range []string{sessionsURI + "nothing", sessionsURI + "x/y", "file:///etc/passwd", ""} {
		in, out := io.Pipe()
		lines := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"` + uri + `"}}`
		done := make(chan string)
		go func() {
			text, _ := io.ReadAll(in)
			done <- string(text)
		}()
		if err := r.server.ServeStream(context.Background(), testCaller(), nothingToClose{strings.NewReader(lines)}, out); err != nil {
			t.Fatal(err)
		}
		out.Close()
		if got := <-done; !strings.Contains(got, `"id":2,"error"`) || !strings.Contains(got, `"subscribe":true`) || !strings.Contains(got, `"completions"`) {
			t.Errorf("%q: %s", uri, got)
		}
	}
	t.Run("lines", func(t *testing.T) { test(t, r, r.openStream(t, "2025-11-25", testCaller(), options())) })
	t.Run("http", func(t *testing.T) {
		test(t, r, r.dialServer(t, r.Server().URL, "2025-11-25", protocoltest.Mine, options()))
	})
}
