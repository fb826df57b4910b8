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
// Sessions without a time limit wait maxWaits times.
const (
	firstWait = 5 * time.Second
	maxWait   = 2 * time.Minute
	maxWaits  = 20

	maxDemandedWait = time.Hour // maximum delay that a model may demand
)

// outagePrefix is the prefix of keys of Writes about outages.
const outagePrefix = "rests"

// stageWaiting is the stage of the Progress about a wait.
const stageWaiting = "resting"

type outage struct {
	Answered   bool      `json:"answered,omitempty"` // the model answered before
	Class      llm.Class `json:"class,omitempty"`
	Fault      string    `json:"fault,omitempty"`
	RetryAfter time.Time `json:"before,omitzero"`  // the model's own retry time
	Until      time.Time `json:"until,omitzero"`   // no call before
	Waits      int       `json:"rests,omitempty"`  // since the last answer
	Pausing    bool      `json:"pauses,omitempty"` // the session is about to pause for repair
}

// isTemporary reports whether failures of this class end by themselves.
func isTemporary(c llm.Class) bool {
	return c == llm.Transient || c == llm.RateLimited || c == llm.Unreachable || c == llm.Truncated
}

// scheduleRetry waits if the model answered before and the failure may pass, or pauses if only a user can
// repair it. It reports whether it did either.
func (s *state) scheduleRetry() bool {
	o := &s.Outage
	switch {
	case !o.Answered || s.BudgetSpent || o.Fault == "":
		return false
	case runstate.IsPermanent(o.Class):
		return s.StopReason == "" && s.pauseForRepair()
	case !isTemporary(o.Class) || s.timeLimit() == 0 && o.Waits >= maxWaits:
		return false
	}
	wait := min(firstWait<<min(o.Waits, 10), maxWait)
	wait = max(wait, min(o.RetryAfter.Sub(s.Time.Wall), maxDemandedWait)).Round(time.Second)
	o.Waits++
	o.Until = s.Time.Wall.Add(wait)
	s.Failures, s.Unaided = maxFails-1, false
	says := fmt.Sprintf("%s; retrying in %s", o.Fault, wait)
	if left := s.timeLimit() - time.Duration(s.Time.Milliseconds())*time.Millisecond; s.timeLimit() > 0 && left <= wait {
		says += fmt.Sprintf(", but the time limit ends in %s", max(0, left).Round(time.Second))
	}
	s.queueWrite(outagePrefix, &s.Counts.Waits, ponder.Progress{Content: says, Stage: stageWaiting, Iteration: s.Counts.Rounds})
	return true
}

// pauseForRepair pauses the session until a user repairs the model, unless it is unattended or has no calls
// left. It reports whether it paused.
func (s *state) pauseForRepair() bool {
	o := &s.Outage
	if !o.Answered || o.Fault == "" || !runstate.IsPermanent(o.Class) || s.opts.Unattended || s.Calls > 0 && s.Counts.Calls >= s.Calls {
		return false
	}
	o.Pausing = true
	s.Failures, s.Unaided = maxFails-1, false
	s.queueWrite(outagePrefix, &s.Counts.Waits, ponder.RunPaused{Reason: o.Fault})
	return true
}

// isSelfPaused reports whether the session paused itself.
func isSelfPaused(ev ponder.Event) bool {
	return strings.HasPrefix(ev.Cause, outagePrefix+"-") && pendingwrites.IsLastEvent(ev.Cause)
}

func (s *state) timeLimit() time.Duration { return max(0, cmp.Or(s.TimeLimit, s.run.Budget.Time)) }

func (s *state) isWaiting(now time.Time) bool {
	return s.StopReason == "" && now.Before(s.Outage.Until)
}

// setExtractive starts or ends quoting without a model, and explains the start.
func (s *state) setExtractive(yes bool) {
	if yes && !s.Unaided && s.Outage.Fault != "" {
		s.queueWrite(outagePrefix, &s.Counts.Waits, ponder.Progress{
			Content: s.Outage.Fault + "; using quotations instead", Stage: stageWaiting, Iteration: s.Counts.Rounds,
		})
	}
	s.Unaided = yes
}

// addFault adds the model's failure to the reason of an end, unless already there.
func (o outage) addFault(why runstate.Reason) runstate.Reason {
	switch {
	case o.Fault == "" || strings.HasSuffix(why.Text, o.Fault):
		return why
	case o.Answered:
		why.Text += ", and the model stopped answering: " + o.Fault
	default:
		why.Text += ", and the model did not answer: " + o.Fault
	}
	why.Code = ponder.EndModelFailed
	return why
}
