package research

import (
	"cmp"
	"strings"
	"time"

	"ponder"
)

// How long things are waited for. What is not there by then is given up; the tools are
// told to be through before. Of the time that a user gives, nothing but the reserve is
// beyond it: an answer that is being written when the time is spent is made of
// quotations if it is not there by the end of that.
const (
	mostPatience  = 20 * time.Second
	leastPatience = 4 * time.Second
	grace         = 3 * time.Second  // beyond what a tool was told
	slower        = 3                // a look may take so many times as long as the slowest before, once it is the last
	askPatience   = 30 * time.Second // with a plan, a reflection or a judge
	writePatience = 3 * time.Minute  // with each call for the answer
	leastReserve  = 2 * time.Second
	mostReserve   = 10 * time.Second
)

// time is how long the run may take; 0 is without end.
func (s *state) time() time.Duration { return cmp.Or(s.Allowed, s.run.Budget.Time) }

// reserve is how much longer than the time the call for the answer may take.
func (s *state) reserve() time.Duration { return min(mostReserve, max(leastReserve, s.time()/10)) }

// patience is how long a look may take.
func (s *state) patience() time.Duration {
	limit := s.time()
	if limit <= 0 {
		return mostPatience
	}
	return min(max(limit/8, leastPatience), mostPatience)
}

// calling returns the key of the call that the step waits for, or nothing.
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

// await adds what is done when something has been waited for too long, or the time
// at which it will have been.
func (s *state) await(do []ponder.Action, now ponder.Moment, since int64, limit time.Duration, key, why string) []ponder.Action {
	if left := left(now, since, limit); left > 0 {
		return append(do, ponder.Wait{Until: now.Wall.Add(left)})
	}
	return append(do, ponder.Write{Key: latePrefix + key, Bodies: []ponder.Body{ponder.Progress{Content: why, Stage: stageNote, Label: "given up"}}})
}

// latePrefix begins the key of the Write that gives up what has the rest as its key.
const latePrefix = "late:"

// left is how much longer something is waited for.
func left(now ponder.Moment, since int64, limit time.Duration) time.Duration {
	return time.Duration(since)*time.Millisecond + limit - now.Spent
}

// limit is how long a look may take: less, once all others are in and it takes much
// longer than they did.
func (s *state) limit(l look) time.Duration {
	most := s.patience() + grace
	if limit := s.time(); s.Told && limit > 0 { // nobody tells that it is over
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

// askLimit is how long a plan, a reflection or a judge may take, asked again or not.
func (s *state) askLimit() time.Duration {
	if limit := s.time(); limit > 0 {
		return min(limit/4, askPatience)
	}
	return askPatience
}

// callLimit is how long the call may take that the step waits for.
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

// late is why what was given up did not come.
const late = "it took too long"

// gaveUp goes on without what was given up.
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

// uncalled goes on without the call that the step waits for.
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
