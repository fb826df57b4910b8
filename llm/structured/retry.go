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
	Bad  string `json:"bad,omitempty"`
	Why  string `json:"why,omitempty"`
	Loop bool   `json:"loop,omitempty"` // the answer only repeated itself
}

// NewRetry returns the Retry of an unreadable answer that ended with finish.
func NewRetry(text string, finish llm.Finish, err error) Retry {
	return Retry{textkit.TruncateBytes(textkit.CleanTrim(text), maxBad), Reason(err), finish == llm.FinishLoop}
}

// Request returns req with the bad answer, if any. The model would continue a repetition that it read, so
// the request after one has a penalty instead.
func (r Retry) Request(req llm.Request) llm.Request {
	switch {
	case r.Loop:
		req.Penalty = llm.RepetitionPenalty
		return req
	case r.Why == "":
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
