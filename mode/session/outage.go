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

// Backoff while a model fails that answered before: initial wait, doubled each time, and maximum.
// Sessions without a time limit wait mostRests times.
const (
	firstRest = 5 * time.Second
	mostRest  = 2 * time.Minute
	mostRests = 20

	longestRest = time.Hour // maximum delay that a model may demand
)

// rested is the prefix of keys of Writes about outages.
const rested = "rests"

// resting is the stage of the Progress about a wait.
const resting = "resting"

type outage struct {
	Answered bool      `json:"answered,omitempty"` // the model answered before
	Class    llm.Class `json:"class,omitempty"`
	Fault    string    `json:"fault,omitempty"`
	Before   time.Time `json:"before,omitzero"`  // the model's own retry time
	Until    time.Time `json:"until,omitzero"`   // no call before
	Rests    int       `json:"rests,omitempty"`  // since the last answer
	Pauses   bool      `json:"pauses,omitempty"` // the session is about to pause for repair
}

// mayPass reports whether failures of this class end by themselves.
func mayPass(c llm.Class) bool {
	return c == llm.Transient || c == llm.RateLimited || c == llm.Unreachable || c == llm.Truncated
}

// rest waits if the model answered before and the failure may pass, or pauses if only a user can
// repair it. It reports whether it did either.
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

// pause pauses the session until a user repairs the model, unless it is unattended or has no calls
// left. It reports whether it paused.
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

// ofItself reports whether the session paused itself.
func ofItself(ev ponder.Event) bool {
	return strings.HasPrefix(ev.Cause, rested+"-") && pendingwrites.Ends(ev.Cause)
}

func (s *state) limited() time.Duration { return cmp.Or(s.Limit, s.run.Budget.Time) }

func (s *state) rests(now time.Time) bool { return s.End == "" && now.Before(s.Outage.Until) }

// unaid starts or ends quoting without a model, and explains the start.
func (s *state) unaid(yes bool) {
	if yes && !s.Unaided && s.Outage.Fault != "" {
		s.write(rested, &s.Counts.Rests, ponder.Progress{
			Content: s.Outage.Fault + "; quotations will do instead", Stage: resting, Iteration: s.Counts.Rounds,
		})
	}
	s.Unaided = yes
}

// outlasted appends the model's failure to the reason of an end, unless already there.
func (o outage) outlasted(why string) string {
	switch {
	case o.Fault == "" || strings.HasSuffix(why, o.Fault):
		return why
	case o.Answered:
		return why + ", and the model did not answer any more: " + o.Fault
	}
	return why + ", and the model did not answer: " + o.Fault
}
