package research

import (
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/pendingwrites"
)

// retry is a pending repeat of an unreadable answer.
type retry struct {
	Key string `json:"key,omitempty"` // of the original call
	structured.Retry
}

// attemptKey returns the key of the current attempt of a call.
func (r retry) attemptKey(of string) string {
	if r.Key != "" && r.Key == of {
		return of + "~2"
	}
	return of
}

// requestFor returns the request of the current attempt. A retry includes the unreadable answer.
func (r retry) requestFor(of string, req llm.Request) llm.Request {
	if r.Key == "" || r.Key != of {
		return req
	}
	return r.Request(req)
}

// answerCheck rejects texts without content of their own.
var answerCheck = structured.NewValidator(commonPrompt, planPrompt, reflectPrompt, synthesisPrompt, string(planSchema.JSON), string(reflectSchema.JSON))

// answerText returns the answer without reasoning; of one that broke off, its complete parts.
func answerText(b *ponder.CallFinished) string {
	text := llm.FinalText(b.Message.Text())
	if b.Finish.IsCut() {
		text = llm.CompletePart(text)
	}
	return textkit.Prefix(text, maxAnswer)
}

// retryAnswer requests an unreadable answer once more. It needs calls left for the answer and its check,
// and time in the wait for another attempt. A model that broke off would do so again, unless it repeated
// itself, and one that ignored the format would ignore it again.
func (s *state) retryAnswer(key string, since int64, b ponder.CallFinished, err error) bool {
	left := 2
	if s.Step == judging {
		left = 0
	}
	s.FormatIgnored = s.FormatIgnored || s.Retry.Key == key
	if s.FormatIgnored || b.Finish.IsCut() && b.Finish != llm.FinishLoop || s.Calls > 0 && s.Counts.Calls >= s.Calls-left || 2*(s.Time.Milliseconds()-since) > s.askLimit().Milliseconds() {
		return false
	}
	s.Retry = retry{key, structured.NewRetry(b.Message.Text(), b.Finish, err)}
	return true
}

func (s *state) isRetrying() bool {
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

// applyWithoutRetry applies a logged Write. One that differs from the decision comes from a log before
// retries existed, and continues as that version did.
func (s *state) applyWithoutRetry(key string) {
	is := func(n pendingwrites.Note) bool { return n.Key == key }
	if !s.isRetrying() || strings.HasPrefix(key, latePrefix) || slices.ContainsFunc(s.Notes, is) {
		return
	}
	switch s.Step {
	case reflecting:
		s.skipReflection(s.Retry.Why)
	case judging:
		s.publishAnswer()
	default:
		s.skipPlan(unreadablePlan)
	}
}
