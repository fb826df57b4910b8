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

// A Report says what a round of [Minder.Tick] did.
type Report struct {
	Observations int          `json:"observations"`            // that are new
	Ran          bool         `json:"ran"`                     // a tick was made
	Run          ponder.RunID `json:"run_id,omitempty"`        // of the tick
	Why          string       `json:"why"`                     // it was made, or was not
	Unaided      bool         `json:"without_model,omitempty"` // for what a day may cost is used up
	Decided      int          `json:"decided"`                 // escalations
	Sent         int          `json:"sent"`                    // messages, for each channel
	Unsent       int          `json:"unsent"`                  // that could not be sent, and will be tried again
	Spent        ponder.Cost  `json:"spent"`                   // today

	Failed    map[string]string `json:"failed_roles,omitempty"` // why roles came to nothing, by their names
	AllFailed bool              `json:"all_failed,omitempty"`   // there were such, and no other role that looked
}

// failures notes which roles of a tick came to nothing.
func (r *Report) failures(t subconscious.Tick) {
	looked := 0
	for _, role := range t.Roles {
		switch {
		case role.Skipped != "":
			continue
		case role.Failed != "" && !role.Unaided:
			if r.Failed == nil {
				r.Failed = make(map[string]string)
			}
			r.Failed[role.Role] = role.Failed
		}
		looked++
	}
	r.AllFailed = looked > 0 && len(r.Failed) == looked
}

// Tick looks at the world, has looked up what roles want, ticks if there is something to do, or if it is forced, has
// decided what was escalated, and delivers that. Where there is nothing to do, nothing is
// written. A tick or a decision that a process before left open is finished first. The
// report says what was done before an error, too.
//
// When what a day may cost is used up, ticks go on without a model: rules look at what
// the sensors saw, and what they escalate is told as it was found. That is noted once a
// day.
func (m *Minder) Tick(ctx context.Context, force bool) (Report, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tick(ctx, force, true)
}

// tick implements Tick. Keep is that of [Minder.sense].
func (m *Minder) tick(ctx context.Context, force, keep bool) (r Report, err error) {
	m.looked = m.Now()
	if r.Observations, err = m.sense(ctx, keep); err != nil {
		return r, err
	}
	defer func() { r.Spent = m.course.spent[day(m.Now())] }()
	if err := m.finishOpen(ctx); err != nil {
		return r, err
	}
	if err := m.answer(ctx); err != nil {
		return r, err
	}
	if err := m.think(ctx, force, &r); err != nil {
		return r, err
	}
	if r.Decided, err = m.decide(ctx); err != nil {
		return r, err
	}
	r.Sent, r.Unsent, err = m.deliver(ctx)
	return r, err
}

// think makes a tick, if there is something to do. The append of its start fails if the
// thread has grown since it was found due, so that no two processes begin one.
func (m *Minder) think(ctx context.Context, force bool, r *Report) error {
	for range maxStale {
		if id, a := m.course.ticking(subconscious.Name); id != "" {
			r.Why = "a tick is at work in another process"
			if a.paused {
				r.Why = "the tick " + string(id) + " is paused"
			}
			return nil
		}
		due, why := m.view.Due(m.Options, m.Now())
		if r.Why = why; !due && !force {
			return nil
		} else if !due {
			r.Why = "it was asked for"
		}
		left, enough := m.left()
		if m.course.tight[day(m.Now())] {
			left, enough = nothing, false
		}
		run, err := m.start(ctx, m.startOf(left, enough, !due))
		if err == nil {
			r.Ran, r.Run, r.Unaided = true, run, !enough
			err = errors.Join(m.sayCeiling(ctx, enough), m.work(ctx, run))
			for _, t := range m.view.Ticks {
				if t.Run == run {
					r.failures(t.Tick)
				}
			}
			return err
		}
		if !errors.Is(err, ponder.ErrStale) {
			return fmt.Errorf("begin a tick: %w", err)
		}
		if err := m.read(ctx); err != nil {
			return err
		}
	}
	return errors.New("begin a tick: others write to the thread all the time")
}

// startOf returns the beginning of a tick. All says that every role is to look.
func (m *Minder) startOf(left ponder.Cost, enough, all bool) ponder.RunStarted {
	options, _ := json.Marshal(subconscious.TickInput{All: all, Unaided: !enough, Upto: int64(m.course.head)})
	return ponder.RunStarted{Mode: subconscious.Name, Budget: ponder.Budget{Cost: left, Time: TickTime}, Options: options}
}

// start appends the start of a tick behind all that was read.
func (m *Minder) start(ctx context.Context, body ponder.RunStarted) (ponder.RunID, error) {
	run := ponder.RunID(ponder.NewID("run"))
	_, err := m.Store.Append(ctx, m.thread, 0, ponder.Event{Run: run, After: m.course.head, Time: m.Now(), Body: body})
	if err != nil {
		return "", err
	}
	return run, m.read(ctx)
}

// nothing is what a run may cost that is to ask no model: no call fits into it.
var nothing = ponder.Cost{Tokens: 1, Money: 1}

// left returns what is left of the day for a run, and whether a model may be asked at
// all. What runs that are open may still cost is not left.
func (m *Minder) left() (left ponder.Cost, enough bool) {
	spent := m.course.spent[day(m.Now())].Add(m.course.held())
	if m.Elsewhere != nil {
		spent = spent.Add(m.Elsewhere(m.Now()))
	}
	switch {
	case m.TokensPerDay < 0:
		return nothing, false
	case m.TokensPerDay > 0:
		if left.Tokens = m.TokensPerDay - spent.Tokens; left.Tokens <= 0 {
			return nothing, false
		}
	}
	switch {
	case m.MoneyPerDay < 0:
		left.Money = 1 // and what is free costs less
	case m.MoneyPerDay > 0:
		if left.Money = m.MoneyPerDay - spent.Money; left.Money <= 0 {
			return nothing, false
		}
	}
	return left, true
}

// sayCeiling notes once a day that no model is asked any more.
func (m *Minder) sayCeiling(ctx context.Context, enough bool) error {
	today := day(m.Now())
	if enough || m.TokensPerDay < 0 || m.course.ceiling[today] {
		return nil
	}
	spent := m.course.spent[today]
	text := fmt.Sprintf("What the subconscious may cost in a day is used up (%d tokens, %v): until midnight it goes on without a model.", spent.Tokens, spent.Money)
	fresh, err := m.note(ctx, ceilingCause+":"+today, ponder.Observation{Content: text, Sensor: ceilingName, Subject: today, State: "reached"}, true)
	if fresh {
		m.Logger.Warn("the daily ceiling of the subconscious is reached", "tokens", spent.Tokens, "usd", spent.Money.USD())
	}
	return err
}

// finishOpen has the runs finished that were left open, unless they are paused.
func (m *Minder) finishOpen(ctx context.Context) error {
	for id, a := range m.course.open {
		if a.paused {
			continue
		}
		return m.work(ctx, id) // it works on all there are
	}
	return nil
}

// work has the thread worked on until a run has finished, is paused, or for ten minutes.
// If another process has the thread, it is that which works.
func (m *Minder) work(ctx context.Context, run ponder.RunID) error {
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if err := m.Place.Start(ctx, m.thread); err != nil {
			return fmt.Errorf("work on the subconscious: %w", err)
		}
		workErr := m.Place.Wait(ctx, m.thread)
		if err := m.read(ctx); err != nil {
			return err
		}
		if a := m.course.open[run]; a == nil || a.paused {
			return nil
		}
		if workErr != nil && !errors.Is(workErr, ponder.ErrHeld) {
			return fmt.Errorf("work on the subconscious: %w", workErr)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", run, ctx.Err())
		}
	}
}
