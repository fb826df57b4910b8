package structured

import (
	"errors"

	"ponder/internal/textkit"
	"ponder/llm"
)

// Limits of a repeated answer, in bytes.
const (
	maxBad    = 8 << 10
	maxReason = 500
)

// A Retry describes an unreadable answer, so that the model can try again: Bad is the
// answer, Why its fault. The zero Retry has none.
type Retry struct {
	Bad string `json:"bad,omitempty"`
	Why string `json:"why,omitempty"`
}

// RetryOf returns the Retry of an unreadable answer.
func RetryOf(text string, err error) Retry {
	return Retry{textkit.TruncateBytes(textkit.CleanTrim(text), maxBad), Reason(err)}
}

// Request returns req, extended by the bad answer if there is one.
func (r Retry) Request(req llm.Request) llm.Request {
	if r.Why == "" {
		return req
	}
	return *llm.Reask(&req, llm.Say(llm.Assistant, r.Bad), &llm.Error{Class: llm.Malformed, Message: r.Why})
}

// Reason returns an error's text for a model.
func Reason(err error) string {
	why := err.Error()
	var e *llm.Error
	if errors.As(err, &e) {
		why = e.Message
	}
	return textkit.Line(why, maxReason)
}
