package wire

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder/llm"
)

func TestInBand(t *testing.T) {
	tests := []struct {
		name, in string
		want     *llm.Error
	}{
		{"a chunk", `{"id":"x","choices":[{"delta":{"content":"hi"}}]}`, nil},
		{"a chunk that speaks of errors", `{"choices":[{"delta":{"content":"the \"error\" field"}}]}`, nil},
		{"null error", `{"id":"resp","error":null,"output":[]}`, nil},
		{"not JSON", `"error`, nil},
		{"openai", `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`,
			&llm.Error{Class: llm.Transient, Message: "The server had an error"}},
		{"openrouter", `{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"Too fast, try again in 2s\"}}","provider_name":"Chutes"}}}`,
			&llm.Error{Class: llm.RateLimited, Status: 429, Message: "Chutes: Too fast, try again in 2s", RetryAfter: 2 * time.Second}},
		{"openrouter, raw text", `{"id":"gen-1","error":{"code":502,"message":"Provider returned error","metadata":{"raw":"boom","provider_name":"X"}},"choices":[{"finish_reason":"error"}]}`,
			&llm.Error{Class: llm.Transient, Status: 502, Message: "X: boom"}},
		{"vllm", `{"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","param":null,"code":400}`,
			&llm.Error{Class: llm.TooLong, Status: 400, Message: "This model's maximum context length is 4096 tokens", Limits: llm.Limits{Context: 4096}}},
		{"vllm within error", `{"error":{"object":"error","message":"bad sampling","type":"BadRequestError","code":400}}`,
			&llm.Error{Class: llm.BadRequest, Status: 400, Message: "bad sampling"}},
		{"anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			&llm.Error{Class: llm.Transient, Message: "Overloaded"}},
		{"anthropic, bad request", `{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate"}}`,
			&llm.Error{Class: llm.BadRequest, Message: "messages: roles must alternate"}},
		{"anthropic, too long", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209375 tokens > 200000 maximum"}}`,
			&llm.Error{Class: llm.TooLong, Message: "prompt is too long: 209375 tokens > 200000 maximum", Limits: llm.Limits{Context: 200_000, Prompt: 209_375}}},
		{"gemini", `{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"53s"}]}}`,
			&llm.Error{Class: llm.RateLimited, Status: 429, Message: "Resource has been exhausted", RetryAfter: 53 * time.Second}},
		{"gemini list", `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`,
			&llm.Error{Class: llm.Transient, Status: 503, Message: "The model is overloaded."}},
		{"by name only", `{"error":{"status":"RESOURCE_EXHAUSTED","message":"slow down"}}`,
			&llm.Error{Class: llm.RateLimited, Message: "slow down"}},
		{"ollama", `{"error":"llama runner process has terminated"}`,
			&llm.Error{Class: llm.Transient, Message: "llama runner process has terminated"}},
		{"azure filter", `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`,
			&llm.Error{Class: llm.Filtered, Status: 400, Message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."}},
		{"responses", `{"type":"error","code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 1.2s.","param":null,"sequence_number":2}`,
			&llm.Error{Class: llm.RateLimited, Message: "Rate limit reached. Please try again in 1.2s.", RetryAfter: 1200 * time.Millisecond}},
		{"quota", `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
			&llm.Error{Class: llm.Payment, Message: "You exceeded your current quota"}},
		{"only a code", `{"error":{"code":"server_error"}}`, &llm.Error{Class: llm.Transient, Message: "server_error"}},
		{"nothing in it", `{"error":{"foo":1}}`, &llm.Error{Class: llm.Transient, Message: "the provider failed without saying why"}},
		{"escapes of a terminal", `{"error":{"message":"a\u001b[31m\nb"}}`, &llm.Error{Class: llm.Transient, Message: "a b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, InBandError([]byte(tt.in)), cmpopts.IgnoreFields(llm.Error{}, "Err")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		class  llm.Class
		text   string
	}{
		{"wrong key", 401, `{"error":{"message":"Incorrect API key provided: sk-abc***xyz","code":"invalid_api_key"}}`, llm.Auth, "key rejected"},
		{"wrong key as bad request", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, llm.Auth, "key rejected"},
		{"wrong key at xai", 400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***yz"}`, llm.Auth, "key rejected"},
		{"not allowed", 403, `{"error":{"message":"Country not supported","code":"unsupported_country_region_territory"}}`, llm.BadRequest, "Country not supported"},
		{"region by its name", 403, `{"error":{"message":"Request denied","code":"unsupported_country_region_territory"}}`, llm.BadRequest, "Request denied"},
		{"region at gemini", 400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, llm.BadRequest, "User location is not supported for the API use."},
		{"region of a model", 403, `{"error":{"message":"Claude is not available in your country","type":"permission_error"}}`, llm.BadRequest, "Claude is not available in your country"},
		{"moderated by policy", 403, `{"error":{"code":403,"message":"The request was rejected by our content policy"}}`, llm.Filtered, "The request was rejected by our content policy"},
		{"moderated model", 403, `{"error":{"code":403,"message":"openai/x requires moderation on the provider. Your prompt was flagged for \"violence\""}}`, llm.Filtered, `openai/x requires moderation on the provider. Your prompt was flagged for "violence"`},
		{"page of a firewall", 403, "<!DOCTYPE html><title>Attention Required!</title>", llm.BadRequest, "a web page refuses the request"},
		{"page of a paywall", 402, "\xef\xbb\xbf <html><body>Payment required</body></html>", llm.BadRequest, "a web page refuses the request"},
		{"not permitted", 403, `{"error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}`, llm.Auth, "Your API key does not have permission to use the specified resource."},
		{"moderated", 403, `{"error":{"code":403,"message":"Input was flagged","metadata":{"reasons":["violence"]}}}`, llm.Filtered, "Input was flagged"},
		{"rate limit", 429, `{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`, llm.RateLimited, "Rate limit reached"},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`, llm.Payment, "You exceeded your current quota"},
		{"gemini quota of a minute", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, llm.RateLimited, "You exceeded your current quota, please check your plan and billing details."},
		{"never fits the rate", 429, `{"error":{"message":"Request too large for gpt-4","code":"rate_limit_exceeded"}}`, llm.TooLong, "Request too large for gpt-4"},
		{"z.ai without money", 429, `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, llm.Payment, "Insufficient balance or no resource package. Please recharge."},
		{"no credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.Payment, "Your credit balance is too low to access the Anthropic API."},
		{"payment", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens"}}`, llm.Payment, "This request requires more credits, or fewer max_tokens"},
		{"too long", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, llm.TooLong, "This model's maximum context length is 8192 tokens"},
		{"too long in llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":4096}}`, llm.TooLong, "the request exceeds the available context size, try increasing it"},
		{"too long in gemini", 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.TooLong, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
		{"body too big", 413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.TooLong, "Request exceeds the maximum size"},
		{"no model", 404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, llm.NotFound, "The model does not exist"},
		{"no model in ollama", 404, `{"error":"model 'x' not found"}`, llm.NotFound, "model 'x' not found"},
		{"no route", 405, ``, llm.NotFound, "method not allowed"},
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Transient, "Overloaded"},
		{"gateway page", 502, "<html><body>\nBad gateway</body>", llm.Transient, "bad gateway"},
		{"plain text", 503, "no healthy\nupstream", llm.Transient, "no healthy upstream"},
		{"validation", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, llm.BadRequest, `[{"loc":["body"],"msg":"field required"}]`},
		{"mistral", 422, `{"object":"error","message":{"detail":[{"msg":"x"}]},"type":"invalid_request_error"}`, llm.BadRequest, `{"detail":[{"msg":"x"}]}`},
		{"filter", 400, `{"error":{"code":"content_filter","message":"filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.Filtered, "filtered"},
		{"bad JSON of the model", 400, `{"error":{"message":"Failed to generate JSON","type":"invalid_request_error","code":"json_validate_failed"}}`, llm.Malformed, "Failed to generate JSON"},
		{"empty", 500, "", llm.Transient, "internal server error"},
		{"a model too large for the machine", 500, `{"error":"model requires more system memory (9.8 GiB) than is available (7.2 GiB)"}`,
			llm.BadRequest, "model requires more system memory (9.8 GiB) than is available (7.2 GiB)"},
		{"unknown status", 599, "", llm.Transient, "the provider failed without saying why"},
		{"key in the text", 400, `{"error":"bad header sk-proj-0123456789abcdef here"}`, llm.BadRequest, "bad header [redacted] here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, ok := parseAPIError([]byte(tt.body), true)
			if !ok {
				t.Fatal("a whole body is not taken for an error")
			}
			e := f.toError(tt.status)
			if e.Class != tt.class || e.Message != tt.text || e.Status != tt.status {
				t.Errorf("got %s %d %q, want %s %d %q", e.Class, e.Status, e.Message, tt.class, tt.status, tt.text)
			}
		})
	}
}

// A refusal that a smaller request avoids says nothing about the account.
func TestOfRequest(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   bool
	}{
		{402, `{"error":{"code":402,"message":"This request requires more credits, or fewer max_tokens. You requested up to 4096 tokens, but can only afford 1245."}}`, true},
		{402, `{"error":{"code":402,"message":"Prompt tokens limit exceeded: 4532 > 1200. To increase, upgrade to a paid account"}}`, true},
		{402, `{"error":{"code":402,"message":"Insufficient credits. Add more to continue."}}`, false},
		{402, `{"error":{"message":"Insufficient Balance"}}`, false},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`, false},
		{401, `{"error":{"message":"can only afford fewer tokens"}}`, false},
	}
	for _, tt := range tests {
		f, _ := parseAPIError([]byte(tt.body), true)
		if e := f.toError(tt.status); (e.OfRequest || e.Class == llm.TooLong) != tt.want {
			t.Errorf("%s: OfRequest %v as %s", tt.body, e.OfRequest, e.Class)
		}
	}
}

func FuzzInBand(f *testing.F) {
	f.Add(`{"error":{"code":429,"metadata":{"raw":"{\"error\":\"x\"}"}}}`)
	f.Add(`[{"error":"a"}]`)
	f.Fuzz(func(t *testing.T, in string) {
		e := InBandError([]byte(in))
		if e == nil {
			return
		}
		if e.Class == "" || e.Message == "" || strings.ContainsAny(e.Message, "\n\r\x1b") || !utf8.ValidString(e.Message) {
			t.Errorf("%q gives %+v", in, e)
		}
	})
}
