package llmtest_test

import (
	"net/http"
	"strings"
	"testing"

	"ponder/llm/llmtest"
)

func TestSimRefusesWhatProvidersRefuse(t *testing.T) {
	chat := func(rest string) call { return call{path: "/v1/chat/completions", body: `{"model":"m",` + rest + `}`} }
	responses := func(rest string) call { return call{path: "/v1/responses", body: `{"model":"m",` + rest + `}`} }
	anthropic := func(rest string) call {
		return call{path: "/v1/messages", header: versionHeader(), body: `{"model":"m","max_tokens":2000,` + rest + `}`}
	}
	gemini := func(rest string) call {
		return call{path: "/v1beta/models/gemini-3-pro:generateContent", body: `{` + rest + `}`}
	}
	const user = `"messages":[{"role":"user","content":"Hello."}]`
	tests := []struct {
		name string
		call call
		want string // in the message
	}{
		{"openai not JSON", call{path: "/v1/chat/completions", body: `{"model":`}, "parse the JSON body"},
		{"openai no model", call{path: "/v1/chat/completions", body: `{` + user + `}`}, "model parameter"},
		{"openai no messages", chat(`"messages":[]`), "empty array"},
		{"openai role", chat(`"messages":[{"role":"robot","content":"x"}]`), "Invalid value: 'robot'"},
		{"openai two limits", chat(user + `,"max_tokens":1,"max_completion_tokens":2`), "at the same time"},
		{"openai choice without tools", chat(user + `,"tool_choice":"auto"`), "only allowed when 'tools'"},
		{"openai result without call", chat(`"messages":[{"role":"tool","tool_call_id":"x","content":"y"}]`), "must be a response to a preceeding message"},
		{"openai call without result", chat(`"messages":[{"role":"assistant","tool_calls":[{"id":"call_1","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"x"}]`), "call_1"},
		{"openai open object in strict schema", chat(user + `,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`), "'additionalProperties' is required"},
		{"openai optional property in strict schema", chat(user + `,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":[],"additionalProperties":false}}}`), "Missing 'a'"},
		{"openai schema without name", chat(user + `,"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`), "json_schema.name"},
		{"responses no input", responses(`"stream":true`), "'input'"},
		{"responses output without call", responses(`"input":[{"type":"function_call_output","call_id":"c","output":"x"}]`), "No tool call found"},
		{"responses call without output", responses(`"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`), "No tool output found"},
		{"responses another's reasoning", responses(`"input":[{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAAA","summary":[]},{"role":"user","content":"x"}]`), "could not be verified"},
		{"responses reasoning alone", responses(`"input":[{"role":"user","content":"x"},{"type":"reasoning","id":"rs_1","summary":[]}]`), "required following item"},
		{"anthropic no version", call{path: "/v1/messages", body: `{"model":"m","max_tokens":1,` + user + `}`}, "anthropic-version"},
		{"anthropic no limit", call{path: "/v1/messages", header: versionHeader(), body: `{"model":"m",` + user + `}`}, "max_tokens: Field required"},
		{"anthropic empty text", anthropic(`"messages":[{"role":"user","content":[{"type":"text","text":""}]}]`), "must be non-empty"},
		{"anthropic small budget", anthropic(user + `,"thinking":{"type":"enabled","budget_tokens":100}`), "1024"},
		{"anthropic budget over limit", anthropic(user + `,"thinking":{"type":"enabled","budget_tokens":2000}`), "must be greater than"},
		{"anthropic temperature while thinking", anthropic(user + `,"temperature":0.2,"thinking":{"type":"enabled","budget_tokens":1024}`), "temperature"},
		{"anthropic result without call", anthropic(`"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]`), "unexpected `tool_use_id`"},
		{"anthropic call without result", anthropic(`"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":"x"}]`), "without `tool_result`"},
		{"anthropic input not an object", anthropic(`"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":"x"}]}]`), "valid dictionary"},
		{"anthropic another's thought", anthropic(`"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"abc"}]}]`), "Invalid `signature`"},
		{"anthropic open schema", anthropic(user + `,"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{}}}}}`), "additionalProperties"},
		{"anthropic bounds in schema", anthropic(user + `,"output_config":{"format":{"type":"json_schema","schema":{"type":"number","minimum":1}}}`), "'minimum' is not supported"},
		{"gemini no contents", gemini(`"contents":[]`), "contents is not specified"},
		{"gemini role", gemini(`"contents":[{"role":"assistant","parts":[{"text":"x"}]}]`), "valid role"},
		{"gemini types in schema", gemini(`"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":["null","string"]}}`), "cannot start list"},
		{"gemini reference in schema", gemini(`"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseMimeType":"application/json","responseSchema":{"$ref":"#"}}`), "$ref"},
		{"gemini schema without type", gemini(`"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseSchema":{}}`), "mime type"},
		{"gemini another's thought", gemini(`"contents":[{"role":"model","parts":[{"text":"x","thoughtSignature":"abc"}]}]`), "signature is not valid"},
		{"gemini call without signature", gemini(`"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}]`), "missing a thought_signature"},
		{"ollama format", call{path: "/api/chat", body: `{"model":"m",` + user + `,"format":"xml"}`}, "invalid format"},
		{"ollama no model", call{path: "/api/chat", body: `{` + user + `}`}, "model is required"},
	}
	base := llmtest.Serve(t, llmtest.NewSim(llmtest.SimConfig{}))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := test.call.send(t, http.DefaultClient, base)
			if a.status != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(a.body, `\"`, `"`), test.want) {
				t.Errorf("%d %s, want 400 with %s", a.status, a.body, test.want)
			}
		})
	}
}

// Any body gives JSON or a stream.
func FuzzSim(f *testing.F) {
	paths := []string{
		"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/v1/embeddings",
		"/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent", "/v1beta/models/m:countTokens",
		"/v1beta/models/m:batchEmbedContents", "/api/chat", "/api/generate", "/api/embed", "/api/show", "/sim/config",
	}
	for i := range paths {
		for _, c := range newCalls("Why do foxes dig?", i%2 == 0) {
			f.Add(uint8(i), c.body)
		}
	}
	sim := llmtest.NewSim(llmtest.SimConfig{Chunks: 3})
	f.Fuzz(func(t *testing.T, i uint8, body string) {
		path := paths[int(i)%len(paths)]
		w := newRecorder()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("anthropic-version", "2023-06-01")
		if path == "/sim/config" {
			llmtest.NewSim(llmtest.SimConfig{}).ServeHTTP(w, r)
		} else {
			sim.ServeHTTP(w, r)
		}
		if w.status == 0 || w.body.Len() == 0 {
			t.Errorf("status %d with %d bytes", w.status, w.body.Len())
		}
	})
}

type recorder struct {
	header http.Header
	status int
	body   strings.Builder
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func (r *recorder) FlushError() error { return nil }
