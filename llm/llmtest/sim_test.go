package llmtest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm/llmtest"
)

var update = flag.Bool("update", false, "write golden files")

type call struct {
	method, path, body string
	header             map[string]string
}

type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

func (c call) send(t *testing.T, client *http.Client, base string) answer {
	t.Helper()
	method := c.method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, base+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, c.path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b), err}
}

func (c call) sendTo(t *testing.T, config llmtest.SimConfig) answer {
	t.Helper()
	return c.send(t, http.DefaultClient, llmtest.Serve(t, llmtest.NewSim(config)))
}

// Anthropic requires it.
func versionHeader() map[string]string { return map[string]string{"anthropic-version": "2023-06-01"} }

func newCalls(text string, stream bool) map[string]call {
	q, s := string(mustJSON(text)), fmt.Sprint(stream)
	verb := map[bool]string{false: ":generateContent", true: ":streamGenerateContent?alt=sse"}[stream]
	return map[string]call{
		"openai":    {path: "/v1/chat/completions", body: `{"model":"m","stream":` + s + `,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":` + q + `}]}`},
		"responses": {path: "/v1/responses", body: `{"model":"m","stream":` + s + `,"input":` + q + `}`},
		"anthropic": {path: "/v1/messages", header: versionHeader(), body: `{"model":"m","max_tokens":1000,"stream":` + s + `,"messages":[{"role":"user","content":` + q + `}]}`},
		"gemini":    {path: "/v1beta/models/m" + verb, body: `{"contents":[{"role":"user","parts":[{"text":` + q + `}]}]}`},
		"ollama":    {path: "/api/chat", body: `{"model":"m","stream":` + s + `,"messages":[{"role":"user","content":` + q + `}]}`},
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// answerText joins text fields of any dialect.
func answerText(body string) string {
	var text strings.Builder
	for line := range strings.Lines(body) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		var v struct {
			Type    string
			Delta   json.RawMessage
			Content []struct{ Text string }
			Choices []struct {
				Delta, Message struct{ Content string }
			}
			Candidates []struct {
				Content struct {
					Parts []struct {
						Text    string
						Thought bool
					}
				}
			}
			Message struct{ Content json.RawMessage }
			Output  []struct{ Content []struct{ Text string } }
		}
		if json.Unmarshal([]byte(line), &v) != nil {
			continue
		}
		var delta struct{ Text string }
		var plain string
		if json.Unmarshal(v.Delta, &delta) == nil {
			text.WriteString(delta.Text)
		} else if json.Unmarshal(v.Delta, &plain) == nil && v.Type == "response.output_text.delta" {
			text.WriteString(plain)
		}
		if json.Unmarshal(v.Message.Content, &plain) == nil {
			text.WriteString(plain)
		}
		for _, c := range v.Choices {
			text.WriteString(c.Delta.Content + c.Message.Content)
		}
		for _, c := range v.Candidates {
			for _, p := range c.Content.Parts {
				if !p.Thought {
					text.WriteString(p.Text)
				}
			}
		}
		for _, c := range v.Content {
			text.WriteString(c.Text)
		}
		for _, o := range v.Output {
			for _, c := range o.Content {
				text.WriteString(c.Text)
			}
		}
	}
	return text.String()
}

func TestSimAnswersTheSameInEveryDialect(t *testing.T) {
	base := llmtest.Serve(t, llmtest.NewSim(llmtest.SimConfig{Seed: 3}))
	texts := map[string][]string{}
	for range 2 {
		for _, stream := range []bool{true, false} {
			for name, c := range newCalls("How do layers of awareness interact?", stream) {
				a := c.send(t, http.DefaultClient, base)
				if a.status != http.StatusOK || a.err != nil {
					t.Fatalf("%s: %d %v %s", name, a.status, a.err, a.body)
				}
				texts[answerText(a.body)] = append(texts[answerText(a.body)], name)
			}
		}
	}
	if len(texts) != 1 {
		t.Errorf("the same question has %d answers: %v", len(texts), texts)
	}
	for text := range texts {
		if !strings.Contains(text, "awareness") {
			t.Errorf("the answer is not about the question: %q", text)
		}
	}
}

func TestSimAnswersDifferBySeedAndQuestion(t *testing.T) {
	texts := map[string]bool{}
	for seed := range uint64(3) {
		for _, q := range []string{"Why do foxes dig?", "Why do foxes hunt?"} {
			texts[answerText(newCalls(q, true)["openai"].sendTo(t, llmtest.SimConfig{Seed: seed}).body)] = true
		}
	}
	if len(texts) != 6 {
		t.Errorf("%d different answers, want 6", len(texts))
	}
}

// Differs between runs.
var volatile = regexp.MustCompile(`("(?:created|created_at|total_duration|eval_duration)": ?)(?:\d+|"[^"]*")`)

func TestSimGolden(t *testing.T) {
	config := llmtest.SimConfig{Seed: 1, Chunks: 3, Cached: 0.25, Behaviours: map[llmtest.Behaviour]float64{llmtest.Reason: 1}}
	tools := map[string]call{}
	for name, c := range newCalls("Please look_up the fox.", true) {
		schema := `{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}`
		list := map[string]string{
			"openai":    `"tools":[{"type":"function","function":{"name":"look_up","parameters":` + schema + `}}]`,
			"ollama":    `"tools":[{"type":"function","function":{"name":"look_up","parameters":` + schema + `}}]`,
			"responses": `"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"look_up","parameters":` + schema + `}]`,
			"anthropic": `"tools":[{"name":"look_up","input_schema":` + schema + `}]`,
			"gemini":    `"tools":[{"functionDeclarations":[{"name":"look_up","parameters":` + schema + `}]}]`,
		}[name]
		c.body = strings.TrimSuffix(c.body, "}") + "," + list + "}"
		tools[name] = c
	}
	for kind, calls := range map[string]map[string]call{"stream": newCalls("Why do foxes dig?", true), "whole": newCalls("Why do foxes dig?", false), "tools": tools} {
		for name, c := range calls {
			t.Run(name+" "+kind, func(t *testing.T) {
				a := c.sendTo(t, config)
				got := fmt.Sprintf("%d %s\n\n%s", a.status, a.header.Get("Content-Type"), volatile.ReplaceAllString(a.body, "${1}0"))
				checkGolden(t, filepath.Join("testdata", "sim", name+"-"+kind+".golden"), got)
			})
		}
	}
}

func checkGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestSimOtherEndpoints(t *testing.T) {
	config := llmtest.SimConfig{Models: []string{"one", "two:8b"}}
	tests := []struct {
		name   string
		call   call
		status int
		want   string
	}{
		{"openai models", call{method: "GET", path: "/v1/models"}, 200, `"id":"two:8b"`},
		{"openai model", call{method: "GET", path: "/v1/models/one"}, 200, `"id":"one"`},
		{"openai missing model", call{method: "GET", path: "/v1/models/three"}, 404, `"code":"model_not_found"`},
		{"openai embeddings", call{path: "/v1/embeddings", body: `{"model":"one","input":["a","b"],"dimensions":3}`}, 200, `"total_tokens":2`},
		{"openai base64", call{path: "/v1/embeddings", body: `{"model":"one","input":"a","encoding_format":"base64","dimensions":2}`}, 200, `"embedding":"`},
		{"openai no input", call{path: "/v1/embeddings", body: `{"model":"one"}`}, 400, `"param":"input"`},
		{"anthropic model", call{method: "GET", path: "/v1/models/one", header: versionHeader()}, 200, `"display_name":"one"`},
		{"anthropic models", call{method: "GET", path: "/anthropic/v1/models"}, 200, `"has_more":false`},
		{"anthropic missing model", call{method: "GET", path: "/v1/models/three", header: versionHeader()}, 404, `"not_found_error"`},
		{"anthropic count", call{path: "/v1/messages/count_tokens", body: `{"model":"one","messages":[{"role":"user","content":"Hello there."}]}`}, 200, `"input_tokens":10`},
		{"gemini model", call{method: "GET", path: "/v1beta/models/one"}, 200, `"name":"models/one"`},
		{"gemini models", call{method: "GET", path: "/gemini/v1beta/models"}, 200, `"models/two:8b"`},
		{"gemini missing model", call{method: "GET", path: "/v1beta/models/three"}, 404, `"status":"NOT_FOUND"`},
		{"gemini embeddings", call{path: "/v1beta/models/one:batchEmbedContents", body: `{"requests":[{"content":{"parts":[{"text":"a"}]},"outputDimensionality":2}]}`}, 200, `"embeddings":[{"values":[`},
		{"gemini embedding", call{path: "/v1beta/models/one:embedContent", body: `{"content":{"parts":[{"text":"a"}]}}`}, 200, `"embedding":{"values":[`},
		{"gemini count", call{path: "/v1beta/models/one:countTokens", body: `{"contents":[{"parts":[{"text":"Hello there."}]}]}`}, 200, `"totalTokens":10`},
		{"gemini array", call{path: "/v1beta/models/one:streamGenerateContent", body: `{"contents":[{"parts":[{"text":"Hello."}]}]}`}, 200, `[{"candidates":`},
		{"ollama tags", call{method: "GET", path: "/api/tags"}, 200, `"name":"one:latest"`},
		{"ollama show", call{path: "/api/show", body: `{"model":"one"}`}, 200, `"thinking":{"default":false,"values":[false,true]}`},
		{"ollama missing model", call{path: "/api/show", body: `{"model":"three"}`}, 404, `model 'three' not found`},
		{"ollama embed", call{path: "/api/embed", body: `{"model":"one","input":"a","dimensions":2}`}, 200, `"embeddings":[[`},
		{"ollama generate", call{path: "/api/generate", body: `{"model":"one","prompt":"Hello."}`}, 200, `"response":"`},
		{"ollama version", call{method: "GET", path: "/api/version"}, 200, `"version"`},
		{"ollama root", call{method: "GET", path: "/"}, 200, "Ollama is running"},
		{"nothing", call{method: "GET", path: "/v2/else"}, 404, "Invalid URL"},
	}
	base := llmtest.Serve(t, llmtest.NewSim(config))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := test.call.send(t, http.DefaultClient, base)
			if a.status != test.status || !strings.Contains(a.body, test.want) {
				t.Errorf("%d %s, want %d with %s", a.status, a.body, test.status, test.want)
			}
		})
	}
}
