package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"ponder"
	"ponder/llm"
)

// A run is a run in a threadState.
type run struct {
	ponder.Run
	mode      *ponder.Mode // nil if there is no such mode
	state     ponder.State
	parent    *run
	depth     int
	startSeq  ponder.Seq    // of its RunStarted
	startedAt time.Duration // the thread's clock then

	actions  map[string]*actionState // that are in flight, wait for a retry, or are partly written
	finished finishedKeys

	paused             bool
	stopped            bool          // the run's clock
	stoppedAt          time.Duration // of the thread's clock
	stoppedFor         time.Duration
	cancelled          bool
	cancelledAt        ponder.Seq           // of the Steer that cancelled it
	budgetNotified     bool                 // the log has its BudgetSpent
	answerNow          bool                 // the user wants the answer now
	callsSinceNotified int                  // calls started since then
	slowest            time.Duration        // duration of its slowest successful call
	speeds             map[string]llm.Speed // by model, learned from its calls and those below it
	resumedAt          time.Duration        // thinking time of the last resume
	ended              bool
	failure            string // ends the run, if set

	spent, held ponder.Cost // including the runs below it

	dirty       bool          // it observed an event since the last Next
	wakeAt      time.Time     // the time of the next Next
	wakeAtClock time.Duration // the same time on the thread's clock
	wakeAtSpent time.Duration // or at this thinking time
}

// An actionState is the state of an unfinished action.
type actionState struct {
	kind     actionKind
	inFlight *intent // the attempt in flight
	attempts int
	failures int
	model    string // of the next attempt, if a failure chose it
	retryAt  time.Time
	retryIn  time.Duration // until retryAt, at the failure; zero: unknown
	written  int           // events of a Write in the log
}

// An intent is an attempt without a result. A process may have started it.
type intent struct {
	run         *run
	key         string
	cause       string
	seq         ponder.Seq
	held        ponder.Cost
	call        *ponder.CallStarted // or
	tool        *ponder.ToolCall
	internal    bool // its events are internal
	superseded  bool // the run pays for its result but does not observe it
	startedHere bool // by this process

	startedAt time.Duration // thinking time of the run
	softCuts  int           // times at which the engine cut it only if it had text
	cut       bool          // the engine cut it
	cutAt     time.Duration // thinking time of the run then
}

// id names the intent in its thread.
func (in *intent) id() string { return string(in.run.ID) + " " + in.cause }

// supersede marks that the run does not want the intent any more.
func (in *intent) supersede() {
	in.superseded = true
	if a := in.run.actions[in.key]; a != nil && a.inFlight == in {
		a.inFlight = nil
	}
}

func (r *run) ensureAction(key string, kind actionKind) *actionState {
	if r.actions[key] == nil {
		r.actions[key] = &actionState{kind: kind}
	}
	return r.actions[key]
}

// spentAt returns the thinking time of the run at a time of the thread's clock.
func (r *run) spentAt(elapsed time.Duration) time.Duration {
	if r.stopped {
		elapsed = r.stoppedAt
	}
	return max(0, elapsed-r.startedAt-r.stoppedFor)
}

// timeLeft returns the time left in the budget of the run, at least 1 ns; for a run that
// concludes, the time left to its answer. It returns 0 if the budget does not limit the time.
func (r *run) timeLeft(elapsed time.Duration) time.Duration {
	if r.Budget.Time <= 0 {
		return 0
	}
	end := r.Budget.Time
	if r.budgetNotified {
		end = r.answerEnd()
	}
	return max(1, end-r.spentAt(elapsed))
}

// finishAction marks an action as finished.
func (r *run) finishAction(key string, kind actionKind) {
	r.finished.add(key, kind)
	delete(r.actions, key)
}

// applyEvent applies an event to the state of the mode. A panic of the mode fails the run.
func (r *run) applyEvent(ev ponder.Event) {
	if r.state == nil || r.failure != "" {
		return
	}
	defer r.recoverFailure()
	r.dirty = true
	r.state = r.state.Apply(ev)
}

// setState sets the initial state of the run.
func (r *run) setState(start func() ponder.State) {
	defer r.recoverFailure()
	r.state = start()
}

func (r *run) encodeState() (js []byte, err error) {
	defer r.recoverError(&err)
	return json.Marshal(r.state)
}

// decodeState sets the state from a checkpoint.
func (r *run) decodeState(js []byte) (err error) {
	defer r.recoverError(&err)
	if r.state, err = r.mode.Load(r.Run, js); err == nil && r.state == nil {
		err = fmt.Errorf("mode %s has no state", r.Mode)
	}
	return err
}

// recoverError turns a panic of a mode into an error, for checkpoints, which are disposable.
func (r *run) recoverError(err *error) {
	if p := recover(); p != nil {
		*err = r.panicError(p)
	}
}

func (r *run) panicError(p any) error { return fmt.Errorf("mode %s panicked: %.200v", r.Mode, p) }

// carriesOver reports whether the next run of the mode takes over the state of this run.
func (r *run) carriesOver() bool {
	return r.mode != nil && r.mode.History && r.mode.Carry != nil && r.state != nil && r.failure == ""
}

// nextActions returns the actions that the mode wants.
func (r *run) nextActions(now ponder.Moment) (want []ponder.Action) {
	if r.state == nil || r.failure != "" {
		return nil
	}
	defer r.recoverFailure()
	return r.state.Next(now)
}

// recoverFailure turns a panic of a mode into a failure of its run.
func (r *run) recoverFailure() {
	if p := recover(); p != nil {
		r.failure = r.panicError(p).Error()
		r.dirty = true
	}
}

// observesEvent reports whether the mode observes ev: see [ponder.State].
func (r *run) observesEvent(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.ToolCall, ponder.RunStarted:
		return false
	case ponder.CallFinished, ponder.ToolResult, ponder.BudgetSpent:
		return ev.Run == r.ID
	case ponder.RunFinished:
		return ev.Run.Parent() == r.ID && !r.ended
	case ponder.Steer, ponder.RunPaused, ponder.RunResumed:
		return ev.Seq > r.startSeq && r.ID.IsWithin(ev.Run) && !r.ended
	}
	return true
}
