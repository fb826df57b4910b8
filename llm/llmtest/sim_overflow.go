package llmtest

import (
	"fmt"
	"net/http"
	"strings"
)

// An Overflow is a server whose words refuse a prompt beyond [SimConfig.Context], in the dialect of
// OpenAI's chat completions. The simulator also names the context as that server does.
type Overflow string

const (
	OverflowVLLM       Overflow = "vllm"
	OverflowLlamaCpp   Overflow = "llama.cpp"
	OverflowLlamaOld   Overflow = "llama.cpp-old" // without numbers
	OverflowLMStudio   Overflow = "lm-studio"
	OverflowTGI        Overflow = "tgi"
	OverflowSGLang     Overflow = "sglang"
	OverflowOllama     Overflow = "ollama-cloud"
	OverflowZai        Overflow = "z.ai"
	OverflowKimi       Overflow = "kimi"
	OverflowCohere     Overflow = "cohere"
	OverflowPerplexity Overflow = "perplexity"
)

// Overflows returns all of them.
func Overflows() []Overflow {
	return []Overflow{OverflowVLLM, OverflowLlamaCpp, OverflowLlamaOld, OverflowLMStudio, OverflowTGI, OverflowSGLang, OverflowOllama,
		OverflowZai, OverflowKimi, OverflowCohere, OverflowPerplexity}
}

// countsAnswer reports whether the answer must fit too.
func (o Overflow) countsAnswer() bool {
	return o == OverflowVLLM || o == OverflowTGI || o == OverflowKimi
}

// refusal returns the status and the body of a refusal of a prompt, with the requested answer.
func (o Overflow) refusal(prompt, answer, limit int) (status int, body string) {
	switch o {
	case OverflowVLLM:
		return 400, fmt.Sprintf(`{"object":"error","message":"This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`, limit, prompt+answer, prompt, answer)
	case OverflowLlamaCpp:
		return 400, fmt.Sprintf(`{"error":{"code":400,"message":"request (%[1]d tokens) exceeds the available context size (%[2]d tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%[1]d,"n_ctx":%[2]d}}`, prompt, limit)
	case OverflowLlamaOld:
		return 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error"}}`
	case OverflowLMStudio:
		return 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input"}`
	case OverflowTGI:
		return 422, fmt.Sprintf("{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= %d. Given: %d `inputs` tokens and %d `max_new_tokens`\",\"error_type\":\"validation\"}", limit, prompt, answer)
	case OverflowSGLang:
		return 400, fmt.Sprintf(`{"object":"error","message":"The input (%d tokens) is longer than the model's context length (%d tokens).","type":"BadRequestError","param":null,"code":400}`, prompt, limit)
	case OverflowOllama:
		return 400, fmt.Sprintf(`{"error":{"message":"prompt too long; exceeded max context length by %d tokens","type":"invalid_request_error","param":null,"code":null}}`, prompt-limit)
	case OverflowZai:
		return 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`
	case OverflowKimi:
		return 400, fmt.Sprintf(`{"error":{"message":"Invalid request: Your request exceeded model token limit: %d (requested: %d)","type":"invalid_request_error"}}`, limit, prompt+answer)
	case OverflowCohere:
		return 400, fmt.Sprintf(`{"id":"0","message":"too many tokens: size limit exceeded by %d tokens. Try using shorter or fewer inputs. The limit for this model is %d tokens."}`, prompt-limit, limit)
	case OverflowPerplexity:
		return 400, fmt.Sprintf(`{"error":{"message":"Requested %d tokens exceeds the maximum context length of %d tokens for this model.","type":"invalid_message","code":400}}`, prompt, limit)
	}
	return 0, ""
}

// checkContext returns the refusal of a prompt that exceeds the context, if any.
func (x *exchange) checkContext(a *parsedRequest) (failure, bool) {
	limit, prompt, answer := x.config.Context, a.countTokens(), 0
	if x.config.Overflow.countsAnswer() {
		answer = a.max
	}
	if limit <= 0 || prompt+answer <= limit {
		return failure{}, true
	}
	f := failure{kind: tooLong, tokens: prompt, limit: limit}
	if status, body := x.config.Overflow.refusal(prompt, a.max, limit); body != "" && x.dialect.name == "openai" {
		f.status, f.body = status, body
	}
	return f, false
}

// addContext adds the context to a model of a list, as vLLM does.
func (x *exchange) addContext(model map[string]any) map[string]any {
	if x.config.Overflow == OverflowVLLM && x.config.Context > 0 {
		model["max_model_len"] = x.config.Context
	}
	return model
}

// contextTarget returns the route with which a server names its context.
func contextTarget(r *http.Request, path string) target {
	if r.Method != http.MethodGet {
		return target{}
	}
	answer := func(o Overflow, body func(x *exchange) any) target {
		return target{openaiDialect(), "", func(x *exchange, _ string, _ []byte) {
			if x.config.Overflow != o || x.config.Context <= 0 {
				x.sendBody(http.StatusNotFound, "text/plain", []byte("404 page not found"))
				return
			}
			x.sendJSON(body(x))
		}}
	}
	switch path {
	case "/props":
		return answer(OverflowLlamaCpp, func(x *exchange) any {
			return map[string]any{"default_generation_settings": map[string]int{"n_ctx": x.config.Context}, "total_slots": 1}
		})
	case "/api/v0/models":
		return answer(OverflowLMStudio, func(x *exchange) any {
			list := []any{}
			for _, name := range x.modelNames() {
				list = append(list, map[string]any{"id": name, "state": "loaded", "max_context_length": 1 << 17, "loaded_context_length": x.config.Context})
			}
			return map[string]any{"object": "list", "data": list}
		})
	case "/info":
		return answer(OverflowTGI, func(x *exchange) any {
			return map[string]int{"max_input_tokens": x.config.Context - 1, "max_total_tokens": x.config.Context}
		})
	case "/get_server_info":
		return answer(OverflowSGLang, func(x *exchange) any { return map[string]int{"context_length": x.config.Context} })
	}
	return target{}
}

// OverflowNames returns them in words.
func OverflowNames() string {
	var names []string
	for _, o := range Overflows() {
		names = append(names, string(o))
	}
	return strings.Join(names, " ")
}
