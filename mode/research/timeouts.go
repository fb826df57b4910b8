package research

import (
	"cmp"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
)

// Time limits. Tools get an earlier limit than the run enforces. The engine cuts the calls of models
// and keeps their text. Only the answer may exceed the user's time: see docs/design/time.md.
const (
	maxToolTimeout = 20 * time.Second
	minToolTimeout = 4 * time.Second
	timeoutGrace   = 3 * time.Second // beyond the tool's own limit
	slowestFactor  = 3               // the last look may take this many times the slowest so far
	askTimeout     = 30 * time.Second
	writeTimeout   = 3 * time.Minute
	cutWait        = 3 * time.Second // for the result of a call that the engine cuts
)

// timeLimit is the time limit of the run; 0 means none.
func (s *state) timeLimit() time.Duration { return max(0, cmp.Or(s.TimeLimit, s.run.Budget.Time)) }

func (s *state) toolTimeout() time.Duration {
	limit := s.timeLimit()
	if limit <= 0 {
		return maxToolTimeout
	}
	return min(max(limit/8, minToolTimeout), maxToolTimeout)
}

// awaitedCall returns the key of the call that the step awaits, or "".
func (s *state) awaitedCall() string {
	switch {
	case s.Step == reflecting:
		return s.Retry.attemptKey(s.reflectKey())
	case s.Step == writing && !s.Work.isWaiting():
		return s.Work.callKey()
	case s.Step == judging:
		return s.Retry.attemptKey(s.judgeKey())
	}
	return ""
}

// appendTimeout adds a timeout: the Wait for it, or once it is due the Write that gives up key.
func (s *state) appendTimeout(do []ponder.Action, now ponder.Moment, since int64, limit time.Duration, key, why string) []ponder.Action {
	if left := timeLeft(now, since, limit); left > 0 {
		return append(do, ponder.Wait{Until: now.Wall.Add(left)})
	}
	return append(do, ponder.Write{Key: latePrefix + key, Bodies: []ponder.Body{ponder.Progress{Content: why, Stage: stageNote, Label: "given up"}}})
}

// latePrefix precedes the abandoned key in the key of a Write.
const latePrefix = "late:"

func timeLeft(now ponder.Moment, since int64, limit time.Duration) time.Duration {
	return time.Duration(since)*time.Millisecond + limit - now.Spent
}

// lookupTimeout is the time limit of a look. It shrinks once all other looks finished much faster.
func (s *state) lookupTimeout(l lookupCall) time.Duration {
	most := s.toolTimeout() + timeoutGrace
	if limit := s.timeLimit(); s.BudgetSpent && limit > 0 { // BudgetSpent cannot arrive again
		most = min(most, limit-time.Duration(l.Since)*time.Millisecond)
	}
	for _, o := range s.Lookups {
		if !o.Done && o.N != l.N {
			return most
		}
	}
	if len(s.Lookups) < 2 || s.Planning || s.Slowest == 0 {
		return most
	}
	return min(most, max(minToolTimeout, slowestFactor*time.Duration(s.Slowest)*time.Millisecond))
}

// askLimit is the time limit of a plan, reflection or judge, including a retry.
func (s *state) askLimit() time.Duration {
	if limit := s.timeLimit(); limit > 0 {
		return min(limit/4, askTimeout)
	}
	return askTimeout
}

func (s *state) callLimit() time.Duration {
	if s.Step == writing {
		return writeTimeout
	}
	return s.askLimit()
}

// cutTime is the thinking time at which the engine cuts a call that began at since.
func cutTime(since int64, limit time.Duration) time.Duration {
	return time.Duration(since)*time.Millisecond + limit
}

// callTiming returns the timing of a call. Its event has the tokens of the request instead of the bytes.
func callTiming(b ponder.CallFinished) llm.CallSample {
	return llm.CallSample{
		Bytes: bytesPerToken * (b.Usage.Total() - b.Usage.Output), First: time.Duration(b.First) * time.Millisecond,
		Took: time.Duration(b.Took) * time.Millisecond, Tokens: b.Usage.Output, Complete: b.Error == "" && !b.Finish.IsCut(),
	}
}

const (
	bytesPerToken = 4   // of a prompt
	minAnswer     = 300 // tokens that an answer needs at least
)

// isTooSlow reports whether the model would not write an answer to a prompt of a size in the time
// that is left.
func (s *state) isTooSlow(bytes int) bool {
	limit := s.timeLimit()
	return limit > 0 && s.Speed.IsKnown() && s.Speed.CallTime(bytes, minAnswer) > limit-time.Duration(s.Time.Milliseconds())*time.Millisecond
}

const timeoutError = "it took too long"

func (s *state) applyTimeout(key string) {
	key, ok := strings.CutPrefix(key, latePrefix)
	switch {
	case !ok:
	case s.Planning && key == s.Retry.attemptKey(planKey):
		s.skipPlan("the plan took too long")
	case key == s.awaitedCall():
		s.abandonCall()
	default:
		if i := s.findLookup(key); i >= 0 {
			s.finishLookup(i, nil, timeoutError)
		}
	}
}

func (s *state) abandonCall() {
	switch s.Step {
	case reflecting:
		s.applyReflection(ponder.CallFinished{Outcome: ponder.Outcome{Error: timeoutError}})
	case judging:
		s.publishAnswer()
	case writing:
		s.answerWithQuotes("the model did not answer in time")
	}
}
