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
		"no window: a parameter": {`{"error":{"message":"temperature must be <= 2","type":"invalid_request_error"}}`, 400, llm.BadRequest, llm.Limits{}},
		"no window: images":      {`{"error":{"message":"Too many images: the limit is 5","type":"invalid_request_error"}}`, 400, llm.BadRequest, llm.Limits{}},
		"no window: an answer": {`{"error":{"message":"max_tokens must be <= 8192","type":"invalid_request_error"}}`, 400,
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
		"llama.cpp, while it writes": {`{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, 500,
			llm.TooLong, llm.Limits{}},
		"llama-cpp-python": {`{"error":{"message":"Requested tokens (2285) exceed context window of 2048","type":"internal_server_error","param":null,"code":null}}`, 500,
			llm.TooLong, llm.Limits{Context: 2048, Total: 2285}},
		"newest vLLM": {`{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 128000 output tokens and your prompt contains at least 3073 input tokens, for a total of at least 131073 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=3073)","type":"BadRequestError","param":"input_tokens","code":400}}`, 400,
			llm.TooLong, llm.Limits{Context: 131072, Prompt: 3073}},
		"vLLM, model length": {`{"object":"error","message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that max_model_len is no smaller than the number of text tokens.","code":400}`, 400,
			llm.TooLong, llm.Limits{Context: 8192, Prompt: 9000}},
		"LM Studio, n_keep": {`{"error":"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}`, 400,
			llm.TooLong, llm.Limits{Context: 7424, Prompt: 15028}},
		"LM Studio, both": {`{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 10247 >= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter prompt."}`, 400,
			llm.TooLong, llm.Limits{Context: 4096, Prompt: 10247}},
		"SGLang, input": {`{"object":"error","message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable --allow-auto-truncate.","code":400}`, 400,
			llm.TooLong, llm.Limits{Context: 59862, Prompt: 160062}},
		"TGI, input": {"{\"error\":\"Input validation error: `inputs` must have less than 1024 tokens. Given: 1168\",\"error_type\":\"validation\"}", 422,
			llm.TooLong, llm.Limits{Context: 1024, Prompt: 1168}},
		"Ollama": {`{"error":"the input length exceeds the context length"}`, 400,
			llm.TooLong, llm.Limits{}},
		"Ollama Cloud": {`{"error":"prompt too long; exceeded max context length by 100918 tokens"}`, 400,
			llm.TooLong, llm.Limits{Excess: 100918}},
		"Z.ai": {`{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, 400,
			llm.TooLong, llm.Limits{}},
		"Z.ai, in Chinese": {`{"error":{"code":"1261","message":"Prompt 超长"}}`, 400,
			llm.TooLong, llm.Limits{}},
		"Z.ai, tokens": {`{"type":"error","error":{"message":"API 调用参数有误，请检查文档。Request 182387 input tokens exceeds the model's maximum context length 202750","code":"1210"}}`, 400,
			llm.TooLong, llm.Limits{Context: 202750, Prompt: 182387}},
		"Kimi": {`{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}}`, 400,
			llm.TooLong, llm.Limits{Context: 262144, Total: 269030}},
		"older Kimi": {`{"error":{"message":"model max length exceeded, max length:8192","type":"invalid_request_error"}}`, 400,
			llm.TooLong, llm.Limits{Context: 8192}},
		"Cohere": {`{"message":"too many tokens: size limit exceeded by 168512 tokens. Try using shorter or fewer inputs. The limit for this model is 132000 tokens."}`, 400,
			llm.TooLong, llm.Limits{Context: 132000, Excess: 168512}},
		"older Cohere": {`{"message":"too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value."}`, 400,
			llm.TooLong, llm.Limits{Context: 2048, Total: 6354}},
		"Cohere, answer": {`{"message":"too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192."}`, 400,
			llm.BadRequest, llm.Limits{Output: 4096, Total: 8192}},
		"Perplexity": {`{"error":{"message":"Requested 150000 tokens exceeds the maximum context length of 131072 tokens for this model.","type":"invalid_message","code":400}}`, 400,
			llm.TooLong, llm.Limits{Context: 131072}},
		"xAI": {`{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, 400,
			llm.TooLong, llm.Limits{Context: 131072, Total: 537812}},
		"Copilot": {`{"error":{"message":"prompt token count of 93854 exceeds the limit of 90000","code":"model_max_prompt_tokens_exceeded"}}`, 400,
			llm.TooLong, llm.Limits{Context: 90000, Prompt: 93854}},
		"Poolside": {`{"error":{"message":"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.","code":400}}`, 400,
			llm.TooLong, llm.Limits{Context: 131040, Prompt: 131393}},
		"DashScope": {`{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]","code":"invalid_parameter_error"}}`, 400,
			llm.TooLong, llm.Limits{Context: 98304}},
		"MiniMax": {`{"type":"error","error":{"type":"invalid_request_error","message":"invalid params, context window exceeds limit (2013)"}}`, 400,
			llm.TooLong, llm.Limits{}},
		"Bedrock": {`{"message":"Input is too long for requested model."}`, 400, llm.TooLong, llm.Limits{}},
		"a proxy": {`{"error":{"message":"Input length (265330) exceeds model's maximum context length (262144).","code":"400"}}`, 400,
			llm.TooLong, llm.Limits{Context: 262144, Prompt: 265330}},
		"oMLX": {`{"error":{"message":"Prompt too long: 41911 tokens exceeds max context window of 32768 tokens","code":400}}`, 400,
			llm.TooLong, llm.Limits{Context: 32768, Prompt: 41911}},
		"throttled":       {`{"message":"Too many tokens, please wait before trying again."}`, 429, llm.RateLimited, llm.Limits{}},
		"a field":         {`{"error":{"message":"max_tokens must be at least 16 for sonar.","type":"invalid_parameter","code":400}}`, 400, llm.BadRequest, llm.Limits{}},
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
