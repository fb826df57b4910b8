package research

import (
	"errors"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/internal/pendingwrites"
)

// maxBad bounds what is kept of an answer that can't be read, in bytes.
const maxBad = 8 << 10

// A retry says that an answer is asked for again: Bad is the one that could not be read,
// and Why what is wrong with it.
type retry struct {
	Key string `json:"key,omitempty"` // of the call that it came from
	Bad string `json:"bad,omitempty"`
	Why string `json:"why,omitempty"`
}

// key returns the key that a call is made under: another one, once its answer is asked
// for again.
func (r retry) key(of string) string {
	if r.Key != "" && r.Key == of {
		return of + "~2"
	}
	return of
}

// request returns a request as the call is made with: with the answer that could not be
// read, if that is asked for again.
func (r retry) request(of string, req llm.Request) llm.Request {
	if r.Key == "" || r.Key != of {
		return req
	}
	return *llm.Reask(&req, llm.Say(llm.Assistant, r.Bad), &llm.Error{Class: llm.Malformed, Message: r.Why})
}

// again has an answer that can't be read asked for once more, and reports whether it may
// be: if it was not before, if calls are left beside those for the answer and its check,
// and if another one that takes as long is there while it is still waited for.
func (s *state) again(key string, since int64, b ponder.CallFinished, err error) bool {
	left := 2
	if s.Step == judging {
		left = 0
	}
	if s.Retry.Key == key || s.Calls > 0 && s.Counts.Calls >= s.Calls-left || 2*(s.Time.ms()-since) > s.askLimit().Milliseconds() {
		return false
	}
	s.Retry = retry{Key: key, Bad: textkit.TruncateBytes(textkit.CleanTrim(b.Message.Text()), maxBad), Why: fault(err)}
	return true
}

// fault returns the text of an error for a model to read.
func fault(err error) string {
	why := err.Error()
	var e *llm.Error
	if errors.As(err, &e) {
		why = e.Message
	}
	return textkit.TruncateBytes(textkit.OneLine(why), maxFault)
}

// retries reports whether an answer that is asked for again is still waited for.
func (s *state) retries() bool {
	switch s.Retry.Key {
	case "":
		return false
	case planKey:
		return s.Planning
	case s.reflectKey():
		return s.Step == reflecting
	case s.judgeKey():
		return s.Step == judging
	}
	return false
}

// unretried takes in a Write that is in the log. Where an answer is to be asked for again
// and what is written is something else than was decided, the log is of a time when none
// was: it goes on as it did then.
func (s *state) unretried(key string) {
	is := func(n pendingwrites.Note) bool { return n.Key == key }
	if !s.retries() || strings.HasPrefix(key, latePrefix) || slices.ContainsFunc(s.Notes, is) {
		return
	}
	switch s.Step {
	case reflecting:
		s.unreflected(s.Retry.Why)
	case judging:
		s.publish()
	default:
		s.unplanned(unreadable)
	}
}
