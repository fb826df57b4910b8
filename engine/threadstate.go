package engine

import (
	"slices"
	"time"

	"ponder"
	"ponder/llm"
)

// A threadState is the fold of the events of one thread. Only apply folds events, and
// decide returns the next decision. Both are deterministic. A threadState keeps no events:
// its size depends on the open runs and actions.
type threadState struct {
	modes map[string][]*ponder.Mode // by name, the version for new runs first
	roles map[ponder.Role][]ponder.Model

	head            ponder.Seq
	elapsed         time.Duration // the thread's clock at the newest event
	lastInputID     string        // the newest external input; empty if there is none or a later event was erased
	runs            map[ponder.RunID]*run
	openRuns        []*run                // in the order of their starts, so that parents precede children
	intents         map[string]*intent    // by id, those without a result
	wokenAt         map[string]ponder.Seq // by mode: the newest event that wakes it
	finishedAt      map[string]ponder.Seq // by mode: the end of its last run
	awaitingHistory []*run                // new runs that have not seen the history yet
	carryOver       map[string]*run       // by mode: the last root run, if the next run takes over its state
	estimator       *llm.Estimator        // estimates the tokens of requests from reported usage
}

func newThreadState(modes map[string][]*ponder.Mode, roles map[ponder.Role][]ponder.Model) *threadState {
	return &threadState{
		modes: modes, roles: roles, runs: make(map[ponder.RunID]*run), intents: make(map[string]*intent),
		wokenAt: make(map[string]ponder.Seq), finishedAt: make(map[string]ponder.Seq), carryOver: make(map[string]*run), estimator: new(llm.Estimator),
	}
}

// apply folds the next event.
func (t *threadState) apply(ev ponder.Event) {
	t.head = ev.Seq
	switch {
	case ev.Erased:
		t.lastInputID = ""
	case ev.IsExternalInput():
		t.lastInputID = ev.ID
	}
	if ev.Elapsed > 0 { // only a holder knows the thread's clock
		t.elapsed = max(t.elapsed, ev.Elapsed)
		for _, r := range t.openRuns {
			r.updateClock(t.elapsed)
		}
	}
	shown := t.applyToEngine(ev)
	t.noteWakes(ev)
	if !shown {
		return
	}
	for _, r := range t.openRuns {
		if r.observesEvent(ev) {
			r.applyEvent(ev)
		}
	}
	for _, r := range t.carryOver {
		if r.observesEvent(ev) {
			r.applyEvent(ev)
		}
	}
}

// applyToEngine folds an event for the engine, and reports whether modes may observe it.
func (t *threadState) applyToEngine(ev ponder.Event) (shown bool) {
	r, shown := t.runs[ev.Run], true
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		t.startRun(ev, b)
	case ponder.RunPaused:
		t.interruptRuns(ev.Run, func(r *run) { r.paused = true })
	case ponder.RunResumed:
		for _, r := range t.openWithin(ev.Run) {
			if r.paused {
				r.callsSinceNotified, r.resumedAt = 0, r.spentAt(t.elapsed) // a user who resumes a concluding run wants another try at the answer
			}
			r.paused, r.dirty = false, true
		}
	case ponder.Steer:
		if b.Call != nil {
			t.chargeCall(r, b.Call.Spent)
		}
		if b.Do == ponder.SetBudget && r != nil && !r.budgetNotified {
			if limits, err := r.Budget.ApplyLimits(b.Args); err == nil {
				r.Budget, r.dirty = limits, true
			}
		}
		if b.Do == ponder.Cancel || b.Do == ponder.AnswerNow {
			t.interruptRuns(ev.Run, func(r *run) {
				if b.Do == ponder.Cancel && !r.cancelled {
					r.cancelledAt = ev.Seq
				}
				r.cancelled, r.answerNow = r.cancelled || b.Do == ponder.Cancel, r.answerNow || b.Do == ponder.AnswerNow
			})
		}
	case ponder.CallStarted:
		t.beginAttempt(ev, &intent{held: b.Reserved, call: &b})
	case ponder.ToolCall:
		t.beginAttempt(ev, &intent{tool: &b})
	case ponder.CallFinished:
		t.learnTokens(ev, b)
		t.learnSpeed(ev, b)
		if shown = t.endAttempt(ev, b.Outcome, b.Spent); r != nil && b.Error == "" {
			r.slowest = max(r.slowest, time.Duration(b.Took)*time.Millisecond)
		}
	case ponder.ToolResult:
		shown = t.endAttempt(ev, b.Outcome, ponder.Cost{})
	case ponder.BudgetSpent:
		if r != nil {
			r.budgetNotified = true
		}
	case ponder.RunFinished:
		t.endRun(ev, r)
	default:
		if c, ok := parseCause(ev.Cause); r != nil && ok && c.n > 0 {
			r.noteWritten(c)
		}
	}
	return shown
}

// chargeCall charges a call that a client made for a run.
func (t *threadState) chargeCall(r *run, spent ponder.Cost) {
	for ; r != nil; r = r.parent {
		r.spent, r.dirty = r.spent.Add(spent), true
	}
}

// noteWakes notes which modes ev wakes.
func (t *threadState) noteWakes(ev ponder.Event) {
	var mode string
	if r := t.runs[ev.Run]; r != nil {
		mode = r.Mode
	}
	for name, vs := range t.modes {
		if m := vs[0]; m.Wakes != nil && name != mode && m.Wakes(ev) {
			t.wokenAt[name] = ev.Seq
		}
	}
}

func (t *threadState) startRun(ev ponder.Event, b ponder.RunStarted) {
	if t.runs[ev.Run] != nil {
		return
	}
	r := &run{
		Run:    ponder.Run{ID: ev.Run, Mode: b.Mode, Version: b.Version, Input: b.Input, Options: b.Options, Budget: b.Budget, Started: ev.Time},
		parent: t.runs[ev.Run.Parent()], startSeq: ev.Seq, startedAt: t.elapsed, dirty: true,
		actions: make(map[string]*actionState), finished: make(finishedKeys),
	}
	if r.parent != nil {
		r.depth = r.parent.depth + 1
		r.paused = r.parent.paused
	}
	t.runs[r.ID], t.openRuns = r, append(t.openRuns, r)
	if r.mode = t.findMode(b.Mode, b.Version); r.mode == nil {
		return
	}
	if r.Budget == (ponder.Budget{}) {
		r.Budget = r.mode.Budget
	}
	if last := t.carryOver[b.Mode]; last != nil && last.mode == r.mode && last.failure == "" && r.parent == nil {
		r.setState(func() ponder.State { return r.mode.Carry(r.Run, last.state) })
		delete(t.carryOver, b.Mode)
		return
	}
	r.setState(func() ponder.State { return r.mode.Start(r.Run) })
	if r.mode.History {
		t.awaitingHistory = append(t.awaitingHistory, r)
	}
}

// findMode returns a mode, or nil. Version 0 selects the version for new runs.
func (t *threadState) findMode(name string, version int) *ponder.Mode {
	for _, m := range t.modes[name] {
		if version == 0 || m.Version == version {
			return m
		}
	}
	return nil
}

func (t *threadState) endRun(ev ponder.Event, r *run) {
	if r == nil {
		return
	}
	t.interruptRuns(r.ID, func(*run) {})
	r.ended = true
	delete(t.runs, r.ID)
	t.openRuns = slices.DeleteFunc(t.openRuns, func(o *run) bool { return o == r })
	if r.parent != nil {
		r.parent.finishAction(string(r.ID[len(r.parent.ID)+1:]), kindSpawn)
		return
	}
	if t.finishedAt[r.Mode] = ev.Seq; r.cancelled && r.cancelledAt > 0 {
		t.finishedAt[r.Mode] = r.cancelledAt // later events are for the next run
	}
	if r.carriesOver() {
		t.carryOver[r.Mode] = r
	}
}

// updateClock stops or starts the clock of the run at a time of the thread's clock. A pause
// counts from the next event of a holder: at the latest, from the result of a call that the
// pause interrupts.
func (r *run) updateClock(elapsed time.Duration) {
	switch {
	case r.paused && !r.stopped:
		r.stopped, r.stoppedAt = true, elapsed
	case !r.paused && r.stopped:
		r.stopped, r.stoppedFor = false, r.stoppedFor+elapsed-r.stoppedAt
	}
}

// noteWritten notes that the log has an event of a Write.
func (r *run) noteWritten(c cause) {
	if c.i == c.n {
		r.finishAction(c.key, kindWrite)
		return
	}
	a := r.ensureAction(c.key, kindWrite)
	a.written = max(a.written, c.i) // an input with such a cause may come from any client
	r.dirty = true
}

// openWithin returns the open runs within top.
func (t *threadState) openWithin(top ponder.RunID) (runs []*run) {
	for _, r := range t.openRuns {
		if r.ID.IsWithin(top) {
			runs = append(runs, r)
		}
	}
	return runs
}

// interruptRuns marks the open runs within top, and supersedes their attempts in flight.
func (t *threadState) interruptRuns(top ponder.RunID, mark func(*run)) {
	for _, r := range t.openWithin(top) {
		mark(r)
		r.dirty = true
		for _, a := range r.actions {
			if a.inFlight != nil {
				a.inFlight.superseded, a.inFlight = true, nil
			}
			a.failures, a.model, a.retryAt = 0, "", time.Time{}
		}
	}
}

func (t *threadState) beginAttempt(ev ponder.Event, in *intent) {
	r, c := t.runs[ev.Run], cause{}
	c, ok := parseCause(ev.Cause)
	if r == nil || !ok || c.attempt == 0 {
		return // no holder wrote it
	}
	in.run, in.key, in.cause, in.seq, in.internal = r, c.key, ev.Cause, ev.Seq, ev.Internal
	in.startedAt = r.spentAt(t.elapsed)
	a := r.ensureAction(c.key, in.kind())
	a.inFlight, a.attempts, a.retryAt = in, c.attempt, time.Time{}
	if in.call != nil && a.model != in.call.Model { // failures count per model
		a.model, a.failures = in.call.Model, 0
	}
	t.intents[in.id()] = in
	if r.budgetNotified && in.call != nil {
		r.callsSinceNotified++
	}
	for ; r != nil; r = r.parent {
		r.held = r.held.Add(in.held)
	}
}

// learnTokens trains the estimator with the usage of an answered call.
func (t *threadState) learnTokens(ev ponder.Event, b ponder.CallFinished) {
	if in := t.intents[string(ev.Run)+" "+ev.Cause]; in != nil && in.call != nil && b.Error == "" {
		t.estimator.Learn(in.call.Model, in.call.Size, b.Usage)
	}
}

func (in *intent) kind() actionKind {
	if in.tool != nil {
		return kindTool
	}
	return kindCall
}

// endAttempt folds a result, and reports whether the mode observes it.
func (t *threadState) endAttempt(ev ponder.Event, o ponder.Outcome, spent ponder.Cost) bool {
	in := t.intents[string(ev.Run)+" "+ev.Cause]
	if in == nil {
		return false
	}
	delete(t.intents, in.id())
	for r := in.run; r != nil; r = r.parent {
		r.held, r.spent = r.held.Sub(in.held), r.spent.Add(spent)
	}
	r, a := in.run, in.run.actions[in.key]
	r.dirty = true
	if in.superseded || r.ended || a == nil {
		return false
	}
	a.inFlight = nil
	switch {
	case o.Dropped:
	case !o.RetryAt.IsZero() && in.call != nil:
		if a.failures++; o.Next != in.call.Model {
			a.failures = 0 // a new count for the next model
		}
		if o.Unsent {
			r.callsSinceNotified = max(0, r.callsSinceNotified-1) // the request was not sent
		}
		a.retryAt, a.retryIn, a.model = o.RetryAt, o.RetryAt.Sub(ev.Time), o.Next
		if a.retryIn <= 0 { // the wait was over when the holder wrote the result
			a.retryAt, a.retryIn = time.Time{}, 0
		}
	default:
		r.finishAction(in.key, in.kind())
		return true
	}
	return false
}
