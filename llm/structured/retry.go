package structured

import (
	"errors"

	"ponder/internal/textkit"
	"ponder/llm"
)

// In bytes.
const (
	maxBad    = 8 << 10
	maxReason = 500
)

// A Retry is an unreadable answer and its fault. The zero Retry has none.
type Retry struct {
	Bad string `json:"bad,omitempty"`
	Why string `json:"why,omitempty"`
}

// NewRetry returns the Retry of an unreadable answer.
func NewRetry(text string, err error) Retry {
	return Retry{textkit.TruncateBytes(textkit.CleanTrim(text), maxBad), Reason(err)}
}

// Request returns req with the bad answer, if any.
func (r Retry) Request(req llm.Request) llm.Request {
	if r.Why == "" {
		return req
	}
	return *llm.Reask(&req, llm.Say(llm.Assistant, r.Bad), &llm.Error{Class: llm.Malformed, Message: r.Why})
}

// Reason returns err's text for a model.
func Reason(err error) string {
	why := err.Error()
	var e *llm.Error
	if errors.As(err, &e) {
		why = e.Message
	}
	return textkit.Line(why, maxReason)
}
