package research

import (
	"cmp"
	"strings"
	"time"

	"ponder"
)

// Time limits. Tools get an earlier limit than the run enforces. Only the reserve may exceed the
// user's time: an answer not written by then is made of quotations.
const (
	maxToolTimeout = 20 * time.Second
	minToolTimeout = 4 * time.Second
	timeoutGrace   = 3 * time.Second // beyond the tool's own limit
	slowestFactor  = 3               // the last look may take this many times the slowest so far
	askTimeout     = 30 * time.Second
	writeTimeout   = 3 * time.Minute
	minReserve     = 2 * time.Second
	maxReserve     = 10 * time.Second
)

// timeLimit is the time limit of the run; 0 means none.
func (s *state) timeLimit() time.Duration { return max(0, cmp.Or(s.TimeLimit, s.run.Budget.Time)) }

// writeReserve is the extra time for the call that writes.
func (s *state) writeReserve() time.Duration {
	return min(maxReserve, max(minReserve, s.timeLimit()/10))
}

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
	if s.Step != writing {
		return s.askLimit()
	}
	if !s.BudgetSpent || s.timeLimit() <= 0 {
		return writeTimeout
	}
	end := max(s.BudgetSpentAt, s.timeLimit().Milliseconds()) + s.writeReserve().Milliseconds()
	return min(writeTimeout, time.Duration(end-s.AskSince)*time.Millisecond)
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
