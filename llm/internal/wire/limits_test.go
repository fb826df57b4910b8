package wire

import (
	"testing"

	"ponder/llm"
)

// The refusals of servers, as they word them.
func TestLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		body   string
		status int
		class  llm.Class
		want   llm.Limits
	}{
		"OpenAI, vLLM": {`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5096 tokens (1000 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","code":400}`, 400,
			llm.TooLong, llm.Limits{Context: 4096, Prompt: 1000, Total: 5096}},
		"newer vLLM": {`{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens and your request has 1234 input tokens (8192 > 8192 - 1234). None","type":"BadRequestError","code":400}}`, 400,
			llm.TooLong, llm.Limits{Context: 8192, Prompt: 1234}},
		"vLLM, prompt": {`{"message":"This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages."}`, 400,
			llm.TooLong, llm.Limits{Context: 8192, Prompt: 9000}},
		"OpenAI, messages": {`{"error":{"message":"This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,123 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`, 400,
			llm.TooLong, llm.Limits{Context: 128000, Prompt: 130123}},
		"OpenAI, answer": {`{"error":{"message":"max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.","type":"invalid_request_error","param":"max_tokens"}}`, 400,
			llm.BadRequest, llm.Limits{Output: 4096}},
		"Groq, answer": {"{\"error\":{\"message\":\"`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model\",\"type\":\"invalid_request_error\"}}", 400,
			llm.BadRequest, llm.Limits{Output: 8192}},
		"Groq": {`{"error":{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","code":"context_length_exceeded"}}`, 400,
			llm.TooLong, llm.Limits{Context: 8192, Total: 9000}},
		"llama.cpp": {`{"error":{"code":400,"message":"request (9192 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9192,"n_ctx":8192}}`, 400,
			llm.TooLong, llm.Limits{Context: 8192, Prompt: 9192, Total: 9192}},
		"older llama.cpp": {`{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error"}}`, 400,
			llm.TooLong, llm.Limits{}},
		"LM Studio": {`{"error":"Trying to keep the first 6212 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, 400,
			llm.TooLong, llm.Limits{Context: 4096, Total: 6212}},
		"LM Studio, short": {`{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input"}`, 400,
			llm.TooLong, llm.Limits{}},
		"SGLang": {`{"object":"error","message":"The input (6212 tokens) is longer than the model's context length (4096 tokens).","type":"BadRequestError","code":400}`, 400,
			llm.TooLong, llm.Limits{Context: 4096, Prompt: 6212}},
		"SGLang, total": {`{"object":"error","message":"Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5096 tokens: 1000 tokens from the input messages and 4096 tokens for the completion."}`, 400,
			llm.TooLong, llm.Limits{Context: 4096, Prompt: 1000, Total: 5096}},
		"TGI": {"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 4096 `max_new_tokens`\",\"error_type\":\"validation\"}", 422,
			llm.TooLong, llm.Limits{Context: 4096, Prompt: 5000}},
		"Anthropic": {"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again\"}}", 400,
			llm.TooLong, llm.Limits{Context: 200000, Prompt: 188240}},
		"Anthropic, prompt": {`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, 400,
			llm.TooLong, llm.Limits{Context: 200000, Prompt: 210000}},
		"Anthropic, answer": {`{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for the model"}}`, 400,
			llm.BadRequest, llm.Limits{Output: 8192}},
		"Mistral": {`{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error"}`, 400,
			llm.TooLong, llm.Limits{Context: 32768, Prompt: 40000}},
		"OpenRouter": {`{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 33000 tokens (1000 of text input, 32000 in the output). Please reduce the length of either one.","code":400}}`, 400,
			llm.TooLong, llm.Limits{Context: 32768, Prompt: 1000, Total: 33000}},
		"Gemini": {`{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, 400,
			llm.TooLong, llm.Limits{Context: 1048576, Prompt: 1200000}},
		"another refusal": {`{"error":{"message":"temperature must be at most 2","type":"invalid_request_error"}}`, 400, llm.BadRequest, llm.Limits{}},
		"a rate limit":    {`{"error":{"message":"Limit 6000 tokens per minute, requested 7000 tokens","code":"rate_limit_exceeded"}}`, 429, llm.RateLimited, llm.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := parseAPIError([]byte(tt.body), true)
			e := f.toError(tt.status)
			if e.Class != tt.class || e.Limits != tt.want {
				t.Errorf("%s %+v, want %s %+v", e.Class, e.Limits, tt.class, tt.want)
			}
		})
	}
}

func FuzzLimits(f *testing.F) {
	f.Add("maximum context length is 99999999999999999999 tokens")
	f.Add("you requested 1,000 tokens (1 in the messages")
	f.Fuzz(func(t *testing.T, text string) {
		l := readLimits(text)
		for _, n := range []int{l.Context, l.Prompt, l.Total, l.Output} {
			if n < 0 || n > maxLimit {
				t.Errorf("%q: %+v", text, l)
			}
		}
	})
}
