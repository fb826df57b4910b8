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
	mostPatience  = 20 * time.Second
	leastPatience = 4 * time.Second
	grace         = 3 * time.Second // beyond the tool's own limit
	slower        = 3               // the last look may take this many times the slowest so far
	askPatience   = 30 * time.Second
	writePatience = 3 * time.Minute
	leastReserve  = 2 * time.Second
	mostReserve   = 10 * time.Second
)

// time is the time limit of the run; 0 means none.
func (s *state) time() time.Duration { return cmp.Or(s.Allowed, s.run.Budget.Time) }

// reserve is the extra time for the call that writes.
func (s *state) reserve() time.Duration { return min(mostReserve, max(leastReserve, s.time()/10)) }

func (s *state) patience() time.Duration {
	limit := s.time()
	if limit <= 0 {
		return mostPatience
	}
	return min(max(limit/8, leastPatience), mostPatience)
}

// calling returns the key of the call that the step awaits, or "".
func (s *state) calling() string {
	switch {
	case s.Step == reflecting:
		return s.Retry.key(s.reflectKey())
	case s.Step == writing && !s.Work.waits():
		return s.Work.key()
	case s.Step == judging:
		return s.Retry.key(s.judgeKey())
	}
	return ""
}

// await adds a timeout: the Wait for it, or once it is due the Write that gives up key.
func (s *state) await(do []ponder.Action, now ponder.Moment, since int64, limit time.Duration, key, why string) []ponder.Action {
	if left := left(now, since, limit); left > 0 {
		return append(do, ponder.Wait{Until: now.Wall.Add(left)})
	}
	return append(do, ponder.Write{Key: latePrefix + key, Bodies: []ponder.Body{ponder.Progress{Content: why, Stage: stageNote, Label: "given up"}}})
}

// latePrefix precedes the abandoned key in the key of a Write.
const latePrefix = "late:"

func left(now ponder.Moment, since int64, limit time.Duration) time.Duration {
	return time.Duration(since)*time.Millisecond + limit - now.Spent
}

// limit is the time limit of a look. It shrinks once all other looks finished much faster.
func (s *state) limit(l look) time.Duration {
	most := s.patience() + grace
	if limit := s.time(); s.Told && limit > 0 { // BudgetSpent cannot arrive again
		most = min(most, limit-time.Duration(l.Since)*time.Millisecond)
	}
	for _, o := range s.Looks {
		if !o.Done && o.N != l.N {
			return most
		}
	}
	if len(s.Looks) < 2 || s.Planning || s.Slowest == 0 {
		return most
	}
	return min(most, max(leastPatience, slower*time.Duration(s.Slowest)*time.Millisecond))
}

// askLimit is the time limit of a plan, reflection or judge, including a retry.
func (s *state) askLimit() time.Duration {
	if limit := s.time(); limit > 0 {
		return min(limit/4, askPatience)
	}
	return askPatience
}

func (s *state) callLimit() time.Duration {
	if s.Step != writing {
		return s.askLimit()
	}
	if !s.Told || s.time() <= 0 {
		return writePatience
	}
	end := max(s.ToldAt, s.time().Milliseconds()) + s.reserve().Milliseconds()
	return min(writePatience, time.Duration(end-s.AskSince)*time.Millisecond)
}

const late = "it took too long"

func (s *state) gaveUp(key string) {
	key, ok := strings.CutPrefix(key, latePrefix)
	switch {
	case !ok:
	case s.Planning && key == s.Retry.key(planKey):
		s.unplanned("the plan took too long")
	case key == s.calling():
		s.uncalled()
	default:
		if i := s.look(key); i >= 0 {
			s.answer(i, nil, late)
		}
	}
}

func (s *state) uncalled() {
	switch s.Step {
	case reflecting:
		s.reflected(ponder.CallFinished{Outcome: ponder.Outcome{Error: late}})
	case judging:
		s.publish()
	case writing:
		s.quote("the model did not answer in time")
	}
}
