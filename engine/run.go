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
	mode  *ponder.Mode // nil if there is no such mode
	state ponder.State
	up    *run
	depth int
	seq   ponder.Seq    // where it started
	began time.Duration // the thread's clock then

	acts map[string]*act // in flight, waiting to be tried again, or half written
	done doneSet

	paused     bool
	stopped    bool          // the run's clock
	stoppedAt  time.Duration // of the thread's clock
	stoppedFor time.Duration
	cancelled  bool
	cut        ponder.Seq    // where it was cancelled by a user
	told       bool          // it has its BudgetSpent
	hurried    bool          // it is asked to answer now
	since      int           // calls begun since it was told
	slowest    time.Duration // that a call of it took that went well
	ended      bool
	fault      string // why it can't go on
	stack      []byte // where the mode panicked, for the log

	spent, held ponder.Cost // with those of the runs below it

	dirty bool          // it saw something since Next was called
	wake  time.Time     // Next is to be called then
	alarm time.Duration // or at this thinking time
}

// An act is an action that is not done.
type act struct {
	kind     actionKind
	now      *intent // the attempt in flight
	attempts int
	fails    int
	model    string // of the next attempt, if a failure has chosen it
	retryAt  time.Time
	written  int // events of a Write that are in the log
}

// An intent is an attempt that may have begun.
type intent struct {
	run   *run
	key   string
	cause string
	seq   ponder.Seq
	held  ponder.Cost
	call  *ponder.CallStarted // or
	tool  *ponder.ToolCall
	inner bool // its events are internal
	late  bool // interrupted: what comes of it is paid for but not folded
	begun bool // by this process
}

// id names the intent in its thread.
func (in *intent) id() string { return string(in.run.ID) + " " + in.cause }

func (r *run) act(key string, kind actionKind) *act {
	if r.acts[key] == nil {
		r.acts[key] = &act{kind: kind}
	}
	return r.acts[key]
}

// spentAt returns the thinking time of the run when the thread's clock shows so much.
func (r *run) spentAt(elapsed time.Duration) time.Duration {
	if r.stopped {
		elapsed = r.stoppedAt
	}
	return max(0, elapsed-r.began-r.stoppedFor)
}

// left returns how much of its time the run has then, if that is limited, at least a moment.
func (r *run) left(elapsed time.Duration) time.Duration {
	if r.Budget.Time <= 0 {
		return 0
	}
	return max(1, r.Budget.Time-r.spentAt(elapsed))
}

// finish marks the action done.
func (r *run) finish(key string, kind actionKind) {
	r.done.add(key, kind)
	delete(r.acts, key)
}

// feed shows the mode an event. A mode that panics is at fault.
func (r *run) feed(ev ponder.Event) {
	if r.state == nil || r.fault != "" {
		return
	}
	defer r.barrier()
	r.dirty = true
	r.state = r.state.Apply(ev)
}

// begin sets the state that the run begins with.
func (r *run) begin(start func() ponder.State) {
	defer r.barrier()
	r.state = start()
}

// kept returns the state as a checkpoint has it.
func (r *run) kept() (js []byte, err error) {
	defer r.caught(&err)
	return json.Marshal(r.state)
}

// load undoes kept.
func (r *run) load(js []byte) (err error) {
	defer r.caught(&err)
	if r.state, err = r.mode.Load(r.Run, js); err == nil && r.state == nil {
		err = fmt.Errorf("mode %s has no state", r.Mode)
	}
	return err
}

// caught turns a panic of a mode about a checkpoint, which nobody needs, into an error.
func (r *run) caught(err *error) {
	if p := recover(); p != nil {
		*err = r.panicked(p)
	}
}

func (r *run) panicked(p any) error { return fmt.Errorf("mode %s panicked: %.200v", r.Mode, p) }

// carries reports whether the next run of the mode goes on with the state of
// this one.
func (r *run) carries() bool {
	return r.mode != nil && r.mode.History && r.mode.Carry != nil && r.state != nil && r.fault == ""
}

// next asks the mode what it wants.
func (r *run) next(now ponder.Moment) (want []ponder.Action) {
	if r.state == nil || r.fault != "" {
		return nil
	}
	defer r.barrier()
	return r.state.Next(now)
}

// barrier turns a panic of a mode into a fault of its run.
func (r *run) barrier() {
	if p := recover(); p != nil {
		r.fault = r.panicked(p).Error()
		r.dirty, r.stack = true, debug.Stack()
	}
}

// sees reports whether the mode is told of ev: see [State].
func (r *run) sees(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.ToolCall, ponder.RunStarted:
		return false
	case ponder.CallFinished, ponder.ToolResult, ponder.BudgetSpent:
		return ev.Run == r.ID
	case ponder.RunFinished:
		return ev.Run.Parent() == r.ID && !r.ended
	case ponder.Steer, ponder.RunPaused, ponder.RunResumed:
		return ev.Seq > r.seq && r.ID.Within(ev.Run) && !r.ended
	}
	return true
}
