package mindrunner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"ponder"
	"ponder/mode/subconscious"
)

// decideCause begins the cause of the start of a decision; the escalation's id follows.
const decideCause = "decide:"

// messageOutcome is that of an escalation of which the user is told.
const messageOutcome = subconscious.Messaged

// maxAsked is from which attempt on a decision is begun without a model: the user then is
// told what was found.
const maxAsked = 3

// Decision returns the run of an attempt to decide an escalation; attempts count from 1.
// It follows from the two, so that no attempt is begun twice.
func Decision(escalation string, attempt int) ponder.RunID {
	return ponder.RunID("run_" + named("decision "+strconv.Itoa(attempt)+" about "+escalation))
}

// decide has each escalation decided that is not, one after the other, the oldest first,
// and returns how many were. One whose decision fails is tried again at the next tick, and
// from the third attempt on it is told as it was found. Those cost nothing, and are made
// until one comes to an end, whoever cancels them.
// The caller holds m.mu.
func (m *Minder) decide(ctx context.Context) (decided int, err error) {
	for _, id := range slices.Clone(m.course.raised) {
		if !slices.Contains(m.course.raised, id) || m.busy(id) {
			continue
		}
		if err := m.decideOne(ctx, id); err != nil {
			return decided, fmt.Errorf("decide about %s: %w", id, err)
		}
		if !slices.Contains(m.course.raised, id) {
			decided++
		}
	}
	return decided, nil
}

// busy reports whether a decision about an escalation is open: it is paused.
func (m *Minder) busy(id string) bool {
	for _, of := range m.course.runs {
		if of == id {
			return true
		}
	}
	return false
}

// decideOne makes an attempt at a decision.
func (m *Minder) decideOne(ctx context.Context, id string) error {
	attempt := m.course.asked[id] + 1
	left, enough := m.left()
	if attempt >= maxAsked {
		left = nothing
	}
	if err := m.sayCeiling(ctx, enough); err != nil {
		return err
	}
	run := Decision(id, attempt)
	_, err := m.Store.Append(ctx, m.thread, 0, ponder.Event{
		Run: run, Cause: decideCause + id, Time: m.Now(),
		Body: ponder.RunStarted{Mode: subconscious.DecideMode, Input: id, Budget: ponder.Budget{Cost: left, Time: decideTime}},
	})
	if err != nil && !errors.Is(err, ponder.ErrTaken) { // else another process has begun it
		return err
	}
	if err := m.read(ctx); err != nil {
		return err
	}
	if m.course.open[run] == nil {
		return nil
	}
	if err := m.work(ctx, run); err != nil {
		return err
	}
	if slices.Contains(m.course.raised, id) && m.course.asked[id] >= maxAsked && !m.busy(id) {
		m.Logger.Error("an escalation could not be decided, and will be tried again without a model", "escalation", id, "attempts", attempt)
	}
	return nil
}
