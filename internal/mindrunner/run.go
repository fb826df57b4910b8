package mindrunner

import (
	"context"
	"fmt"
	"time"
)

// Run ticks until ctx is done, and returns when the tick that is then at work has ended.
// It is a schedule of the placement, so that of the processes that share a store one
// ticks at a time; what was missed is not made up. How long it is to the next tick, what
// happens says: see [subconscious.View.Pace]. Run is called once.
func (m *Minder) Run(ctx context.Context) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	job := func(placed context.Context, _ time.Time) error {
		if ctx.Err() != nil {
			return nil
		}
		both, cancel := context.WithCancel(placed)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		return m.round(both)
	}
	if err := m.Place.Schedule(ctx, "mind "+string(m.thread), cronOf(m.Every), job); err != nil {
		return fmt.Errorf("keep the subconscious going: %w", err)
	}
	<-ctx.Done()
	m.mu.Lock() // until the tick has ended
	defer m.mu.Unlock()
	return nil
}

// begin makes the thread, and reads it.
func (m *Minder) begin(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(ctx)
}

// round ticks if it is time, and else only tells what still is to be told.
func (m *Minder) round(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	if m.due() {
		_, err = m.tick(ctx, false, false)
	} else if m.undelivered() {
		_, _, err = m.deliver(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// slack is how much too early a schedule may call.
const slack = time.Second / 2

// due reports whether it is time to tick.
func (m *Minder) due() bool {
	now := m.Now()
	return m.looked.IsZero() || now.Before(m.looked) || !now.Add(slack).Before(m.looked.Add(m.pace(now)))
}

// pace returns how long it is between ticks now. At night that is six times as long, but
// what is slow already is not slower than six times the usual.
func (m *Minder) pace(now time.Time) time.Duration {
	pace := m.view.Pace(m.Every, now)
	if m.Night.Contain(now) {
		return min(NightPace*pace, max(pace, NightPace*m.Every))
	}
	return pace
}

// undelivered reports whether there is something to tell now.
func (m *Minder) undelivered() bool {
	for _, ch := range m.Channels {
		if len(m.dueOn(ch.Name)) > 0 {
			return true
		}
	}
	return false
}

// cronOf returns a schedule that calls often enough for ticks at so short a distance and
// half of that: every minute, or every few seconds.
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
