package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func TestAddresses(t *testing.T) {
	tests := []struct {
		name   string
		config Config
		want   string
		auth   string
	}{
		{"openai", Config{}, "POST https://api.openai.com/v1/responses", "Authorization: Bearer secret-key-7"},
		{"openai, chat", Config{Chat: true}, "POST https://api.openai.com/v1/chat/completions", "Authorization: Bearer secret-key-7"},
		{"a path", Config{BaseURL: "https://api.groq.com/openai/v1/"}, "POST https://api.groq.com/openai/v1/chat/completions", "Authorization: Bearer secret-key-7"},
		{"no path", Config{BaseURL: "http://localhost:8080"}, "POST http://localhost:8080/v1/chat/completions", "Authorization: Bearer secret-key-7"},
		{"the root", Config{BaseURL: "https://api.perplexity.ai/"}, "POST https://api.perplexity.ai/chat/completions", "Authorization: Bearer secret-key-7"},
		{"the whole route", Config{BaseURL: "http://localhost:8080/v1/chat/completions"}, "POST http://localhost:8080/v1/chat/completions", "Authorization: Bearer secret-key-7"},
		{"a query", Config{BaseURL: "https://x.openai.azure.com/openai/deployments/d?api-version=1"}, "POST https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1", "Api-Key: secret-key-7"},
		{"a token for azure", Config{BaseURL: "https://x.openai.azure.com/openai/v1", Key: "eyJ0"}, "POST https://x.openai.azure.com/openai/v1/chat/completions", "Authorization: Bearer eyJ0"},
		{"responses elsewhere", Config{BaseURL: "https://x.openai.azure.com/openai/v1", Responses: true}, "POST https://x.openai.azure.com/openai/v1/responses", "Api-Key: secret-key-7"},
		{"not a neighbour", Config{BaseURL: "https://api.openai.com.evil.test/v1"}, "POST https://api.openai.com.evil.test/v1/chat/completions", "Authorization: Bearer secret-key-7"},
		{"headers", Config{BaseURL: "http://localhost", Header: http.Header{"x-extra": {"1"}}}, "POST http://localhost/v1/chat/completions", "X-Extra: 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, p := serveCanned(t, tt.config, cannedAnswer{500, "", ""})
			_, _ = llmtest.Generate(t, p.Model("m"), askRequest("x"))
			name, value, _ := strings.Cut(tt.auth, ": ")
			if got := server.paths[0]; !strings.HasSuffix(tt.want, strings.TrimPrefix(got, "POST ")) {
				t.Errorf("asked %s, want %s", got, tt.want)
			}
			if got := server.headers[0].Get(name); got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	wrongKey := refuseAnswer(401, "Incorrect API key provided: secret-key-7")
	tests := []struct {
		name   string
		config Config
		answer cannedAnswer
		want   string
	}{
		{"key", Config{}, wrongKey, "openai/gpt-5.2: key rejected (401): set OPENAI_API_KEY"},
		{"key of another host", Config{Name: "groq", BaseURL: "https://api.groq.com/openai/v1"}, wrongKey, "groq/gpt-5.2: key rejected (401): set GROQ_API_KEY"},
		{"key of an unknown host", Config{Name: "my-box", BaseURL: "http://localhost"}, wrongKey, "my-box/gpt-5.2: key rejected (401): set MY_BOX_API_KEY"},
		{"key with a name", Config{KeyEnv: "THE_KEY"}, wrongKey, "openai/gpt-5.2: key rejected (401): set THE_KEY"},
		{"no model", Config{}, refuseAnswer(404, "The model `gpt-5.2` does not exist"), "openai/gpt-5.2: The model `gpt-5.2` does not exist (404): check the model's name and the base URL"},
		{"no money", Config{}, refuseAnswer(402, "no"), "openai/gpt-5.2: no (402): check the account's balance"},
		{"a secret", Config{}, refuseAnswer(400, "bad header secret-key-7"), "openai/gpt-5.2: bad header [redacted] (400)"},
		{"base URL", Config{BaseURL: "localhost:8080"}, wrongKey, "openai/gpt-5.2: the base URL is invalid: use one such as https://api.openai.com/v1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, p := serveCanned(t, tt.config, tt.answer)
			_, err := llmtest.Generate(t, p.Model("gpt-5.2"), askRequest("x"))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// A cancelled answer has estimated usage.
func TestCancelledUsage(t *testing.T) {
	_, p := serveCanned(t, Config{Chat: true}, streamAnswer(sayChunk("123456")+sayChunk("x")))
	var last error
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for d, err := range p.Model("m").Generate(ctx, askRequest("123")) {
		if last = err; d.Text == "123456" {
			stop()
		}
	}
	var e *llm.Error
	if !errors.As(last, &e) || e.Usage.Input != 1 || e.Usage.Output < 2 || !e.Usage.Estimated {
		t.Errorf("got %+v", e)
	}
}

func TestUsage(t *testing.T) {
	cost := func(n int64) *int64 { return &n }
	tests := []struct {
		name, in string
		want     llm.Usage
	}{
		{"plain", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`, llm.Usage{Input: 10, Output: 5}},
		{"cached", `{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}`,
			llm.Usage{Input: 3, CacheRead: 4, CacheWrite: 3, Output: 5, Reasoning: 2}},
		{"reasoning apart", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":2}}`, llm.Usage{Input: 10, Output: 7, Reasoning: 2}},
		{"reasoning within", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":2}}`, llm.Usage{Input: 10, Output: 5, Reasoning: 2}},
		{"more reasoning than output", `{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":20}}`, llm.Usage{Input: 10, Output: 25, Reasoning: 20}},
		{"deepseek", `{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`, llm.Usage{Input: 2, CacheRead: 8, Output: 5}},
		{"moonshot", `{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":8}`, llm.Usage{Input: 2, CacheRead: 8, Output: 5}},
		{"responses", `{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":5}}`, llm.Usage{Input: 6, CacheRead: 4, Output: 5, Reasoning: 5}},
		{"cost", `{"prompt_tokens":1,"completion_tokens":1,"cost":0.00009595}`, llm.Usage{Input: 1, Output: 1, Cost: cost(96)}},
		{"cost in words", `{"prompt_tokens":1,"completion_tokens":1,"cost":"0.5"}`, llm.Usage{Input: 1, Output: 1, Cost: cost(500000)}},
		{"cost of one's own key", `{"prompt_tokens":1,"completion_tokens":1,"cost":0.001,"is_byok":true,"cost_details":{"upstream_inference_cost":0.01}}`, llm.Usage{Input: 1, Output: 1, Cost: cost(11000)}},
		{"cost in ticks", `{"prompt_tokens":1,"completion_tokens":1,"cost_in_usd_ticks":25000}`, llm.Usage{Input: 1, Output: 1, Cost: cost(3)}},
		{"cost in ticks in words", `{"prompt_tokens":1,"completion_tokens":1,"cost_in_usd_ticks":"25000"}`, llm.Usage{Input: 1, Output: 1, Cost: cost(3)}},
		{"ticks that are none", `{"prompt_tokens":1,"completion_tokens":1,"cost_in_usd_ticks":{}}`, llm.Usage{Input: 1, Output: 1}},
		{"free", `{"prompt_tokens":1,"completion_tokens":1,"cost":0}`, llm.Usage{Input: 1, Output: 1, Cost: cost(0)}},
		{"cost that is none", `{"prompt_tokens":1,"completion_tokens":1,"cost":"much"}`, llm.Usage{Input: 1, Output: 1}},
		{"lies", `{"prompt_tokens":-5,"completion_tokens":-1,"cost":-1,"prompt_tokens_details":{"cached_tokens":100}}`, llm.Usage{}},
		{"more cached than read", `{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":7}}`, llm.Usage{CacheRead: 5, Output: 1}},
		{"huge", `{"prompt_tokens":9000000000000000000,"completion_tokens":9000000000000000000}`, llm.Usage{Input: maxCount, Output: maxCount}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var u usage
			if err := unmarshalLenient([]byte(tt.in), &u); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, u.toUsage()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	models := cannedAnswer{200, "application/json", `{"object":"list","data":[{"id":"a-1"},{"id":"m-1"},{"id":"m-2"},{"id":"b"},{"id":"c"},{"id":"d"},{"id":"e"}]}`}
	tests := []struct {
		name, host, id string
		answers        []cannedAnswer
		want           string // error, or ""
		paths          []string
	}{
		{"there", "localhost", "m-1", []cannedAnswer{models}, "", []string{"GET /v1/models", "GET /props?autoload=false&model=m-1", "GET /api/v0/models", "GET /api/ps", "GET /info", "GET /get_server_info"}},
		{"there, with a context", "localhost", "m-1", []cannedAnswer{{200, "application/json", `{"data":[{"id":"m-1","max_model_len":4096}]}`}}, "", []string{"GET /v1/models"}},
		{"there, at a known host", "api.groq.com", "m-1", []cannedAnswer{models}, "", []string{"GET /v1/models"}},
		{"not there", "localhost", "m-3", []cannedAnswer{models}, "openai/m-3: no such model: it has m-1, m-2, a-1, b, c and 2 more", nil},
		{"a variant", "router.huggingface.co", "m-1:groq", []cannedAnswer{models}, "", nil},
		{"list of some", "x.openai.azure.com", "m-3", []cannedAnswer{models}, "", nil},
		{"no list", "localhost", "m-1", []cannedAnswer{refuseAnswer(404, "no")}, "", nil},
		{"not allowed to list", "localhost", "m-1", []cannedAnswer{refuseAnswer(405, "no")}, "", nil},
		{"no such route", "localhost", "m-1", []cannedAnswer{refuseAnswer(400, "unknown path")}, "", nil},
		{"a broker that does not tell about keys", "openrouter.ai", "m-1", []cannedAnswer{models, refuseAnswer(404, "no")}, "", nil},
		{"not there, at a broker", "openrouter.ai", "m-3", []cannedAnswer{models, refuseAnswer(404, "no")}, "openai/m-3: no such model: it has m-1, m-2, a-1, b, c and 2 more", nil},
		{"vectors at a broker", "openrouter.ai", "text-embedding-3-small", []cannedAnswer{models}, "", nil},
		{"the latest", "api.x.ai", "m-latest", []cannedAnswer{models}, "", nil},
		{"empty list", "localhost", "m-1", []cannedAnswer{{200, "application/json", `{"data":[]}`}}, "", nil},
		{"list in another form", "localhost", "m-1", []cannedAnswer{{200, "application/json", `[{"id":"x"}]`}}, "", nil},
		{"llama.cpp", "localhost", "anything", []cannedAnswer{{200, "application/json", `{"data":[{"id":"x.gguf","owned_by":"llamacpp"}]}`}}, "", nil},
		{"wrong key", "api.openai.com", "m-1", []cannedAnswer{refuseAnswer(401, "no")}, "openai/m-1: key rejected (401): set OPENAI_API_KEY", nil},
		{"wrong key at openrouter", "openrouter.ai", "m-1", []cannedAnswer{models, refuseAnswer(401, "no")}, "openai/m-1: key rejected (401): set OPENROUTER_API_KEY", []string{"GET /v1/models", "GET /v1/key"}},
		{"error with status 200", "localhost", "m-1", []cannedAnswer{{200, "application/json", `{"error":{"message":"down","type":"server_error"}}`}}, "openai/m-1: down", nil},
		{"server down", "localhost", "m-1", []cannedAnswer{{503, "", ""}}, "openai/m-1: service unavailable (503)", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, p := serveCanned(t, Config{BaseURL: "https://" + tt.host}, tt.answers...)
			err := p.Check(t.Context(), tt.id)
			if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if tt.paths != nil && !reflect.DeepEqual(server.paths, tt.paths) {
				t.Errorf("asked %q, want %q", server.paths, tt.paths)
			}
		})
	}
}

func TestEmbed(t *testing.T) {
	vectors := func(s string) cannedAnswer {
		return cannedAnswer{200, "application/json", `{"data":[` + s + `],"usage":{"prompt_tokens":3,"total_tokens":3}}`}
	}
	two := []string{"a", ""}
	tests := []struct {
		name   string
		answer cannedAnswer
		want   [][]float32
		class  llm.Class
	}{
		{"in order", vectors(`{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}`), [][]float32{{1, 2}, {3, 4}}, ""},
		{"out of order", vectors(`{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}`), [][]float32{{1, 2}, {3, 4}}, ""},
		{"not numbered", vectors(`{"embedding":[1,2]},{"embedding":[3,4]}`), [][]float32{{1, 2}, {3, 4}}, ""},
		{"too few", vectors(`{"index":0,"embedding":[1,2]}`), nil, llm.Malformed},
		{"too many", vectors(`{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}`), nil, llm.Malformed},
		{"of different lengths", vectors(`{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3]}`), nil, llm.Malformed},
		{"empty", vectors(`{"index":0,"embedding":[]},{"index":1,"embedding":[]}`), nil, llm.Malformed},
		{"not JSON", cannedAnswer{200, "application/json", `{`}, nil, llm.Truncated},
		{"error", cannedAnswer{200, "application/json", `{"error":"boom"}`}, nil, llm.Transient},
		{"refused", refuseAnswer(404, "no such model"), nil, llm.NotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, p := serveCanned(t, Config{}, tt.answer)
			got, used, err := p.Embed(t.Context(), "e", two)
			if tt.class != "" && (err == nil || llm.ClassOf(err) != tt.class || !strings.HasPrefix(err.Error(), "openai/e: ")) {
				t.Fatalf("got %v, want %s", err, tt.class)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.class == "" && used != (llm.Usage{Input: 3}) {
				t.Errorf("usage is %+v", used)
			}
			if got := string(rawJSON(server.asked[0]["input"])); got != `["a"," "]` {
				t.Errorf("asked for %s", got)
			}
		})
	}
}

// Many texts take several requests, in order.
func TestEmbedMany(t *testing.T) {
	server, p := serveCanned(t, Config{}, cannedAnswer{})
	server.answers = nil
	texts := make([]string, 2*maxTexts+10)
	for n := len(texts); n > 0; n -= maxTexts {
		var list []string
		for i := range min(n, maxTexts) {
			list = append(list, fmt.Sprintf(`{"index":%d,"embedding":[%d]}`, i, len(texts)-n+i))
		}
		server.answers = append(server.answers, cannedAnswer{200, "application/json", `{"data":[` + strings.Join(list, ",") + `],"usage":{"prompt_tokens":1,"cost":0.000002}}`})
	}
	got, used, err := p.Embed(t.Context(), "e", texts)
	if err != nil || len(server.asked) != 3 || used.Input != 3 || used.Cost == nil || *used.Cost != 6 {
		t.Fatalf("%d requests, %+v, %v", len(server.asked), used, err)
	}
	for i, v := range got {
		if v[0] != float32(i) {
			t.Fatalf("vector %d is %v", i, v)
		}
	}
	if n := batchSize([]string{strings.Repeat("x", maxTextBytes+1), "y"}); n != 1 {
		t.Errorf("a long text is sent with %d others", n-1)
	}
}
