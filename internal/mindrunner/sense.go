package mindrunner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"ponder"
	"ponder/sensor"
)

// Of sensors that fail.
const (
	stateFailing = "failing"
	stateOK      = "ok"
	maxFails     = 3 // in a row; then the user is told
	failLevel    = 5
)

// keepAfter is how old a cursor on the thread may be while only the process knows that
// the sensor has read on and found nothing.
const keepAfter = 6 * time.Hour

// Sense looks at the world with all sensors at once, and puts what they saw on the
// thread. It returns how many observations are new. The error is of the thread only: a
// sensor that fails is logged once for each error that differs, is shown by
// [Minder.Status], and is itself observed after three failures in a row, and when it
// looks again.
func (m *Minder) Sense(ctx context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sense(ctx, true)
}

// sense implements Sense. Keep says that cursors are to be kept though nothing was seen:
// the process may end now. The caller holds m.mu.
func (m *Minder) sense(ctx context.Context, keep bool) (int, error) {
	if err := m.read(ctx); err != nil {
		return 0, err
	}
	glances := m.lookAll(ctx)
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("look at the world: %w", err)
	}
	var errs []error
	kept := 0
	for i, s := range m.Sensors {
		n, err := m.take(ctx, s.Name, glances[i], keep)
		kept += n
		errs = append(errs, err)
	}
	errs = append(errs, m.read(ctx))
	return kept, errors.Join(errs...)
}

// lookAll has all sensors look at once.
func (m *Minder) lookAll(ctx context.Context) []glance {
	glances := make([]glance, len(m.Sensors))
	var wg sync.WaitGroup
	for i, s := range m.Sensors {
		from := m.from(s.Name)
		wg.Go(func() { glances[i] = m.look(ctx, s, from) })
	}
	wg.Wait()
	return glances
}

// from returns the cursor with which a sensor looks: what the process knows, if it is
// newer than what the thread has.
func (m *Minder) from(name string) json.RawMessage {
	w, c := m.watch.all[name], m.course.cursors[name]
	if w.pending != nil && w.since == c.seq {
		return w.pending
	}
	w.pending = nil
	return c.value
}

// take takes in a look: what the sensor saw, or that it could not look.
func (m *Minder) take(ctx context.Context, name string, g glance, always bool) (int, error) {
	if g.err != nil {
		return 0, m.judge(ctx, name, cmp.Or(sensor.Line(g.err.Error(), sensor.MaxText), "it does not say why"), 0)
	}
	n, err := m.keep(ctx, name, g, always)
	if err != nil {
		return n, err
	}
	return n, m.judge(ctx, name, "", n)
}

// keep puts what a sensor saw on the thread, and returns how many observations are new.
func (m *Minder) keep(ctx context.Context, name string, g glance, always bool) (int, error) {
	w, c := m.watch.all[name], m.course.cursors[name]
	moved := !bytes.Equal(g.next, c.value)
	if len(g.observations) == 0 {
		w.pending, w.since = g.next, c.seq
		if !moved || !always && c.seq != 0 && m.Now().Sub(c.at) < keepAfter {
			return 0, nil
		}
		return 0, m.keepCursor(ctx, name, g.next, c)
	}
	if w.pending != nil && !bytes.Equal(w.pending, c.value) {
		moved = true // there and back again
	}
	w.pending = nil
	events := m.events(name, g, c)
	if moved && len(g.next) > 0 {
		events[len(events)-1] = withCursor(events[len(events)-1], g.next)
	}
	_, err := m.Store.Append(ctx, m.thread, 0, events...)
	switch {
	case err == nil:
		return len(events), nil
	case !errors.Is(err, ponder.ErrTaken):
		return 0, fmt.Errorf("keep what %s saw: %w", name, err)
	}
	return m.keepRest(ctx, name, g, c)
}

// events returns the observations of a look, without its cursor. The key of each says
// what is observed, and from which cursor on.
func (m *Minder) events(name string, g glance, c cursor) []ponder.Event {
	var events []ponder.Event
	seen := map[string]bool{}
	for _, o := range g.observations {
		what := any(o.Subject)
		if o.Subject == "" && o.State == "" {
			what = "\x00" + o.Content
		}
		key := name + ":" + short(what, o.State, c.seq)
		if !seen[key] {
			seen[key] = true
			events = append(events, ponder.Event{Cause: key, Time: m.Now(), Body: o})
		}
	}
	return events
}

func withCursor(ev ponder.Event, next json.RawMessage) ponder.Event {
	o := ev.Body.(ponder.Observation)
	o.Cursor = next
	ev.Body = o
	return ev
}

// keepRest keeps what of a look is not on the thread yet. If another process has kept
// the same look, there is nothing left of it: the next one goes on from there.
func (m *Minder) keepRest(ctx context.Context, name string, g glance, c cursor) (int, error) {
	if err := m.read(ctx); err != nil {
		return 0, err
	}
	if m.course.cursors[name].seq != c.seq {
		return 0, nil
	}
	kept := 0
	for _, ev := range m.events(name, g, c) {
		_, err := m.Store.Append(ctx, m.thread, 0, ev)
		switch {
		case err == nil:
			kept++
		case !errors.Is(err, ponder.ErrTaken):
			return kept, fmt.Errorf("keep what %s saw: %w", name, err)
		}
	}
	if bytes.Equal(g.next, c.value) {
		return kept, nil
	}
	return kept, m.keepCursor(ctx, name, g.next, c)
}

// keepCursor keeps how far a sensor has read, although it saw nothing to tell.
func (m *Minder) keepCursor(ctx context.Context, name string, next json.RawMessage, c cursor) error {
	if len(next) == 0 {
		return nil
	}
	_, err := m.Store.Append(ctx, m.thread, 0, ponder.Event{
		Cause: name + ":cursor:" + short(string(next), c.seq), Internal: true, Time: m.Now(),
		Body: ponder.Observation{Sensor: cursorName, Subject: name, Cursor: next},
	})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("keep how far %s has read: %w", name, err)
	}
	return nil
}

// judge takes in how a look of a sensor went: why it could not look, or "" and how much
// it told.
func (m *Minder) judge(ctx context.Context, name, why string, told int) error {
	fails := m.took(name, why, told)
	_, failing := m.course.failing[name]
	var o ponder.Observation
	var since ponder.Seq
	switch {
	case fails >= maxFails && !failing:
		since = m.course.recover[name]
		o = ponder.Observation{
			Content: sensor.Line(fmt.Sprintf("The sensor %s cannot look: %s", name, why), sensor.MaxText),
			State:   stateFailing, Level: failLevel, Untrusted: true,
		}
	case fails == 0 && failing:
		since = m.course.failing[name]
		o = ponder.Observation{Content: "The sensor " + name + " looks again.", State: stateOK}
	default:
		return nil
	}
	o.Sensor, o.Subject = sensorsName, name
	_, err := m.note(ctx, sensorsName+":"+short(name, o.State, since), o, false)
	return err
}

// took notes for [Minder.Status] how a look went, logs an error that is new, and returns
// how many have failed in a row.
func (m *Minder) took(name, why string, told int) (fails int) {
	m.watch.mu.Lock()
	defer m.watch.mu.Unlock()
	w := m.watch.all[name]
	w.Told += told
	w.Error = why
	if why == "" {
		w.Looked, w.Fails, w.logged = m.Now(), 0, ""
		return 0
	}
	w.Fails++
	if why != w.logged {
		w.logged = why
		m.Logger.Warn("a sensor cannot look", "sensor", name, "error", why)
	}
	return w.Fails
}
