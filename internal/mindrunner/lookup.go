package mindrunner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/mode/subconscious"
	"ponder/sensor"
)

const (
	maxLookUp  = 5              // observations for one want
	maxWantAge = 24 * time.Hour // older wants get no answer
)

// answerWants looks up the open wants of roles and appends the results to the thread. Each want
// gets one answer, also if nothing was found or the look-up failed. The caller holds m.mu.
func (m *Runner) answerWants(ctx context.Context) error {
	wants := m.openWants()
	if len(wants) == 0 {
		return nil
	}
	errs := make([]error, len(wants))
	var wg sync.WaitGroup
	for i, w := range wants {
		wg.Go(func() { errs[i] = m.answerWant(ctx, w) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return m.readThread(ctx)
}

// answerWant looks up a want and appends the answer. It does not wait for other look-ups, and
// appends a result also after the end of ctx, because a search may cost money.
func (m *Runner) answerWant(ctx context.Context, w subconscious.LookUpRequest) error {
	g := m.lookUp(ctx, w)
	if err := ctx.Err(); err != nil && g.err != nil {
		return fmt.Errorf("run look-ups of roles: %w", err)
	}
	var events []ponder.Event
	for n, o := range answersTo(w, g) {
		events = append(events, ponder.Event{Cause: fmt.Sprintf("%s:%d", wantCause(w), n), Time: m.Now(), Body: o})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendTime)
	defer cancel()
	_, err := m.Store.Append(ctx, m.thread, 0, events...)
	if err != nil && !errors.Is(err, ponder.ErrTaken) { // another process answered it
		return fmt.Errorf("store look-up results of %s: %w", w.Role, err)
	}
	return nil
}

// openWants returns the wants without an answer.
func (m *Runner) openWants() []subconscious.LookUpRequest {
	if m.LookUp == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.view.Internal.LookUpRequests), func(w subconscious.LookUpRequest) bool {
		_, answered := m.fold.answered[wantCause(w)]
		return answered || m.Now().Sub(w.At) >= maxWantAge
	})
}

// wantCause returns the Cause of the answers to a want, without the number.
func wantCause(w subconscious.LookUpRequest) string {
	return subconscious.LookUpSensor(w.Role) + ":" + hashOf(w.Text, w.Tick)
}

// lookUp looks up a want with a limit of time.
func (m *Runner) lookUp(ctx context.Context, w subconscious.LookUpRequest) (g lookResult) {
	ctx, cancel := context.WithTimeout(ctx, sensor.LookTimeout)
	result := make(chan lookResult, 1)
	go func() {
		defer cancel()
		result <- m.lookUpGuarded(ctx, w)
	}()
	select {
	case g = <-result:
	case <-ctx.Done():
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case g = <-result:
		case <-late.C:
			g.err = fmt.Errorf("it took longer than %s", sensor.LookTimeout)
		}
	}
	return g
}

// lookUpGuarded calls LookUp, and returns a panic as an error.
func (m *Runner) lookUpGuarded(ctx context.Context, w subconscious.LookUpRequest) (g lookResult) {
	defer func() {
		if p := recover(); p != nil {
			g = lookResult{err: fmt.Errorf("it panicked: %.200v", p)}
		}
	}()
	g.observations, g.err = m.LookUp(ctx, m.Owner, w.Role, w.Text)
	return g
}

// answersTo returns the observations that answer a want: the results, or the reason why
// there are none.
func answersTo(w subconscious.LookUpRequest, g lookResult) (list []ponder.Observation) {
	sign := func(o ponder.Observation, state string) ponder.Observation {
		o = limitObservation(o)
		o.Sensor, o.Subject, o.State, o.Level, o.Due = subconscious.LookUpSensor(w.Role), w.Text, state, 0, time.Time{}
		return o
	}
	if g.err == nil {
		for _, o := range g.observations {
			if o = sign(o, subconscious.LookedFound); o.Content != "" && len(list) < maxLookUp {
				list = append(list, o)
			}
		}
	}
	if len(list) > 0 {
		return list
	}
	nothing := ponder.Observation{Content: "Nothing was found of: " + w.Text}
	if g.err != nil {
		why := cmp.Or(strings.TrimSpace(g.err.Error()), "no reason given")
		nothing = ponder.Observation{Content: "It could not be looked up: " + why}
	}
	return []ponder.Observation{sign(nothing, subconscious.LookedNothing)}
}

func (c *fold) applyLookUp(ev ponder.Event) {
	maps.DeleteFunc(c.answered, func(_ string, at time.Time) bool { return ev.Time.Sub(at) > 2*maxWantAge })
	if i := strings.LastIndexByte(ev.Cause, ':'); i > 0 {
		c.answered[ev.Cause[:i]] = ev.Time
	}
}
