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

// decideCause starts the Cause of the start of a decision. The id of the escalation
// follows.
const decideCause = "decide:"

// messageOutcome is the Outcome of an escalation that becomes a message to the user.
const messageOutcome = subconscious.Messaged

// maxAsked is the first attempt that decides without a model: the user then gets the
// findings.
const maxAsked = 3

// Decision returns the run of an attempt to decide an escalation. Attempts count from 1.
// The id is a function of both, so that no attempt starts twice.
func Decision(escalation string, attempt int) ponder.RunID {
	return ponder.RunID("run_" + hashID("decision "+strconv.Itoa(attempt)+" about "+escalation))
}

// decideAll runs a decision for each open escalation, oldest first, and returns how many it
// decided. The next tick repeats a failed decision. From attempt maxAsked on, a decision
// asks no model and costs noModelBudget, so that the number of attempts needs no limit. The
// caller holds m.mu.
func (m *Runner) decideAll(ctx context.Context) (decided int, err error) {
	for _, id := range slices.Clone(m.fold.raised) {
		if !slices.Contains(m.fold.raised, id) || m.isDeciding(id) {
			continue
		}
		if err := m.decideOne(ctx, id); err != nil {
			return decided, fmt.Errorf("decide escalation %s: %w", id, err)
		}
		if !slices.Contains(m.fold.raised, id) {
			decided++
		}
	}
	return decided, nil
}

// isDeciding reports whether a decision about an escalation is open. Such a decision is paused.
func (m *Runner) isDeciding(id string) bool {
	for _, of := range m.fold.runs {
		if of == id {
			return true
		}
	}
	return false
}

// decideOne makes one attempt at a decision.
func (m *Runner) decideOne(ctx context.Context, id string) error {
	attempt := m.fold.asked[id] + 1
	left, enough := m.budgetLeft()
	if attempt >= maxAsked {
		left = noModelBudget
	}
	if err := m.noteCeiling(ctx, enough); err != nil {
		return err
	}
	run := Decision(id, attempt)
	_, err := m.Store.Append(ctx, m.thread, 0, ponder.Event{
		Run: run, Cause: decideCause + id, Time: m.Now(),
		Body: ponder.RunStarted{Mode: subconscious.DecideMode, Input: id, Budget: ponder.Budget{Cost: left, Time: decideTime}},
	})
	if err != nil && !errors.Is(err, ponder.ErrTaken) { // else another process started it
		return err
	}
	if err := m.readThread(ctx); err != nil {
		return err
	}
	if m.fold.open[run] == nil {
		return nil
	}
	if err := m.waitRun(ctx, run); err != nil {
		return err
	}
	if slices.Contains(m.fold.raised, id) && m.fold.asked[id] >= maxAsked && !m.isDeciding(id) {
		m.Logger.Error("cannot decide an escalation; trying again without a model", "escalation", id, "attempts", attempt)
	}
	return nil
}
