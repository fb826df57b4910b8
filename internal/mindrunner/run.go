package mindrunner

import (
	"context"
	"fmt"
	"time"
)

// Run ticks until ctx is done, and returns after a running tick has ended. It is a schedule
// of the placement, so that one process at a time ticks, of all that share the store. Run
// skips missed ticks. The time to the next tick depends on the view: see
// [subconscious.View.Pace]. Call Run once.
func (m *Runner) Run(ctx context.Context) error {
	if err := m.prepareThread(ctx); err != nil {
		return err
	}
	job := func(placed context.Context, _ time.Time) error {
		if ctx.Err() != nil {
			return nil
		}
		both, cancel := context.WithCancel(placed)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		return m.runRound(both)
	}
	if err := m.Placement.Schedule(ctx, "mind "+string(m.thread), cronOf(m.Every), job); err != nil {
		return fmt.Errorf("schedule the subconscious: %w", err)
	}
	<-ctx.Done()
	m.mu.Lock() // wait for the tick to end
	defer m.mu.Unlock()
	return nil
}

// prepareThread creates the thread and reads it.
func (m *Runner) prepareThread(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.readThread(ctx)
}

// runRound ticks if a tick is due. Otherwise it delivers due messages.
func (m *Runner) runRound(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	if m.isDue() {
		_, err = m.doTick(ctx, false, false)
	} else if m.hasDue() {
		_, _, err = m.deliverDue(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// slack is how early a schedule may call.
const slack = time.Second / 2

// isDue reports whether a tick is due.
func (m *Runner) isDue() bool {
	now := m.Now()
	return m.lastTick.IsZero() || now.Before(m.lastTick) || !now.Add(slack).Before(m.lastTick.Add(m.tickInterval(now)))
}

// tickInterval returns the current interval of ticks. At night it is NightPace times longer, but at
// most NightPace times m.Every unless the pace by day is longer still.
func (m *Runner) tickInterval(now time.Time) time.Duration {
	pace := m.view.Pace(m.Every, now)
	if m.Night.Contain(now) {
		return min(NightPace*pace, max(pace, NightPace*m.Every))
	}
	return pace
}

// hasDue reports whether a channel has a due message.
func (m *Runner) hasDue() bool {
	for _, ch := range m.Channels {
		if len(m.dueOn(ch.Name)) > 0 {
			return true
		}
	}
	return false
}

// cronOf returns a cron expression that calls at least twice in the interval every: each
// minute, or every few seconds.
func cronOf(every time.Duration) string {
	if every >= 2*time.Minute {
		return "* * * * *"
	}
	for _, s := range [...]time.Duration{30, 20, 15, 10, 6, 5, 4, 3, 2} {
		if s*time.Second <= every/2 {
			return fmt.Sprintf("*/%d * * * * *", s)
		}
	}
	return "* * * * * *"
}
