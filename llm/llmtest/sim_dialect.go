package llmtest

import (
	"net/http"
	"strings"
	"time"
)

// A dialect is one provider's wire format.
type dialect struct {
	name        string
	key         func(*http.Request) string           // returns the request's key
	refuse      func(failure) (status int, b []byte) // returns an error response
	inband      func(failure) []byte                 // returns an error event
	whole       func(*ask, *reply) []byte            // returns a complete answer
	stream      func(*stream, *ask, *reply)          // writes a streamed answer
	limits      func(h http.Header, limit, left int, full time.Duration, now time.Time)
	retryForm   RetryForm
	blocks      bool   // refuses a prompt in an answer, not by an error
	contentType string // of a stream
	garbage     string // an invalid event
	comment     string // a keep-alive
}

// A parser parses and checks a request as the provider does.
type parser func(x *exchange, model string, body []byte) (*ask, failure, bool)

// A target is a request's route.
type target struct {
	dialect *dialect
	model   string // from the path
	serve   func(x *exchange, model string, body []byte)
}

// generate returns a handler for model answers.
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

// route returns a request's target; serve is nil if there is none.
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

// bearer returns the key in the Authorization header.
func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// sse appends a data event.
func sse(b []byte, data string) []byte {
	return append(append(append(b, "data: "...), data...), "\n\n"...)
}
