package llmtest

import (
	"net/http"
	"strings"
	"time"
)

type dialect struct {
	name        string
	key         func(*http.Request) string           // of the request
	refuse      func(failure) (status int, b []byte) // error
	inband      func(failure) []byte                 // error event
	whole       func(*parsedRequest, *reply) []byte
	stream      func(*stream, *parsedRequest, *reply)
	limits      func(h http.Header, limit, left int, full time.Duration, now time.Time)
	retryForm   RetryForm
	blocks      bool   // refuses in an answer
	contentType string // of a stream
	garbage     string // invalid event
	comment     string // keep-alive
}

// A parser also checks like the provider.
type parser func(x *exchange, model string, body []byte) (*parsedRequest, failure, bool)

type target struct {
	dialect *dialect
	model   string // from the path
	serve   func(x *exchange, model string, body []byte)
}

func completionHandler(parse parser) func(*exchange, string, []byte) {
	return func(x *exchange, model string, body []byte) {
		a, why, ok := parse(x, model, body)
		if !ok {
			x.sendFailure(why)
			return
		}
		x.completeRequest(a)
	}
}

// routeRequest returns a nil serve for unknown paths.
func routeRequest(r *http.Request) target {
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
		return target{openaiDialect(), "", completionHandler(parseChat)}
	case "POST /v1/responses", "POST /responses":
		return target{responsesDialect(), "", completionHandler(parseResponses)}
	case "GET /v1/models", "GET /models":
		return target{openaiDialect(), "", serveOpenAIModels}
	case "POST /v1/embeddings", "POST /embeddings":
		return target{openaiDialect(), "", serveOpenAIEmbeddings}
	case "POST /v1/messages":
		return target{anthropicDialect(), "", completionHandler(parseAnthropic)}
	case "POST /v1/messages/count_tokens":
		return target{anthropicDialect(), "", serveAnthropicCount}
	}
	if to := contextTarget(r, path); to.serve != nil {
		return to
	}
	return ollamaTarget(r.Method, path)
}

func bearerKey(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func appendSSE(b []byte, data string) []byte {
	return append(append(append(b, "data: "...), data...), "\n\n"...)
}
