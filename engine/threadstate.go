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
type line struct {
	modes map[string][]*ponder.Mode // by name, the version that starts now first
	roles map[ponder.Role][]ponder.Model

	head    ponder.Seq
	elapsed time.Duration // the thread's clock at the newest event
	told    string        // the id of the newest event that the thread was told; empty: none, or what was said since was erased
	runs    map[ponder.RunID]*run
	order   []*run                // that are open, as they started: parents come before children
	open    map[string]*intent    // by id; has no result yet
	woken   map[string]ponder.Seq // by mode: the newest event that wakes it
	seen    map[string]ponder.Seq // by mode: where its last run finished
	fresh   []*run                // started, and to be shown the history before they go on
	rested  map[string]*run       // by mode: the last root run, if the next one carries its state on
	guess   *llm.Estimator        // what models have reported of requests
}

func newLine(modes map[string][]*ponder.Mode, roles map[ponder.Role][]ponder.Model) *line {
	return &line{
		modes: modes, roles: roles, runs: make(map[ponder.RunID]*run), open: make(map[string]*intent),
		woken: make(map[string]ponder.Seq), seen: make(map[string]ponder.Seq), rested: make(map[string]*run), guess: new(llm.Estimator),
	}
}

// apply folds the next event.
func (l *line) apply(ev ponder.Event) {
	l.head = ev.Seq
	switch {
	case ev.Erased:
		l.told = ""
	case ev.IsExternalInput():
		l.told = ev.ID
	}
	if ev.Elapsed > 0 { // a holder's: only holders know the thread's clock
		l.elapsed = max(l.elapsed, ev.Elapsed)
		for _, r := range l.order {
			r.watch(l.elapsed)
		}
	}
	shown := l.note(ev)
	l.wakes(ev)
	if !shown {
		return
	}
	for _, r := range l.order {
		if r.sees(ev) {
			r.feed(ev)
		}
	}
	for _, r := range l.rested {
		if r.sees(ev) {
			r.feed(ev)
		}
	}
}

// note folds what an event means to the engine, and reports whether modes may see it.
func (l *line) note(ev ponder.Event) (shown bool) {
	r, shown := l.runs[ev.Run], true
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		l.start(ev, b)
	case ponder.RunPaused:
		l.interrupt(ev.Run, func(r *run) { r.paused = true })
	case ponder.RunResumed:
		for _, r := range l.below(ev.Run) {
			if r.paused {
				r.since = 0 // who resumes what concludes wants the answer asked for again
			}
			r.paused, r.dirty = false, true
		}
	case ponder.Steer:
		if b.Do == ponder.SetBudget && r != nil && !r.told {
			if limits, err := r.Budget.With(b.Args); err == nil {
				r.Budget, r.dirty = limits, true
			}
		}
		if b.Do == ponder.Cancel || b.Do == ponder.AnswerNow {
			l.interrupt(ev.Run, func(r *run) {
				if b.Do == ponder.Cancel && !r.cancelled {
					r.cut = ev.Seq
				}
				r.cancelled, r.hurried = r.cancelled || b.Do == ponder.Cancel, r.hurried || b.Do == ponder.AnswerNow
			})
		}
	case ponder.CallStarted:
		l.begin(ev, &intent{held: b.Held, call: &b})
	case ponder.ToolCall:
		l.begin(ev, &intent{tool: &b})
	case ponder.CallFinished:
		l.learn(ev, b)
		if shown = l.end(ev, b.Outcome, b.Spent); r != nil && b.Error == "" {
			r.slowest = max(r.slowest, time.Duration(b.Took)*time.Millisecond)
		}
	case ponder.ToolResult:
		shown = l.end(ev, b.Outcome, ponder.Cost{})
	case ponder.BudgetSpent:
		if r != nil {
			r.told = true
		}
	case ponder.RunFinished:
		l.finish(ev, r)
	default:
		if c, ok := parseCause(ev.Cause); r != nil && ok && c.n > 0 {
			r.wrote(c)
		}
	}
	return shown
}

// wakes notes which modes ev starts a run of.
func (l *line) wakes(ev ponder.Event) {
	var mode string
	if r := l.runs[ev.Run]; r != nil {
		mode = r.Mode
	}
	for name, vs := range l.modes {
		if m := vs[0]; m.Wakes != nil && name != mode && m.Wakes(ev) {
			l.woken[name] = ev.Seq
		}
	}
}

func (l *line) start(ev ponder.Event, b ponder.RunStarted) {
	if l.runs[ev.Run] != nil {
		return
	}
	r := &run{
		Run: ponder.Run{ID: ev.Run, Mode: b.Mode, Version: b.Version, Input: b.Input, Options: b.Options, Budget: b.Budget, Started: ev.Time},
		up:  l.runs[ev.Run.Parent()], seq: ev.Seq, began: l.elapsed, dirty: true,
		acts: make(map[string]*act), done: make(doneSet),
	}
	if r.up != nil {
		r.depth = r.up.depth + 1
		r.paused = r.up.paused
	}
	l.runs[r.ID], l.order = r, append(l.order, r)
	if r.mode = l.mode(b.Mode, b.Version); r.mode == nil {
		return
	}
	if r.Budget == (ponder.Budget{}) {
		r.Budget = r.mode.Budget
	}
	if last := l.rested[b.Mode]; last != nil && last.mode == r.mode && last.fault == "" && r.up == nil {
		r.begin(func() ponder.State { return r.mode.Carry(r.Run, last.state) })
		delete(l.rested, b.Mode)
		return
	}
	r.begin(func() ponder.State { return r.mode.Start(r.Run) })
	if r.mode.History {
		l.fresh = append(l.fresh, r)
	}
}

// mode returns a mode, or nil. Version 0 is the one that starts now.
func (l *line) mode(name string, version int) *ponder.Mode {
	for _, m := range l.modes[name] {
		if version == 0 || m.Version == version {
			return m
		}
	}
	return nil
}

// finish ends a run.
func (l *line) finish(ev ponder.Event, r *run) {
	if r == nil {
		return
	}
	l.interrupt(r.ID, func(*run) {})
	r.ended = true
	delete(l.runs, r.ID)
	l.order = slices.DeleteFunc(l.order, func(o *run) bool { return o == r })
	if r.up != nil {
		r.up.finish(string(r.ID[len(r.up.ID)+1:]), kindSpawn)
		return
	}
	if l.seen[r.Mode] = ev.Seq; r.cancelled && r.cut > 0 {
		l.seen[r.Mode] = r.cut // what came after that is for the next
	}
	if r.carries() {
		l.rested[r.Mode] = r
	}
}

// watch stops or starts the clock of the run when the thread's shows so much. A
// pause counts from the first event that a holder writes after it, which is, at
// the latest, what comes of the calls that it interrupts.
func (r *run) watch(elapsed time.Duration) {
	switch {
	case r.paused && !r.stopped:
		r.stopped, r.stoppedAt = true, elapsed
	case !r.paused && r.stopped:
		r.stopped, r.stoppedFor = false, r.stoppedFor+elapsed-r.stoppedAt
	}
}

// wrote notes that an event of a Write is in the log.
func (r *run) wrote(c cause) {
	if c.i == c.n {
		r.finish(c.key, kindWrite)
		return
	}
	a := r.act(c.key, kindWrite)
	a.written = max(a.written, c.i) // anyone may append an input of such a cause
	r.dirty = true
}

// below returns the open runs within top.
func (l *line) below(top ponder.RunID) (runs []*run) {
	for _, r := range l.order {
		if r.ID.Within(top) {
			runs = append(runs, r)
		}
	}
	return runs
}

// interrupt marks runs, and what they have in flight as late.
func (l *line) interrupt(top ponder.RunID, mark func(*run)) {
	for _, r := range l.below(top) {
		mark(r)
		r.dirty = true
		for _, a := range r.acts {
			if a.now != nil {
				a.now.late, a.now = true, nil
			}
			a.fails, a.model, a.retryAt = 0, "", time.Time{}
		}
	}
}

func (l *line) begin(ev ponder.Event, in *intent) {
	r, c := l.runs[ev.Run], cause{}
	c, ok := parseCause(ev.Cause)
	if r == nil || !ok || c.attempt == 0 {
		return // not a holder's
	}
	in.run, in.key, in.cause, in.seq, in.inner = r, c.key, ev.Cause, ev.Seq, ev.Internal
	a := r.act(c.key, in.kind())
	a.now, a.attempts, a.retryAt = in, c.attempt, time.Time{}
	if in.call != nil && a.model != in.call.Model { // failures are those of one model
		a.model, a.fails = in.call.Model, 0
	}
	l.open[in.id()] = in
	if r.told && in.call != nil {
		r.since++
	}
	for ; r != nil; r = r.up {
		r.held = r.held.Add(in.held)
	}
}

// learn notes how many tokens the request of a call was, if it was answered.
func (l *line) learn(ev ponder.Event, b ponder.CallFinished) {
	if in := l.open[string(ev.Run)+" "+ev.Cause]; in != nil && in.call != nil && b.Error == "" {
		l.guess.Learn(in.call.Model, in.call.Size, b.Usage)
	}
}

func (in *intent) kind() actionKind {
	if in.tool != nil {
		return kindTool
	}
	return kindCall
}

// end folds a result, and reports whether the mode sees it.
func (l *line) end(ev ponder.Event, o ponder.Outcome, spent ponder.Cost) bool {
	in := l.open[string(ev.Run)+" "+ev.Cause]
	if in == nil {
		return false
	}
	delete(l.open, in.id())
	for r := in.run; r != nil; r = r.up {
		r.held, r.spent = r.held.Sub(in.held), r.spent.Add(spent)
	}
	r, a := in.run, in.run.acts[in.key]
	r.dirty = true
	if in.late || r.ended || a == nil {
		return false
	}
	a.now = nil
	switch {
	case o.Dropped:
	case !o.RetryAt.IsZero() && in.call != nil:
		if a.fails++; o.Next != in.call.Model {
			a.fails = 0 // of the next model
		}
		if o.Unsent {
			r.since = max(0, r.since-1) // it was not asked, and is asked later
		}
		a.retryAt, a.model = o.RetryAt, o.Next
	default:
		r.finish(in.key, in.kind())
		return true
	}
	return false
}
