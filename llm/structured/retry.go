package structured

import (
	"errors"

	"ponder/internal/textkit"
	"ponder/llm"
)

// Bounds on what is kept of an answer that is asked for again, in bytes.
const (
	maxBad    = 8 << 10
	maxReason = 500
)

// A Retry says that an answer is asked for again: Bad is the one that could not be read, and
// Why what is wrong with it. The zero Retry says that no answer was bad.
type Retry struct {
	Bad string `json:"bad,omitempty"`
	Why string `json:"why,omitempty"`
}

// RetryOf returns the Retry of an answer that could not be read.
func RetryOf(text string, err error) Retry {
	return Retry{textkit.TruncateBytes(textkit.CleanTrim(text), maxBad), Reason(err)}
}

// Request returns a request as it is sent, with the bad answer if there is one.
func (r Retry) Request(req llm.Request) llm.Request {
	if r.Why == "" {
		return req
	}
	return *llm.Reask(&req, llm.Say(llm.Assistant, r.Bad), &llm.Error{Class: llm.Malformed, Message: r.Why})
}

// Reason returns the text of an error for a model to read.
func Reason(err error) string {
	why := err.Error()
	var e *llm.Error
	if errors.As(err, &e) {
		why = e.Message
	}
	return textkit.Line(why, maxReason)
}
