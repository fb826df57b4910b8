package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/llm"
)

// Limits on the actions of a mode. A run that exceeds one fails.
const (
	maxDepth      = 8   // of runs in a tree
	maxInFlight   = 64  // calls and tools of a run; further ones wait
	maxRounds     = 200 // consecutive decisions without an external event
	maxFinalCalls = 3   // calls of a run after its BudgetSpent
)

// A decision is the next step of a thread: events to append and attempts to cancel.
type decision struct {
	*threadState
	now      time.Time
	clock    time.Duration  // of the thread
	events   []ponder.Event // to append
	unwanted []*intent
	cuts     []callCut
	wakeAt   time.Time // the time of the next decision, if nothing happens before

	held     map[ponder.RunID]ponder.Cost // reserved by events
	children map[ponder.RunID]bool        // children that their parents want
	wanted   map[*intent]bool             // of the current run
	inFlight int                          // attempts of the current run
}

// decide returns the decision at the time now, when the thread's clock shows elapsed. It
// asks only runs that are due.
func (t *threadState) decide(now time.Time, elapsed time.Duration) *decision {
	d := &decision{threadState: t, now: now, clock: max(t.elapsed, elapsed), held: make(map[ponder.RunID]ponder.Cost), children: make(map[ponder.RunID]bool)}
	for _, name := range slices.Sorted(maps.Keys(t.modes)) {
		if at := t.wokenAt[name]; at > t.finishedAt[name] && !t.hasOpenRoot(name) {
			d.emit(ponder.Event{Run: ponder.RunID(fmt.Sprintf("run_%s.%d", name, at)), Body: ponder.RunStarted{Mode: name, Version: t.modes[name][0].Version}})
		}
	}
	for _, r := range t.openRuns {
		if r.isDue(now, d.clock) {
			d.decideRun(r)
			r.wakeAtClock = d.clock + r.wakeAt.Sub(now)
		}
		if !r.paused {
			if d.wakeBy(r.wakeAt); !r.wakeAt.IsZero() {
				d.wakeBy(now.Add(max(0, r.wakeAtClock-d.clock)))
			}
			spent := r.spentAt(d.clock)
			if r.wakeAtSpent = r.nextTime(spent); r.wakeAtSpent > 0 {
				d.wakeBy(now.Add(max(0, r.wakeAtSpent-spent)))
			}
		}
	}
	return d
}

// markDirty makes the next decision ask all open runs.
func (t *threadState) markDirty() {
	for _, r := range t.openRuns {
		r.dirty = true
	}
}

// hasOpenRoot reports whether a root run of a mode is open.
func (t *threadState) hasOpenRoot(name string) bool {
	return slices.ContainsFunc(t.openRuns, func(r *run) bool { return r.parent == nil && r.Mode == name })
}

// hasWaitingMode reports whether an open run has a mode that [ponder.Mode.Waits].
func (t *threadState) hasWaitingMode() bool {
	return slices.ContainsFunc(t.openRuns, func(r *run) bool { return r.mode != nil && r.mode.Waits })
}

// isDue reports whether the run observed an event or reached its wake time. If the wall clock
// was set back meanwhile, the thread's clock shows that time.
func (r *run) isDue(now time.Time, elapsed time.Duration) bool {
	return r.dirty || !r.paused && (!r.wakeAt.IsZero() && (!now.Before(r.wakeAt) || elapsed >= r.wakeAtClock) || r.wakeAtSpent > 0 && r.spentAt(elapsed) >= r.wakeAtSpent)
}

func (d *decision) emit(ev ponder.Event) { d.events = append(d.events, ev) }

func (d *decision) wakeBy(t time.Time) {
	if !t.IsZero() && (d.wakeAt.IsZero() || t.Before(d.wakeAt)) {
		d.wakeAt = t
	}
}

func (d *decision) finishRun(r *run, f ponder.Finish) {
	f.Status = cmp.Or(f.Status, ponder.Completed)
	if f.Status == ponder.Completed && f.Answer == "" {
		f.Status, f.Reason = ponder.Failed, cmp.Or(f.Reason, "the mode finished without an answer")
	}
	switch f.Status {
	case ponder.Failed:
		f.End = cmp.Or(f.End, ponder.EndFailed)
	case ponder.Cancelled:
		f.End = cmp.Or(f.End, ponder.EndCancelled)
	}
	d.emit(ponder.Event{Run: r.ID, Body: ponder.RunFinished{Answer: f.Answer, Status: f.Status, Reason: f.Reason, End: f.End, Confidence: f.Confidence}})
}

func (d *decision) failRun(r *run, format string, args ...any) {
	d.finishRun(r, ponder.Finish{Status: ponder.Failed, Reason: fmt.Sprintf(format, args...)})
}

// decideRun decides for one run.
func (d *decision) decideRun(r *run) {
	r.dirty, r.wakeAt = false, time.Time{}
	switch {
	case r.failure != "":
		d.failRun(r, "%s", r.failure)
		return
	case r.mode == nil:
		d.failRun(r, "mode %s is not registered", r.Mode)
		return
	case r.state == nil:
		d.failRun(r, "mode %s has no state", r.Mode)
		return
	case r.depth >= maxDepth:
		d.failRun(r, "runs are nested more than %d deep", maxDepth)
		return
	case r.cancelled, r.parent != nil && r.parent.ended:
		d.finishRun(r, ponder.Finish{Status: ponder.Cancelled, Reason: "cancelled"})
		return
	case r.paused:
		d.decideWrites(r)
		return
	case d.decideTime(r):
		return
	}
	d.wanted, d.inFlight = make(map[*intent]bool), 0
	for _, a := range r.actions {
		if a.inFlight != nil {
			d.inFlight++
		}
	}
	before := len(d.events)
	for _, a := range r.nextActions(ponder.Moment{Wall: d.now, Spent: r.spentAt(d.clock)}) {
		if !d.decideAction(r, a) {
			return
		}
	}
	if r.failure != "" {
		d.events = d.events[:before]
		d.failRun(r, "%s", r.failure)
		return
	}
	d.dropUnwanted(r)
}

// decideWrites decides for a paused run. Such a run may only write, so that it can
// acknowledge commands.
func (d *decision) decideWrites(r *run) {
	for _, a := range r.nextActions(ponder.Moment{Wall: d.now, Spent: r.spentAt(d.clock)}) {
		if w, ok := a.(ponder.Write); ok && !d.decideAction(r, w) {
			return
		}
	}
}

// decider returns the run that decided an event, or nil for the start of a root run.
func (d *decision) decider(ev ponder.Event) *run {
	return cmp.Or(d.runs[ev.Run], d.runs[ev.Run.Parent()])
}

// failRunaways stops a thread that produces events without end. Runs that decided something
// fail. If there are none, woken modes may start, unless they ran after the event since,
// because modes that wake each other never stop. It reports whether modes start.
func (d *decision) failRunaways(since ponder.Seq) (starts bool) {
	all := d.events
	d.events = nil
	for _, ev := range all {
		if r := d.decider(ev); r != nil && !slices.ContainsFunc(d.events, func(e ponder.Event) bool { return e.Run == r.ID }) {
			d.failRun(r, "mode %s does not stop producing actions", r.Mode)
		}
	}
	if len(d.events) > 0 {
		return false
	}
	for _, ev := range all {
		if b, ok := ev.Body.(ponder.RunStarted); ok && d.finishedAt[b.Mode] <= since {
			d.emit(ev)
		}
	}
	return len(d.events) > 0
}

// dropUnwanted marks the attempts and children that a run no longer wants.
func (d *decision) dropUnwanted(r *run) {
	for _, key := range slices.Sorted(maps.Keys(r.actions)) {
		if in := r.actions[key].inFlight; in != nil && !d.wanted[in] {
			d.unwanted = append(d.unwanted, in)
		}
	}
	for _, child := range d.openRuns {
		if child.parent == r && !d.children[child.ID] && !child.cancelled {
			child.cancelled, child.dirty = true, true
		}
	}
}

// decideAction decides for one action, and reports whether the run may continue.
func (d *decision) decideAction(r *run, a ponder.Action) bool {
	switch a := a.(type) {
	case nil:
		d.failRun(r, "mode %s returned a nil action", r.Mode)
		return false
	case ponder.Wait:
		if a.Until.After(d.now) && (r.wakeAt.IsZero() || a.Until.Before(r.wakeAt)) {
			r.wakeAt = a.Until
		}
		return true
	case ponder.Finish:
		d.finishRun(r, a)
		return false
	}
	key, kind := keyOf(a)
	switch old := r.actions[key]; {
	case !validKey(key):
		d.failRun(r, "mode %s returned an invalid key %.80q", r.Mode, key)
		return false
	case r.finished.conflicts(key, kind), old != nil && old.kind != kind:
		d.failRun(r, "mode %s used key %s for two kinds of action", r.Mode, key)
		return false
	case r.finished.contains(key):
		return true
	}
	switch a := a.(type) {
	case ponder.Write:
		return d.emitWrite(r, a)
	case ponder.Spawn:
		d.emitSpawn(r, a)
	case ponder.Do:
		d.startAttempt(r, a.Key, kindTool, a.Internal, func(*actionState) (ponder.Body, ponder.BudgetSpent) {
			return ponder.ToolCall{Name: a.Tool, Args: a.Args}, ponder.BudgetSpent{}
		})
	case ponder.Call:
		return d.callModel(r, a)
	}
	return true
}

// keyOf returns the key and the kind of an action with a key.
func keyOf(a ponder.Action) (string, actionKind) {
	switch a := a.(type) {
	case ponder.Call:
		return a.Key, kindCall
	case ponder.Do:
		return a.Key, kindTool
	case ponder.Spawn:
		return a.Key, kindSpawn
	case ponder.Write:
		return a.Key, kindWrite
	}
	return "", 0
}

// emitWrite emits the events of a Write that the log lacks, and reports whether the run may
// continue.
func (d *decision) emitWrite(r *run, a ponder.Write) bool {
	written := 0
	if old := r.actions[a.Key]; old != nil {
		written = old.written
	}
	d.events = slices.Grow(d.events, max(0, len(a.Bodies)-written))
	for i := written; i < len(a.Bodies); i++ {
		if a.Bodies[i] == nil {
			d.failRun(r, "mode %s returned an event without a body", r.Mode)
			return false
		}
		d.emit(ponder.Event{Run: r.ID, Cause: partCause(a.Key, i+1, len(a.Bodies)), Internal: a.Internal, Body: a.Bodies[i]})
	}
	return true
}

func (d *decision) emitSpawn(r *run, a ponder.Spawn) {
	id := r.ID + "/" + ponder.RunID(a.Key)
	d.children[id] = true
	if d.runs[id] == nil {
		version := 0
		if m := d.findMode(a.Mode, 0); m != nil {
			version = m.Version
		}
		d.emit(ponder.Event{Run: id, Body: ponder.RunStarted{Mode: a.Mode, Version: version, Input: a.Input, Options: a.Options, Budget: a.Budget}})
	}
}

// startAttempt continues an action, or starts the next attempt with the body from build. If
// build returns a reached limit instead, the attempt cannot start, and startAttempt returns it.
func (d *decision) startAttempt(r *run, key string, kind actionKind, internal bool, build func(*actionState) (ponder.Body, ponder.BudgetSpent)) (reached ponder.BudgetSpent) {
	a := cmp.Or(r.actions[key], &actionState{kind: kind})
	switch {
	case a.inFlight != nil:
		d.wanted[a.inFlight] = true
		return reached
	case d.now.Before(a.retryAt):
		if a.retryIn > 0 && a.retryAt.Sub(d.now) > a.retryIn { // the clock was set back
			a.retryAt = d.now.Add(a.retryIn)
		}
		if r.wakeAt.IsZero() || a.retryAt.Before(r.wakeAt) {
			r.wakeAt = a.retryAt
		}
		return reached
	case d.inFlight >= maxInFlight:
		return reached
	}
	body, reached := build(a)
	if reached.What == "" {
		d.inFlight++
		d.emit(ponder.Event{Run: r.ID, Cause: attemptCause(key, a.attempts+1), Internal: internal, Body: body})
	}
	return reached
}

// callModel continues or starts a call, or refuses it. If the budget is spent, it notifies the
// run. It reports whether the run may continue.
func (d *decision) callModel(r *run, c ponder.Call) bool {
	reached := d.startAttempt(r, c.Key, kindCall, true, func(a *actionState) (ponder.Body, ponder.BudgetSpent) { return d.admitCall(r, c, a) })
	switch {
	case reached.What == "":
		return true
	case reached.What == noModel:
		d.refuseCall(r, c, llm.NotFound, "no model is configured for the role "+string(c.Role))
		return true
	case !r.budgetNotified:
		d.emit(ponder.Event{Run: r.ID, Body: reached})
		return false
	case r.callsSinceNotified >= 2*maxFinalCalls:
		d.failRun(r, "mode %s did not conclude after its budget was spent", r.Mode)
		return false
	}
	d.refuseCall(r, c, llm.Payment, reached.String())
	return true
}

// refuseCall emits a call with an error as its result.
func (d *decision) refuseCall(r *run, c ponder.Call, class llm.Class, why string) {
	n := cmp.Or(r.actions[c.Key], &actionState{}).attempts + 1
	ev := ponder.Event{Run: r.ID, Cause: attemptCause(c.Key, n)}
	start, end := ev, ev
	start.Body = ponder.CallStarted{Role: c.Role, Mode: r.Mode}
	end.Body = ponder.CallFinished{Outcome: ponder.Outcome{Error: why, Class: class, Refused: true}}
	d.emit(start)
	d.emit(end)
}
