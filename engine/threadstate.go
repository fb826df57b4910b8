package engine

import (
	"slices"
	"time"

	"ponder"
	"ponder/llm"
)

// A line is what the events of one thread mean. It is a pure fold: apply is the
// only thing that changes what the events mean, and decide says what should
// happen next. Both are deterministic. A line keeps no events: its size is that
// of what is going on.
type threadState struct {
	modes map[string][]*ponder.Mode // by name, the version that starts now first
	roles map[ponder.Role][]ponder.Model

	head            ponder.Seq
	elapsed         time.Duration // the thread's clock at the newest event
	lastInputID     string        // the id of the newest event that the thread was told; empty: none, or what was said since was erased
	runs            map[ponder.RunID]*run
	openRuns        []*run                // that are open, as they started: parents come before children
	intents         map[string]*intent    // by id; has no result yet
	wokenAt         map[string]ponder.Seq // by mode: the newest event that wakes it
	finishedAt      map[string]ponder.Seq // by mode: where its last run finished
	awaitingHistory []*run                // started, and to be shown the history before they go on
	carryOver       map[string]*run       // by mode: the last root run, if the next one carries its state on
	estimator       *llm.Estimator        // what models have reported of requests
}

func newThreadState(modes map[string][]*ponder.Mode, roles map[ponder.Role][]ponder.Model) *threadState {
	return &threadState{
		modes: modes, roles: roles, runs: make(map[ponder.RunID]*run), intents: make(map[string]*intent),
		wokenAt: make(map[string]ponder.Seq), finishedAt: make(map[string]ponder.Seq), carryOver: make(map[string]*run), estimator: new(llm.Estimator),
	}
}

// apply folds the next event.
func (l *threadState) apply(ev ponder.Event) {
	l.head = ev.Seq
	switch {
	case ev.Erased:
		l.lastInputID = ""
	case ev.IsExternalInput():
		l.lastInputID = ev.ID
	}
	if ev.Elapsed > 0 { // a holder's: only holders know the thread's clock
		l.elapsed = max(l.elapsed, ev.Elapsed)
		for _, r := range l.openRuns {
			r.updateClock(l.elapsed)
		}
	}
	shown := l.applyToEngine(ev)
	l.noteWakes(ev)
	if !shown {
		return
	}
	for _, r := range l.openRuns {
		if r.observes(ev) {
			r.applyEvent(ev)
		}
	}
	for _, r := range l.carryOver {
		if r.observes(ev) {
			r.applyEvent(ev)
		}
	}
}

// note folds what an event means to the engine, and reports whether modes may see it.
func (l *threadState) applyToEngine(ev ponder.Event) (shown bool) {
	r, shown := l.runs[ev.Run], true
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		l.startRun(ev, b)
	case ponder.RunPaused:
		l.interrupt(ev.Run, func(r *run) { r.paused = true })
	case ponder.RunResumed:
		for _, r := range l.openWithin(ev.Run) {
			if r.paused {
				r.callsSinceNotified = 0 // who resumes what concludes wants the answer asked for again
			}
			r.paused, r.dirty = false, true
		}
	case ponder.Steer:
		if b.Do == ponder.SetBudget && r != nil && !r.budgetNotified {
			if limits, err := r.Budget.With(b.Args); err == nil {
				r.Budget, r.dirty = limits, true
			}
		}
		if b.Do == ponder.Cancel || b.Do == ponder.AnswerNow {
			l.interrupt(ev.Run, func(r *run) {
				if b.Do == ponder.Cancel && !r.cancelled {
					r.cancelledAt = ev.Seq
				}
				r.cancelled, r.answerNow = r.cancelled || b.Do == ponder.Cancel, r.answerNow || b.Do == ponder.AnswerNow
			})
		}
	case ponder.CallStarted:
		l.beginAttempt(ev, &intent{held: b.Held, call: &b})
	case ponder.ToolCall:
		l.beginAttempt(ev, &intent{tool: &b})
	case ponder.CallFinished:
		l.learnTokens(ev, b)
		if shown = l.endAttempt(ev, b.Outcome, b.Spent); r != nil && b.Error == "" {
			r.slowest = max(r.slowest, time.Duration(b.Took)*time.Millisecond)
		}
	case ponder.ToolResult:
		shown = l.endAttempt(ev, b.Outcome, ponder.Cost{})
	case ponder.BudgetSpent:
		if r != nil {
			r.budgetNotified = true
		}
	case ponder.RunFinished:
		l.endRun(ev, r)
	default:
		if c, ok := parseCause(ev.Cause); r != nil && ok && c.n > 0 {
			r.noteWritten(c)
		}
	}
	return shown
}

// wakes notes which modes ev starts a run of.
func (l *threadState) noteWakes(ev ponder.Event) {
	var mode string
	if r := l.runs[ev.Run]; r != nil {
		mode = r.Mode
	}
	for name, vs := range l.modes {
		if m := vs[0]; m.Wakes != nil && name != mode && m.Wakes(ev) {
			l.wokenAt[name] = ev.Seq
		}
	}
}

func (l *threadState) startRun(ev ponder.Event, b ponder.RunStarted) {
	if l.runs[ev.Run] != nil {
		return
	}
	r := &run{
		Run:    ponder.Run{ID: ev.Run, Mode: b.Mode, Version: b.Version, Input: b.Input, Options: b.Options, Budget: b.Budget, Started: ev.Time},
		parent: l.runs[ev.Run.Parent()], startSeq: ev.Seq, startedAt: l.elapsed, dirty: true,
		actions: make(map[string]*actionState), finished: make(finishedKeys),
	}
	if r.parent != nil {
		r.depth = r.parent.depth + 1
		r.paused = r.parent.paused
	}
	l.runs[r.ID], l.openRuns = r, append(l.openRuns, r)
	if r.mode = l.findMode(b.Mode, b.Version); r.mode == nil {
		return
	}
	if r.Budget == (ponder.Budget{}) {
		r.Budget = r.mode.Budget
	}
	if last := l.carryOver[b.Mode]; last != nil && last.mode == r.mode && last.failure == "" && r.parent == nil {
		r.setState(func() ponder.State { return r.mode.Carry(r.Run, last.state) })
		delete(l.carryOver, b.Mode)
		return
	}
	r.setState(func() ponder.State { return r.mode.Start(r.Run) })
	if r.mode.History {
		l.awaitingHistory = append(l.awaitingHistory, r)
	}
}

// mode returns a mode, or nil. Version 0 is the one that starts now.
func (l *threadState) findMode(name string, version int) *ponder.Mode {
	for _, m := range l.modes[name] {
		if version == 0 || m.Version == version {
			return m
		}
	}
	return nil
}

// finish ends a run.
func (l *threadState) endRun(ev ponder.Event, r *run) {
	if r == nil {
		return
	}
	l.interrupt(r.ID, func(*run) {})
	r.ended = true
	delete(l.runs, r.ID)
	l.openRuns = slices.DeleteFunc(l.openRuns, func(o *run) bool { return o == r })
	if r.parent != nil {
		r.parent.finishAction(string(r.ID[len(r.parent.ID)+1:]), kindSpawn)
		return
	}
	if l.finishedAt[r.Mode] = ev.Seq; r.cancelled && r.cancelledAt > 0 {
		l.finishedAt[r.Mode] = r.cancelledAt // what came after that is for the next
	}
	if r.carriesOver() {
		l.carryOver[r.Mode] = r
	}
}

// watch stops or starts the clock of the run when the thread's shows so much. A
// pause counts from the first event that a holder writes after it, which is, at
// the latest, what comes of the calls that it interrupts.
func (r *run) updateClock(elapsed time.Duration) {
	switch {
	case r.paused && !r.stopped:
		r.stopped, r.stoppedAt = true, elapsed
	case !r.paused && r.stopped:
		r.stopped, r.stoppedFor = false, r.stoppedFor+elapsed-r.stoppedAt
	}
}

// wrote notes that an event of a Write is in the log.
func (r *run) noteWritten(c cause) {
	if c.i == c.n {
		r.finishAction(c.key, kindWrite)
		return
	}
	a := r.action(c.key, kindWrite)
	a.written = max(a.written, c.i) // anyone may append an input of such a cause
	r.dirty = true
}

// below returns the open runs within top.
func (l *threadState) openWithin(top ponder.RunID) (runs []*run) {
	for _, r := range l.openRuns {
		if r.ID.Within(top) {
			runs = append(runs, r)
		}
	}
	return runs
}

// interrupt marks runs, and what they have in flight as late.
func (l *threadState) interrupt(top ponder.RunID, mark func(*run)) {
	for _, r := range l.openWithin(top) {
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

func (l *threadState) beginAttempt(ev ponder.Event, in *intent) {
	r, c := l.runs[ev.Run], cause{}
	c, ok := parseCause(ev.Cause)
	if r == nil || !ok || c.attempt == 0 {
		return // not a holder's
	}
	in.run, in.key, in.cause, in.seq, in.internal = r, c.key, ev.Cause, ev.Seq, ev.Internal
	a := r.action(c.key, in.kind())
	a.inFlight, a.attempts, a.retryAt = in, c.attempt, time.Time{}
	if in.call != nil && a.model != in.call.Model { // failures are those of one model
		a.model, a.failures = in.call.Model, 0
	}
	l.intents[in.id()] = in
	if r.budgetNotified && in.call != nil {
		r.callsSinceNotified++
	}
	for ; r != nil; r = r.parent {
		r.held = r.held.Add(in.held)
	}
}

// learn notes how many tokens the request of a call was, if it was answered.
func (l *threadState) learnTokens(ev ponder.Event, b ponder.CallFinished) {
	if in := l.intents[string(ev.Run)+" "+ev.Cause]; in != nil && in.call != nil && b.Error == "" {
		l.estimator.Learn(in.call.Model, in.call.Size, b.Usage)
	}
}

func (in *intent) kind() actionKind {
	if in.tool != nil {
		return kindTool
	}
	return kindCall
}

// end folds a result, and reports whether the mode sees it.
func (l *threadState) endAttempt(ev ponder.Event, o ponder.Outcome, spent ponder.Cost) bool {
	in := l.intents[string(ev.Run)+" "+ev.Cause]
	if in == nil {
		return false
	}
	delete(l.intents, in.id())
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
			a.failures = 0 // of the next model
		}
		if o.Unsent {
			r.callsSinceNotified = max(0, r.callsSinceNotified-1) // it was not asked, and is asked later
		}
		a.retryAt, a.model = o.RetryAt, o.Next
	default:
		r.finishAction(in.key, in.kind())
		return true
	}
	return false
}
