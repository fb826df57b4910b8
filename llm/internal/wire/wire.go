// Package wire has the shared parts of the providers' adapters.
//
// [Client] sends one HTTP request and converts failures to [llm.Error]. [Events] and
// [Lines] read streams, [Scanner] reads similar pieces fast, [InBandError] finds errors in
// pieces. [RetryAfter] and [Allowance] read rate limits. [Output] separates reasoning, text
// and calls; [Estimate] and [CallID] fill gaps.
//
// [Body] encodes a request, with [Object] and functions for schemas and names. A [Fold]
// builds an answer, often with [Parts]; [RequestInfo.Stream] drives it and handles errors, usage,
// the terminal event and timeouts.
//
// Generate of an adapter:
//
//	resp, err := client.Do(ctx, id, http.MethodPost, url, header, body)
//	if err != nil { yield(llm.Delta{}, ask.Cut(err, llm.Usage{})); return }
//	defer resp.Body.Close()        // closes the connection if the reader left early
//	ask.Stream(resp, wire.Data(resp.Body), fold, yield)
package wire

import (
	"crypto/rand"
	"slices"

	"ponder/llm"
)

// bytesPerToken is usual for English, code and JSON in current vocabularies.
const bytesPerToken = 3.6

// Estimate estimates the usage of bytes of request and answer.
func Estimate(in, out int) llm.Usage {
	return llm.Usage{Input: Tokens(in), Output: Tokens(out), Estimated: true}
}

// Tokens estimates the tokens in n bytes of text.
func Tokens(n int) int {
	return int(float64(max(n, 0))/bytesPerToken + 0.999)
}

// Efforts returns the levels, lowest first.
func Efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// EffortRank ranks unknown levels last.
func EffortRank(level string) int {
	if rank := slices.Index(Efforts(), level); rank >= 0 {
		return rank
	}
	return len(Efforts())
}

// RequiresCall reports whether choice requires a call.
func RequiresCall(choice string) bool { return choice != "" && choice != "auto" && choice != "none" }

// Advice returns common remedies. env is the key's variable, account the exhausted
// resource.
func Advice(env, account string) func(llm.Class) string {
	return func(c llm.Class) string {
		switch c {
		case llm.Auth:
			return "set " + env
		case llm.NotFound:
			return "check the model's name and the base URL"
		case llm.Payment:
			return "check the account's " + account
		}
		return ""
	}
}

// CallID returns a random ID for a call without one.
func CallID() string { return "call_" + rand.Text() }
