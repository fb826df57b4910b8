// Package wire is what the providers' adapters share below their dialects.
//
// [Client] sends one HTTP request and turns every failure, from a refused
// connection to an error in the provider's own words, into an [llm.Error].
// [Events] and [Lines] read the two kinds of streams, [Scanner] the pieces that
// are all alike; [InBand] finds the error in a piece of one. [RetryAfter] reads every way of saying when to come back,
// [Allowance] what is left until then.
// [Think] tells reasoning from answer in models that mix them, [Estimate] guesses
// the tokens of a request that nobody counted, and [CallID] names a tool call.
//
// [Body] writes a request, with the help of [Object] and the functions about
// schemas and names where a dialect is narrow. A [Fold] makes an answer of the
// pieces of a stream, often with [Parts]; [Ask.Stream] drives it to the end that
// Generate promises and sees to errors, usage and the terminal signal, and that
// neither the first piece nor what follows the last is waited for without end.
// [Count] reads numbers of tokens as they come, [Vectors] checks embeddings.
//
// An adapter's Generate goes like this:
//
//	resp, err := client.Do(ctx, id, http.MethodPost, url, header, body)
//	if err != nil { yield(llm.Delta{}, ask.Cut(err, llm.Usage{})); return }
//	defer resp.Body.Close()        // closes the connection if the stream was left early
//	ask.Stream(resp, wire.Data(resp.Body), fold, yield)
//
// Errors of the body are [llm.Error] already; they lack only the usage.
package wire

import (
	"crypto/rand"
	"slices"

	"ponder/llm"
)

// bytesPerToken is the usual ratio for English, code and JSON in today's vocabularies.
const bytesPerToken = 3.6

// Estimate guesses the usage of a request of in bytes and an answer of out bytes.
func Estimate(in, out int) llm.Usage {
	return llm.Usage{Input: Tokens(in), Output: Tokens(out), Estimated: true}
}

// Tokens guesses the tokens in n bytes of text.
func Tokens(n int) int {
	return int(float64(max(n, 0))/bytesPerToken + 0.999)
}

// Efforts returns the levels of effort, the least first.
func Efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// EffortRank returns the place of a level among all, behind them if it is not known.
func EffortRank(level string) int {
	if rank := slices.Index(Efforts(), level); rank >= 0 {
		return rank
	}
	return len(Efforts())
}

// Forces reports whether a choice among tools has one called.
func Forces(choice string) bool { return choice != "" && choice != "auto" && choice != "none" }

// Advice says what a user can do about failures that are the same with most providers: a
// key is in the variable env, and account is what of an account may be used up.
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

// CallID makes an identifier for a tool call that came without one.
func CallID() string { return "call_" + rand.Text() }
