package research

import (
	"slices"
	"strings"

	"ponder"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/pendingwrites"
)

// A retry says that an answer is asked for again.
type retry struct {
	Key string `json:"key,omitempty"` // of the call that it came from
	structured.Retry
}

// key returns the key that a call is made under: another one, once its answer is asked
// for again.
func (r retry) key(of string) string {
	if r.Key != "" && r.Key == of {
		return of + "~2"
	}
	return of
}

// requestFor returns a request as the call is made with: with the answer that could not be
// read, if that is asked for again.
func (r retry) requestFor(of string, req llm.Request) llm.Request {
	if r.Key == "" || r.Key != of {
		return req
	}
	return r.Request(req)
}

// again has an answer that can't be read asked for once more, and reports whether it may
// be: if it was not before, if calls are left beside those for the answer and its check,
// and if another one that takes as long is there while it is still waited for.
func (s *state) again(key string, since int64, b ponder.CallFinished, err error) bool {
	left := 2
	if s.Step == judging {
		left = 0
	}
	if s.Retry.Key == key || s.Calls > 0 && s.Counts.Calls >= s.Calls-left || 2*(s.Time.Milliseconds()-since) > s.askLimit().Milliseconds() {
		return false
	}
	s.Retry = retry{key, structured.RetryOf(b.Message.Text(), err)}
	return true
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
