package session

import (
	"fmt"
	"time"

	"ponder"
	"ponder/llm"
)

// How long a session waits for a model that has answered before and does not now: at first,
// twice as long each time, and at most. A session whose time is bounded waits as long as it
// has time, any other so many times.
const (
	firstRest = 5 * time.Second
	mostRest  = 2 * time.Minute
	mostRests = 20
)

// resting is the stage of the Progress that says that a session waits.
const resting = "resting"

// An outage is how a model is that has answered before, and whether it does now.
type outage struct {
	Answered bool      `json:"answered,omitempty"` // the model has, before
	Class    llm.Class `json:"class,omitempty"`    // of the last failure since
	Fault    string    `json:"fault,omitempty"`    // that failure, in words
	Until    time.Time `json:"until,omitzero"`     // nothing is asked before
	Rests    int       `json:"rests,omitempty"`    // since an answer
}

// mayPass reports whether failures of this class end by themselves.
func mayPass(c llm.Class) bool {
	return c == llm.Transient || c == llm.RateLimited || c == llm.Unreachable || c == llm.Truncated
}

// rest has the session ask nothing for a while, if the model has answered before and what
// is wrong with it may pass. It reports whether it does.
func (s *state) rest() bool {
	o := &s.Outage
	if !o.Answered || !mayPass(o.Class) || s.Told || s.run.Budget.Time == 0 && o.Rests >= mostRests {
		return false
	}
	wait := min(firstRest<<min(o.Rests, 10), mostRest)
	o.Rests++
	o.Until = s.Time.Wall.Add(wait)
	s.Fails, s.Unaided = maxFails-1, false
	s.write("rests", &s.Counts.Rests, ponder.Progress{
		Content: fmt.Sprintf("%s; asking again in %s", o.Fault, wait), Stage: resting, Iteration: s.Counts.Rounds,
	})
	return true
}

// rests reports whether nothing is to be asked yet.
func (s *state) rests(now time.Time) bool { return s.End == "" && now.Before(s.Outage.Until) }

// unaid has the session quote from now on, or no more, and says why it does.
func (s *state) unaid(yes bool) {
	if yes && !s.Unaided && s.Outage.Fault != "" {
		s.write("rests", &s.Counts.Rests, ponder.Progress{
			Content: s.Outage.Fault + "; quotations will do instead", Stage: resting, Iteration: s.Counts.Rounds,
		})
	}
	s.Unaided = yes
}

// outlasted says, behind the reason to conclude, that the model does not answer.
func (s *state) outlasted() string {
	switch {
	case s.Outage.Rests > 0:
		return ", and the model did not answer any more: " + s.Outage.Fault
	case s.Unaided && s.Outage.Fault != "":
		return ", and the model did not answer: " + s.Outage.Fault
	}
	return ""
}
