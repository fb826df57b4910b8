package engine

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"ponder"
)

// A run is what the line knows of a mode at work.
type run struct {
	ponder.Run
	mode      *ponder.Mode // nil if there is no such mode
	state     ponder.State
	parent    *run
	depth     int
	startSeq  ponder.Seq    // where it started
	startedAt time.Duration // the thread's clock then

	actions  map[string]*actionState // in flight, waiting to be tried again, or half written
	finished finishedKeys

	paused             bool
	stopped            bool          // the run's clock
	stoppedAt          time.Duration // of the thread's clock
	stoppedFor         time.Duration
	cancelled          bool
	cancelledAt        ponder.Seq    // where it was cancelled by a user
	budgetNotified     bool          // it has its BudgetSpent
	answerNow          bool          // it is asked to answer now
	callsSinceNotified int           // calls begun since it was told
	slowest            time.Duration // that a call of it took that went well
	ended              bool
	failure            string // why it can't go on
	stack              []byte // where the mode panicked, for the log

	spent, held ponder.Cost // with those of the runs below it

	dirty       bool          // it saw something since Next was called
	wakeAt      time.Time     // Next is to be called then
	wakeAtSpent time.Duration // or at this thinking time
}

// An act is an action that is not done.
type actionState struct {
	kind     actionKind
	inFlight *intent // the attempt in flight
	attempts int
	failures int
	model    string // of the next attempt, if a failure has chosen it
	retryAt  time.Time
	written  int // events of a Write that are in the log
}

// An intent is an attempt that may have begun.
type intent struct {
	run         *run
	key         string
	cause       string
	seq         ponder.Seq
	held        ponder.Cost
	call        *ponder.CallStarted // or
	tool        *ponder.ToolCall
	internal    bool // its events are internal
	superseded  bool // interrupted: what comes of it is paid for but not folded
	startedHere bool // by this process
}

// id names the intent in its thread.
func (in *intent) id() string { return string(in.run.ID) + " " + in.cause }

func (r *run) action(key string, kind actionKind) *actionState {
	if r.actions[key] == nil {
		r.actions[key] = &actionState{kind: kind}
	}
	return r.actions[key]
}

// spentAt returns the thinking time of the run when the thread's clock shows so much.
func (r *run) spentAt(elapsed time.Duration) time.Duration {
	if r.stopped {
		elapsed = r.stoppedAt
	}
	return max(0, elapsed-r.startedAt-r.stoppedFor)
}

// left returns how much of its time the run has then, if that is limited, at least a moment.
func (r *run) timeLeft(elapsed time.Duration) time.Duration {
	if r.Budget.Time <= 0 {
		return 0
	}
	return max(1, r.Budget.Time-r.spentAt(elapsed))
}

// finish marks the action done.
func (r *run) finishAction(key string, kind actionKind) {
	r.finished.add(key, kind)
	delete(r.actions, key)
}

// feed shows the mode an event. A mode that panics is at fault.
func (r *run) applyEvent(ev ponder.Event) {
	if r.state == nil || r.failure != "" {
		return
	}
	defer r.recoverFailure()
	r.dirty = true
	r.state = r.state.Apply(ev)
}

// begin sets the state that the run begins with.
func (r *run) setState(start func() ponder.State) {
	defer r.recoverFailure()
	r.state = start()
}

// kept returns the state as a checkpoint has it.
func (r *run) encodeState() (js []byte, err error) {
	defer r.recoverError(&err)
	return json.Marshal(r.state)
}

// load undoes kept.
func (r *run) decodeState(js []byte) (err error) {
	defer r.recoverError(&err)
	if r.state, err = r.mode.Load(r.Run, js); err == nil && r.state == nil {
		err = fmt.Errorf("mode %s has no state", r.Mode)
	}
	return err
}

// caught turns a panic of a mode about a checkpoint, which nobody needs, into an error.
func (r *run) recoverError(err *error) {
	if p := recover(); p != nil {
		*err = r.panicError(p)
	}
}

func (r *run) panicError(p any) error { return fmt.Errorf("mode %s panicked: %.200v", r.Mode, p) }

// carries reports whether the next run of the mode goes on with the state of
// this one.
func (r *run) carriesOver() bool {
	return r.mode != nil && r.mode.History && r.mode.Carry != nil && r.state != nil && r.failure == ""
}

// next asks the mode what it wants.
func (r *run) nextActions(now ponder.Moment) (want []ponder.Action) {
	if r.state == nil || r.failure != "" {
		return nil
	}
	defer r.recoverFailure()
	return r.state.Next(now)
}

// barrier turns a panic of a mode into a fault of its run.
func (r *run) recoverFailure() {
	if p := recover(); p != nil {
		r.failure = r.panicError(p).Error()
		r.dirty, r.stack = true, debug.Stack()
	}
}

// sees reports whether the mode is told of ev: see [State].
func (r *run) observes(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.ToolCall, ponder.RunStarted:
		return false
	case ponder.CallFinished, ponder.ToolResult, ponder.BudgetSpent:
		return ev.Run == r.ID
	case ponder.RunFinished:
		return ev.Run.Parent() == r.ID && !r.ended
	case ponder.Steer, ponder.RunPaused, ponder.RunResumed:
		return ev.Seq > r.startSeq && r.ID.Within(ev.Run) && !r.ended
	}
	return true
}
