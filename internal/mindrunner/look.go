package mindrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"ponder"
	"ponder/sensor"
)

// A SensorStatus is the status of a sensor.
type SensorStatus struct {
	Sensor   string    `json:"sensor"`
	LastRead time.Time `json:"looked,omitzero"` // the time of the last successful look
	Error    string    `json:"error,omitempty"` // of the last look, if it failed
	Fails    int       `json:"fails,omitempty"` // consecutive failures
	Stored   int       `json:"told,omitempty"`  // stored observations since the start of the process
}

// A sensorState is the state of a sensor in this process.
type sensorState struct {
	SensorStatus
	busy    bool            // a look has not returned yet
	logged  string          // the last logged error
	pending json.RawMessage // the cursor after a look without observations
	since   ponder.Seq      // the event of the stored cursor at that look
}

// sensorStates holds the states of all sensors. It is safe for concurrent use.
type sensorStates struct {
	mu  sync.Mutex
	all map[string]*sensorState
}

func (w *sensorStates) init(sensors []sensor.Sensor) {
	w.all = make(map[string]*sensorState)
	for _, s := range sensors {
		w.all[s.Name] = &sensorState{SensorStatus: SensorStatus{Sensor: s.Name}}
	}
}

// Status returns the status of the sensors, in the order of the configuration.
func (m *Runner) Status() []SensorStatus {
	m.states.mu.Lock()
	defer m.states.mu.Unlock()
	list := make([]SensorStatus, 0, len(m.Sensors))
	for _, s := range m.Sensors {
		list = append(list, m.states.all[s.Name].SensorStatus)
	}
	return list
}

// markBusy marks a sensor as busy. It returns false if the sensor is busy already.
func (w *sensorStates) markBusy(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all[name].busy {
		return false
	}
	w.all[name].busy = true
	return true
}

func (w *sensorStates) markIdle(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[name].busy = false
}

// A lookResult is the result of a look.
type lookResult struct {
	observations []ponder.Observation
	next         json.RawMessage
	err          error
}

// grace is the time for a function to return after its ctx ended.
const grace = time.Second

var errBusy = errors.New("its last look has not returned")

// readSensor calls a sensor with a time limit. It abandons a sensor that does not return. The
// sensor may look again after it returned.
func (m *Runner) readSensor(ctx context.Context, s sensor.Sensor, from json.RawMessage) lookResult {
	if !m.states.markBusy(s.Name) {
		return lookResult{err: errBusy}
	}
	ctx, cancel := context.WithTimeout(ctx, sensor.LookTimeout)
	result := make(chan lookResult, 1)
	go func() {
		defer cancel()
		g := lookGuarded(ctx, s, m.Now(), from)
		m.states.markIdle(s.Name) // before the result is visible, because the receiver may look again at once
		result <- g
	}()
	select {
	case g := <-result:
		return g.limitResult(s.Name, from)
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case g := <-result:
		return g.limitResult(s.Name, from)
	case <-late.C:
		return lookResult{err: fmt.Errorf("it did not return within %s", sensor.LookTimeout)}
	}
}

// lookGuarded calls a sensor, and returns a panic as an error.
func lookGuarded(ctx context.Context, s sensor.Sensor, now time.Time, from json.RawMessage) (g lookResult) {
	defer func() {
		if p := recover(); p != nil {
			g = lookResult{err: fmt.Errorf("it panicked: %.200v", p)}
		}
	}()
	g.observations, g.next, g.err = s.Look(ctx, now, bytes.Clone(from))
	return g
}

// limitResult applies the limits of package sensor to a lookResult.
func (g lookResult) limitResult(name string, from json.RawMessage) lookResult {
	if g.err != nil {
		return lookResult{err: g.err}
	}
	next, err := compactCursor(g.next)
	switch {
	case err != nil:
		return lookResult{err: errors.New("its cursor is not JSON")}
	case len(next) > sensor.MaxCursor:
		return lookResult{err: fmt.Errorf("its cursor has %d bytes; at most %d are allowed", len(next), sensor.MaxCursor)}
	case len(next) == 0:
		next = from
	}
	g.next = next
	all := g.observations[:min(len(g.observations), sensor.MaxLook)]
	g.observations = nil
	for _, o := range all {
		if o = limitObservation(o); o.Content != "" {
			o.Sensor = name
			g.observations = append(g.observations, o)
		}
	}
	return g
}

// maxSource limits the Source of an observation, in bytes.
const maxSource = 500

// limitObservation applies the limits to an observation, so that surfaces may show it.
func limitObservation(o ponder.Observation) ponder.Observation {
	o.Content = sensor.Line(o.Content, sensor.MaxText)
	o.Subject = sensor.Subject(o.Subject)
	o.State = sensor.Line(o.State, maxName)
	o.Source = sensor.Line(o.Source, maxSource)
	o.Level = min(max(o.Level, 0), 10)
	o.Cursor = nil
	if y := o.Due.Year(); y < 1 || y > 9999 {
		o.Due = time.Time{}
	}
	return o
}

// compactCursor returns a cursor in the form that the thread returns, or nil for an empty
// cursor.
func compactCursor(c json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(c)) == 0 || len(c) > 2*sensor.MaxCursor {
		if len(c) > 2*sensor.MaxCursor {
			return c, nil // limit refuses it
		}
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, c); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
