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

// Numbers and states of sensors that fail.
const (
	stateFailing = "failing"
	stateOK      = "ok"
	maxFails     = 3 // consecutive failures before the runner reports the sensor
	failLevel    = 5
)

// storeCursorAfter is the age at which a stored cursor is replaced, although the sensor had no
// observation since.
const storeCursorAfter = 6 * time.Hour

// Sense looks with all sensors concurrently, and appends their observations to the thread.
// It returns the number of new observations. Its error concerns only the thread. If a
// sensor fails, Sense logs each new error and [Runner.Status] shows it. After three
// consecutive failures, and after the recovery, Sense appends an observation about the
// sensor.
func (m *Runner) Sense(ctx context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.senseAll(ctx, true)
}

// senseAll implements Sense. If keep is set, it stores cursors without observations too,
// because the process may end now. The caller holds m.mu.
func (m *Runner) senseAll(ctx context.Context, keep bool) (int, error) {
	if err := m.readThread(ctx); err != nil {
		return 0, err
	}
	results := m.readSensors(ctx)
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("read sensors: %w", err)
	}
	var errs []error
	stored := 0
	for i, s := range m.Sensors {
		n, err := m.storeLook(ctx, s.Name, results[i], keep)
		stored += n
		errs = append(errs, err)
	}
	errs = append(errs, m.readThread(ctx))
	return stored, errors.Join(errs...)
}

// readSensors looks with all sensors concurrently.
func (m *Runner) readSensors(ctx context.Context) []lookResult {
	results := make([]lookResult, len(m.Sensors))
	var wg sync.WaitGroup
	for i, s := range m.Sensors {
		from := m.cursorFor(s.Name)
		wg.Go(func() { results[i] = m.readSensor(ctx, s, from) })
	}
	wg.Wait()
	return results
}

// cursorFor returns the cursor for the next look of a sensor. The cursor in memory has priority
// over the stored cursor, unless a newer one was stored.
func (m *Runner) cursorFor(name string) json.RawMessage {
	w, c := m.states.all[name], m.fold.cursors[name]
	if w.pending != nil && w.since == c.seq {
		return w.pending
	}
	w.pending = nil
	return c.value
}

// storeLook processes the result of a look.
func (m *Runner) storeLook(ctx context.Context, name string, g lookResult, always bool) (int, error) {
	if g.err != nil {
		return 0, m.recordHealth(ctx, name, cmp.Or(sensor.Line(g.err.Error(), sensor.MaxText), "no reason given"), 0)
	}
	n, err := m.storeObservations(ctx, name, g, always)
	if err != nil {
		return n, err
	}
	return n, m.recordHealth(ctx, name, "", n)
}

// storeObservations appends the observations of a look, and returns how many are new.
func (m *Runner) storeObservations(ctx context.Context, name string, g lookResult, always bool) (int, error) {
	w, c := m.states.all[name], m.fold.cursors[name]
	moved := !bytes.Equal(g.next, c.value)
	if len(g.observations) == 0 {
		w.pending, w.since = g.next, c.seq
		if !moved || !always && c.seq != 0 && m.Now().Sub(c.at) < storeCursorAfter {
			return 0, nil
		}
		return 0, m.storeCursor(ctx, name, g.next, c)
	}
	if w.pending != nil && !bytes.Equal(w.pending, c.value) {
		moved = true // the cursor moved and returned
	}
	w.pending = nil
	events := m.lookEvents(name, g, c)
	if moved && len(g.next) > 0 {
		events[len(events)-1] = withCursor(events[len(events)-1], g.next)
	}
	_, err := m.Store.Append(ctx, m.thread, 0, events...)
	switch {
	case err == nil:
		return len(events), nil
	case !errors.Is(err, ponder.ErrTaken):
		return 0, fmt.Errorf("store observations of %s: %w", name, err)
	}
	return m.storeMissing(ctx, name, g, c)
}

// lookEvents returns the observations of a look, without the cursor. The key of each names its
// subject and state, and the stored cursor before it.
func (m *Runner) lookEvents(name string, g lookResult, c cursor) []ponder.Event {
	var events []ponder.Event
	seen := map[string]bool{}
	for _, o := range g.observations {
		what := any(o.Subject)
		if o.Subject == "" && o.State == "" {
			what = "\x00" + o.Content
		}
		key := name + ":" + hashOf(what, o.State, c.seq)
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

// storeMissing appends the observations of a look that the thread does not have. If another
// process stored the same look, the rest is dropped, and the next look starts from the
// stored cursor.
func (m *Runner) storeMissing(ctx context.Context, name string, g lookResult, c cursor) (int, error) {
	if err := m.readThread(ctx); err != nil {
		return 0, err
	}
	if m.fold.cursors[name].seq != c.seq {
		return 0, nil
	}
	stored := 0
	for _, ev := range m.lookEvents(name, g, c) {
		_, err := m.Store.Append(ctx, m.thread, 0, ev)
		switch {
		case err == nil:
			stored++
		case !errors.Is(err, ponder.ErrTaken):
			return stored, fmt.Errorf("store observations of %s: %w", name, err)
		}
	}
	if bytes.Equal(g.next, c.value) {
		return stored, nil
	}
	return stored, m.storeCursor(ctx, name, g.next, c)
}

// storeCursor stores a cursor without an observation.
func (m *Runner) storeCursor(ctx context.Context, name string, next json.RawMessage, c cursor) error {
	if len(next) == 0 {
		return nil
	}
	_, err := m.Store.Append(ctx, m.thread, 0, ponder.Event{
		Cause: name + ":cursor:" + hashOf(string(next), c.seq), Internal: true, Time: m.Now(),
		Body: ponder.Observation{Sensor: cursorName, Subject: name, Cursor: next},
	})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		return fmt.Errorf("store the cursor of %s: %w", name, err)
	}
	return nil
}

// recordHealth processes the outcome of a look: the reason of its failure, or "" and the number of
// new observations.
func (m *Runner) recordHealth(ctx context.Context, name, why string, told int) error {
	fails := m.recordLook(name, why, told)
	_, failing := m.fold.failing[name]
	var o ponder.Observation
	var since ponder.Seq
	switch {
	case fails >= maxFails && !failing:
		since = m.fold.recover[name]
		o = ponder.Observation{
			Content: sensor.Line(fmt.Sprintf("The sensor %s cannot look: %s", name, why), sensor.MaxText),
			State:   stateFailing, Level: failLevel, Untrusted: true,
		}
	case fails == 0 && failing:
		since = m.fold.failing[name]
		o = ponder.Observation{Content: "The sensor " + name + " looks again.", State: stateOK}
	default:
		return nil
	}
	o.Sensor, o.Subject = sensorsName, name
	_, err := m.appendNote(ctx, sensorsName+":"+hashOf(name, o.State, since), o, false)
	return err
}

// recordLook updates [Runner.Status], logs a new error, and returns the number of consecutive
// failures.
func (m *Runner) recordLook(name, why string, told int) (fails int) {
	m.states.mu.Lock()
	defer m.states.mu.Unlock()
	w := m.states.all[name]
	w.Stored += told
	w.Error = why
	if why == "" {
		w.LastRead, w.Fails, w.logged = m.Now(), 0, ""
		return 0
	}
	w.Fails++
	if why != w.logged {
		w.logged = why
		m.Logger.Warn("a sensor failed", "sensor", name, "error", why)
	}
	return w.Fails
}
