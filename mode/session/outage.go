package session

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/internal/pendingwrites"
	"ponder/mode/internal/runstate"
)

// How long a session waits for a model that has answered before and does not now: at first,
// twice as long each time, and at most. A session whose time is bounded waits as long as it
// has time, any other so many times.
const (
	firstRest = 5 * time.Second
	mostRest  = 2 * time.Minute
	mostRests = 20

	longestRest = time.Hour // that a model is believed to want
)

// rested is what the keys of what is written of outages begin with.
const rested = "rests"

// resting is the stage of the Progress that says that a session waits.
const resting = "resting"

// An outage is how a model is that has answered before, and whether it does now.
type outage struct {
	Answered bool      `json:"answered,omitempty"` // the model has, before
	Class    llm.Class `json:"class,omitempty"`    // of the last failure since
	Fault    string    `json:"fault,omitempty"`    // that failure, in words
	Before   time.Time `json:"before,omitzero"`    // the model wants nothing asked until then
	Until    time.Time `json:"until,omitzero"`     // nothing is asked before
	Rests    int       `json:"rests,omitempty"`    // since an answer
	Pauses   bool      `json:"pauses,omitempty"`   // the session is about to pause, until somebody has mended it
}

// mayPass reports whether failures of this class end by themselves.
func mayPass(c llm.Class) bool {
	return c == llm.Transient || c == llm.RateLimited || c == llm.Unreachable || c == llm.Truncated
}

// rest has the session ask nothing for a while, if the model has answered before and what
// is wrong with it may pass; and pause, if only a user can mend it. It reports whether it does.
func (s *state) rest() bool {
	o := &s.Outage
	switch {
	case !o.Answered || s.Told || o.Fault == "":
		return false
	case runstate.IsPermanent(o.Class):
		return s.End == "" && s.pause()
	case !mayPass(o.Class) || s.limited() == 0 && o.Rests >= mostRests:
		return false
	}
	wait := min(firstRest<<min(o.Rests, 10), mostRest)
	wait = max(wait, min(o.Before.Sub(s.Time.Wall), longestRest)).Round(time.Second)
	o.Rests++
	o.Until = s.Time.Wall.Add(wait)
	s.Fails, s.Unaided = maxFails-1, false
	says := fmt.Sprintf("%s; asking again in %s", o.Fault, wait)
	if left := s.limited() - time.Duration(s.Time.Milliseconds())*time.Millisecond; s.limited() > 0 && left <= wait {
		says += fmt.Sprintf(", but the time is up in %s", max(0, left).Round(time.Second))
	}
	s.write(rested, &s.Counts.Rests, ponder.Progress{Content: says, Stage: resting, Iteration: s.Counts.Rounds})
	return true
}

// pause has the session pause until a user has mended what is wrong with the model, if that
// has answered before, and reports whether it does. It is of no use where nobody could mend
// it, or no call is left to make then.
func (s *state) pause() bool {
	o := &s.Outage
	if !o.Answered || o.Fault == "" || !runstate.IsPermanent(o.Class) || s.opts.Unattended || s.Calls > 0 && s.Counts.Calls >= s.Calls {
		return false
	}
	o.Pauses = true
	s.Fails, s.Unaided = maxFails-1, false
	s.write(rested, &s.Counts.Rests, ponder.RunPaused{Reason: o.Fault})
	return true
}

// ofItself reports whether it is the session that has paused, and not a user.
func ofItself(ev ponder.Event) bool {
	return strings.HasPrefix(ev.Cause, rested+"-") && pendingwrites.Ends(ev.Cause)
}

// limited returns how long the session may take; zero is no limit.
func (s *state) limited() time.Duration { return cmp.Or(s.Limit, s.run.Budget.Time) }

// rests reports whether nothing is to be asked yet.
func (s *state) rests(now time.Time) bool { return s.End == "" && now.Before(s.Outage.Until) }

// unaid has the session quote from now on, or no more, and says why it does.
func (s *state) unaid(yes bool) {
	if yes && !s.Unaided && s.Outage.Fault != "" {
		s.write(rested, &s.Counts.Rests, ponder.Progress{
			Content: s.Outage.Fault + "; quotations will do instead", Stage: resting, Iteration: s.Counts.Rounds,
		})
	}
	s.Unaided = yes
}

// outlasted says, behind the reason of an end without the model, that it does not answer,
// unless that is the reason.
func (o outage) outlasted(why string) string {
	switch {
	case o.Fault == "" || strings.HasSuffix(why, o.Fault):
		return why
	case o.Answered:
		return why + ", and the model did not answer any more: " + o.Fault
	}
	return why + ", and the model did not answer: " + o.Fault
}
