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

// Bounds of what is looked up for roles.
const (
	maxLookUp  = 5              // observations that answer a want
	tooOldWant = 24 * time.Hour // a want that is older is not answered
)

// answer has looked up what roles want, and puts what was found on the thread. Each want
// is answered once: where nothing was found, or it could not be looked up, that is the
// answer. The caller holds m.mu.
func (m *Minder) answer(ctx context.Context) error {
	wants := m.open()
	if len(wants) == 0 {
		return nil
	}
	answers := make([][]ponder.Observation, len(wants))
	var wg sync.WaitGroup
	for i, w := range wants {
		wg.Go(func() { answers[i] = m.lookUp(ctx, w) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("look up what roles want: %w", err)
	}
	for i, w := range wants {
		var events []ponder.Event
		for n, o := range answers[i] {
			events = append(events, ponder.Event{Cause: fmt.Sprintf("%s:%d", causeOf(w), n), Time: m.Now(), Body: o})
		}
		_, err := m.Store.Append(ctx, m.thread, 0, events...)
		if err != nil && !errors.Is(err, ponder.ErrTaken) { // another process has answered it
			return fmt.Errorf("keep what was looked up for %s: %w", w.Role, err)
		}
	}
	return m.read(ctx)
}

// open returns the wants that nothing answers yet.
func (m *Minder) open() []subconscious.Want {
	if m.LookUp == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.view.Aside.Wanted), func(w subconscious.Want) bool {
		_, answered := m.course.answered[causeOf(w)]
		return answered || m.Now().Sub(w.At) >= tooOldWant
	})
}

// causeOf returns the beginning of the causes of what answers a want.
func causeOf(w subconscious.Want) string {
	return subconscious.LookUpSensor(w.Role) + ":" + short(w.Text, w.Tick)
}

// lookUp looks up what a role wants, within its bounds of time and size, and returns at
// least one observation.
func (m *Minder) lookUp(ctx context.Context, w subconscious.Want) []ponder.Observation {
	ctx, cancel := context.WithTimeout(ctx, sensor.Patience)
	result := make(chan glance, 1)
	go func() {
		defer cancel()
		result <- m.lookUpGuarded(ctx, w)
	}()
	var g glance
	select {
	case g = <-result:
	case <-ctx.Done():
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case g = <-result:
		case <-late.C:
			g.err = fmt.Errorf("it took longer than %s", sensor.Patience)
		}
	}
	return answerTo(w, g)
}

// lookUpGuarded looks up, and takes a panic for an error.
func (m *Minder) lookUpGuarded(ctx context.Context, w subconscious.Want) (g glance) {
	defer func() {
		if p := recover(); p != nil {
			g = glance{err: fmt.Errorf("it panicked: %.200v", p)}
		}
	}()
	g.observations, g.err = m.LookUp(ctx, m.Owner, w.Role, w.Text)
	return g
}

// answerTo returns what answers a want: what was found, or why nothing was.
func answerTo(w subconscious.Want, g glance) (list []ponder.Observation) {
	sign := func(o ponder.Observation, state string) ponder.Observation {
		o = bound(o)
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
		why := cmp.Or(strings.TrimSpace(g.err.Error()), "it does not say why")
		nothing = ponder.Observation{Content: "It could not be looked up: " + why}
	}
	return []ponder.Observation{sign(nothing, subconscious.LookedNothing)}
}

// lookedUp takes in that a want was answered.
func (c *course) lookedUp(ev ponder.Event) {
	maps.DeleteFunc(c.answered, func(_ string, at time.Time) bool { return ev.Time.Sub(at) > 2*tooOldWant })
	if i := strings.LastIndexByte(ev.Cause, ':'); i > 0 {
		c.answered[ev.Cause[:i]] = ev.Time
	}
}
