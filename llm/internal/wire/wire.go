// Package wire has the shared parts of the providers' adapters.
//
// [Client] sends one HTTP request and converts every failure to an [llm.Error]. [Events]
// and [Lines] read the two stream formats, [Scanner] reads similar pieces fast, and
// [InBand] finds an error in a piece. [RetryAfter] and [Allowance] read rate limits.
// [Think] separates reasoning from an answer, [Estimate] estimates uncounted usage, and
// [CallID] names a tool call.
//
// [Body] encodes a request; [Object] and the functions for schemas and names adapt it to
// narrow dialects. A [Fold] builds an answer from the pieces of a stream, often with
// [Parts]. [Ask.Stream] drives it and handles errors, usage, the terminal event and
// timeouts. [Count] reads token counts, and [Vectors] checks embeddings.
//
// Generate of an adapter:
//
//	resp, err := client.Do(ctx, id, http.MethodPost, url, header, body)
//	if err != nil { yield(llm.Delta{}, ask.Cut(err, llm.Usage{})); return }
//	defer resp.Body.Close()        // closes the connection if the reader left early
//	ask.Stream(resp, wire.Data(resp.Body), fold, yield)
//
// Errors of the body are [llm.Error] values that lack only the usage.
package wire

import (
	"crypto/rand"
	"slices"

	"ponder/llm"
)

// bytesPerToken is the usual ratio for English, code and JSON in current vocabularies.
const bytesPerToken = 3.6

// Estimate estimates the usage of a request and answer, in bytes.
func Estimate(in, out int) llm.Usage {
	return llm.Usage{Input: Tokens(in), Output: Tokens(out), Estimated: true}
}

// Tokens estimates the tokens in n bytes of text.
func Tokens(n int) int {
	return int(float64(max(n, 0))/bytesPerToken + 0.999)
}

// Efforts returns the effort levels, lowest first.
func Efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// EffortRank returns the rank of a level; unknown ones rank last.
func EffortRank(level string) int {
	if rank := slices.Index(Efforts(), level); rank >= 0 {
		return rank
	}
	return len(Efforts())
}

// Forces reports whether a tool choice requires a call.
func Forces(choice string) bool { return choice != "" && choice != "auto" && choice != "none" }

// Advice returns remedies common to most providers. env is the variable for the key;
// account names the exhausted resource.
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

// CallID returns a random ID for a tool call that came without one.
func CallID() string { return "call_" + rand.Text() }
