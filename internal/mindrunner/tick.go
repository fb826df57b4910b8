package mindrunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ponder"
	"ponder/mode/subconscious"
)

// A Report describes what [Runner.Tick] did.
type Report struct {
	Observations int          `json:"observations"`            // new ones
	Ran          bool         `json:"ran"`                     // there was a tick
	Run          ponder.RunID `json:"run_id,omitempty"`        // of the tick
	Why          string       `json:"why"`                     // the reason for a tick or against it
	WithoutModel bool         `json:"without_model,omitempty"` // the day has reached its ceiling
	Decided      int          `json:"decided"`                 // escalations
	Sent         int          `json:"sent"`                    // messages, for each channel
	Unsent       int          `json:"unsent"`                  // messages that could not be sent and will be retried
	Spent        ponder.Cost  `json:"spent"`                   // today

	Failed    map[string]string `json:"failed_roles,omitempty"` // by role: the reason of the failure
	AllFailed bool              `json:"all_failed,omitempty"`   // each role that looked has failed
}

// noteFailures notes the failed roles of a tick.
func (r *Report) noteFailures(t subconscious.Tick) {
	looked := 0
	for _, role := range t.Roles {
		switch {
		case role.Skipped != "":
			continue
		case role.Failed != "" && !role.WithoutModel:
			if r.Failed == nil {
				r.Failed = make(map[string]string)
			}
			r.Failed[role.Role] = role.Failed
		}
		looked++
	}
	r.AllFailed = looked > 0 && len(r.Failed) == looked
}

// Tick looks with all sensors, answers the wants of roles, and ticks if there is work or if
// force is set. Then it decides escalations and delivers messages. It finishes a tick or a
// decision that an earlier process left open first. Without work it writes nothing. The
// report also covers the steps before an error.
//
// When the day has reached its ceiling, ticks run without a model: rules judge the
// observations, and the user gets the findings of escalations. Tick notes this once a day.
func (m *Runner) Tick(ctx context.Context, force bool) (Report, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.doTick(ctx, force, true)
}

// doTick implements Tick. See [Runner.senseAll] for keep. The caller holds m.mu.
func (m *Runner) doTick(ctx context.Context, force, keep bool) (r Report, err error) {
	m.lastTick = m.Now()
	if r.Observations, err = m.senseAll(ctx, keep); err != nil {
		return r, err
	}
	defer func() { r.Spent = m.fold.spent[localDay(m.Now())] }()
	if err := m.finishOpen(ctx); err != nil {
		return r, err
	}
	if err := m.answerWants(ctx); err != nil {
		return r, err
	}
	if err := m.runTick(ctx, force, &r); err != nil {
		return r, err
	}
	if r.Decided, err = m.decideAll(ctx); err != nil {
		return r, err
	}
	r.Sent, r.Unsent, err = m.deliverDue(ctx)
	return r, err
}

// runTick makes a tick if there is work. The append of its start fails if the thread has
// grown meanwhile, so that no two processes start a tick.
func (m *Runner) runTick(ctx context.Context, force bool, r *Report) error {
	for range maxStale {
		if id, a := m.fold.openRun(subconscious.Name); id != "" {
			r.Why = "another process runs a tick"
			if a.paused {
				r.Why = "the tick " + string(id) + " is paused"
			}
			return nil
		}
		due, why := m.view.Due(m.Options, m.Now())
		if r.Why = why; !due && !force {
			return nil
		} else if !due {
			r.Why = "requested by the user"
		}
		left, enough := m.budgetLeft()
		if m.fold.tight[localDay(m.Now())] {
			left, enough = noModelBudget, false
		}
		run, err := m.startTick(ctx, m.tickStart(left, enough, force))
		if err == nil {
			r.Ran, r.Run, r.WithoutModel = true, run, !enough
			err = errors.Join(m.noteCeiling(ctx, enough), m.waitRun(ctx, run))
			for _, t := range m.view.Ticks {
				if t.Run == run {
					r.noteFailures(t.Tick)
				}
			}
			return err
		}
		if !errors.Is(err, ponder.ErrStale) {
			return fmt.Errorf("start tick: %w", err)
		}
		if err := m.readThread(ctx); err != nil {
			return err
		}
	}
	return errors.New("start tick: other processes keep appending to the thread; try again")
}

// tickStart returns the start of a tick. If all is set, every role looks.
func (m *Runner) tickStart(left ponder.Cost, enough, all bool) ponder.RunStarted {
	options, _ := json.Marshal(subconscious.TickInput{All: all, WithoutModel: !enough, Upto: int64(m.fold.head)})
	return ponder.RunStarted{Mode: subconscious.Name, Budget: ponder.Budget{Cost: left, Time: TickTime}, Options: options}
}

// startTick appends the start of a tick after all events that were read.
func (m *Runner) startTick(ctx context.Context, body ponder.RunStarted) (ponder.RunID, error) {
	run := ponder.RunID(ponder.NewID("run"))
	_, err := m.Store.Append(ctx, m.thread, 0, ponder.Event{Run: run, After: m.fold.head, Time: m.Now(), Body: body})
	if err != nil {
		return "", err
	}
	return run, m.readThread(ctx)
}

// nothing is the budget of a run that may not call a model: no call fits.
var noModelBudget = ponder.Cost{Tokens: 1, Money: 1}

// budgetLeft returns the rest of the day's budget, and whether a model may be called. It
// subtracts the highest further cost of open runs.
func (m *Runner) budgetLeft() (left ponder.Cost, enough bool) {
	spent := m.fold.spent[localDay(m.Now())].Add(m.fold.heldCost())
	if m.ExternalCost != nil {
		spent = spent.Add(m.ExternalCost(m.Now()))
	}
	switch {
	case m.TokensPerDay < 0:
		return noModelBudget, false
	case m.TokensPerDay > 0:
		if left.Tokens = m.TokensPerDay - spent.Tokens; left.Tokens <= 0 {
			return noModelBudget, false
		}
	}
	switch {
	case m.MoneyPerDay < 0:
		left.Money = 1 // only free models fit
	case m.MoneyPerDay > 0:
		if left.Money = m.MoneyPerDay - spent.Money; left.Money <= 0 {
			return noModelBudget, false
		}
	}
	return left, true
}

// noteCeiling notes once a day that the ceiling is reached.
func (m *Runner) noteCeiling(ctx context.Context, enough bool) error {
	today := localDay(m.Now())
	if enough || m.TokensPerDay < 0 || m.fold.ceiling[today] {
		return nil
	}
	spent := m.fold.spent[today]
	text := fmt.Sprintf("The daily limit of the subconscious is reached (%d tokens, %v). It continues without a model until midnight.", spent.Tokens, spent.Money)
	fresh, err := m.appendNote(ctx, ceilingCause+":"+today, ponder.Observation{Content: text, Sensor: ceilingName, Subject: today, State: "reached"}, true)
	if fresh {
		m.Logger.Warn("the daily limit of the subconscious is reached", "tokens", spent.Tokens, "usd", spent.Money.USD())
	}
	return err
}

// finishOpen finishes the open runs, unless they are paused.
func (m *Runner) finishOpen(ctx context.Context) error {
	for id, a := range m.fold.open {
		if a.paused {
			continue
		}
		return m.waitRun(ctx, id) // this works on all open runs
	}
	return nil
}

// waitRun blocks until a run has finished or is paused, for workTime at most. If another
// process holds the thread, waitRun waits for that process.
func (m *Runner) waitRun(ctx context.Context, run ponder.RunID) error {
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if err := m.Placement.Start(ctx, m.thread); err != nil {
			return fmt.Errorf("run the subconscious: %w", err)
		}
		workErr := m.Placement.Wait(ctx, m.thread)
		if err := m.readThread(ctx); err != nil {
			return err
		}
		if a := m.fold.open[run]; a == nil || a.paused {
			return nil
		}
		if workErr != nil && !errors.Is(workErr, ponder.ErrHeld) {
			return fmt.Errorf("run the subconscious: %w", workErr)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", run, ctx.Err())
		}
	}
}
