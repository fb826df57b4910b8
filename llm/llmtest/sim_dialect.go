package llmtest

import (
	"net/http"
	"strings"
	"time"
)

// A dialect is how one provider writes what all of them say.
type dialect struct {
	name        string
	key         func(*http.Request) string           // that the request came with
	refuse      func(failure) (status int, b []byte) // of an error
	inband      func(failure) []byte                 // an error event in a stream
	whole       func(*ask, *reply) []byte            // an answer in one piece
	stream      func(*stream, *ask, *reply)          // an answer in events
	limits      func(h http.Header, limit, left int, full time.Duration, now time.Time)
	retryForm   RetryForm
	blocks      bool   // refuses prompts in an answer rather than with an error
	contentType string // of a stream
	garbage     string // an event that cannot be read
	comment     string // what keeps a stream alive
}

// A parser reads what a request asks for, and checks it as the provider does.
type parser func(x *exchange, model string, body []byte) (*ask, failure, bool)

// A target is where a request goes.
type target struct {
	dialect *dialect
	model   string // in the path
	serve   func(x *exchange, model string, body []byte)
}

// generate returns what serves a model's answers.
func generate(parse parser) func(*exchange, string, []byte) {
	return func(x *exchange, model string, body []byte) {
		a, why, ok := parse(x, model, body)
		if !ok {
			x.fail(why)
			return
		}
		x.complete(a)
	}
}

// route finds out where a request goes; its serve is nil if nowhere.
func route(r *http.Request) target {
	path := strings.TrimSuffix(r.URL.Path, "/")
	for _, host := range []string{"/openai", "/anthropic", "/gemini", "/ollama"} {
		if rest, ok := strings.CutPrefix(path, host); ok && (rest == "" || rest[0] == '/') {
			if path = rest; host == "/anthropic" && r.Method == http.MethodGet {
				return anthropicModels(path)
			}
		}
	}
	if model, ok := strings.CutPrefix(path, "/v1beta/models"); ok {
		return geminiTarget(r.Method, strings.TrimPrefix(model, "/"))
	}
	if r.Method == http.MethodGet && strings.HasPrefix(path, "/v1/models") && r.Header.Get("anthropic-version") != "" {
		return anthropicModels(path)
	}
	if model, ok := strings.CutPrefix(path, "/v1/models/"); ok && r.Method == http.MethodGet {
		return target{openaiDialect(), model, serveOpenAIModel}
	}
	switch r.Method + " " + path {
	case "POST /v1/chat/completions", "POST /chat/completions":
		return target{openaiDialect(), "", generate(parseChat)}
	case "POST /v1/responses", "POST /responses":
		return target{responsesDialect(), "", generate(parseResponses)}
	case "GET /v1/models", "GET /models":
		return target{openaiDialect(), "", serveOpenAIModels}
	case "POST /v1/embeddings", "POST /embeddings":
		return target{openaiDialect(), "", serveOpenAIEmbeddings}
	case "POST /v1/messages":
		return target{anthropicDialect(), "", generate(parseAnthropic)}
	case "POST /v1/messages/count_tokens":
		return target{anthropicDialect(), "", serveAnthropicCount}
	}
	return ollamaTarget(r.Method, path)
}

// bearer is the key of an Authorization header.
func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// sse appends an event of data.
func sse(b []byte, data string) []byte {
	return append(append(append(b, "data: "...), data...), "\n\n"...)
}
