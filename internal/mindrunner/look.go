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

// A Watched is how a sensor does.
type Watched struct {
	Sensor string    `json:"sensor"`
	Looked time.Time `json:"looked,omitzero"` // when it last looked and could
	Error  string    `json:"error,omitempty"` // of the last look
	Fails  int       `json:"fails,omitempty"` // in a row
	Told   int       `json:"told,omitempty"`  // observations that were kept, since the process began
}

// A watcher is what is known of a sensor, beside the thread.
type watcher struct {
	Watched
	busy    bool            // a look has not returned yet
	logged  string          // the error that was last logged
	pending json.RawMessage // the cursor after a look that had nothing to say
	since   ponder.Seq      // the place of the cursor that stood on the thread then
}

// watchers are those of all sensors.
type watchers struct {
	mu  sync.Mutex
	all map[string]*watcher
}

func (w *watchers) init(sensors []sensor.Sensor) {
	w.all = make(map[string]*watcher)
	for _, s := range sensors {
		w.all[s.Name] = &watcher{Watched: Watched{Sensor: s.Name}}
	}
}

// Status returns how the sensors do, in the order in which they are configured.
func (m *Minder) Status() []Watched {
	m.watch.mu.Lock()
	defer m.watch.mu.Unlock()
	list := make([]Watched, 0, len(m.Sensors))
	for _, s := range m.Sensors {
		list = append(list, m.watch.all[s.Name].Watched)
	}
	return list
}

// begin notes that a sensor looks, or returns false if it still does.
func (w *watchers) begin(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all[name].busy {
		return false
	}
	w.all[name].busy = true
	return true
}

func (w *watchers) end(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[name].busy = false
}

// A glance is what came of a look.
type glance struct {
	observations []ponder.Observation
	next         json.RawMessage
	err          error
}

// grace is how long a sensor has to return when its patience is over.
const grace = time.Second

var errBusy = errors.New("it has not returned from its last look")

// look has a sensor look, within its bounds of time: one that does not return is left
// behind, and looks again only after it has.
func (m *Minder) look(ctx context.Context, s sensor.Sensor, from json.RawMessage) glance {
	if !m.watch.begin(s.Name) {
		return glance{err: errBusy}
	}
	ctx, cancel := context.WithTimeout(ctx, sensor.Patience)
	result := make(chan glance, 1)
	go func() {
		defer cancel()
		g := guarded(ctx, s, m.Now(), from)
		m.watch.end(s.Name) // before anybody hears of it, who may look again at once
		result <- g
	}()
	select {
	case g := <-result:
		return g.bounded(s.Name, from)
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case g := <-result:
		return g.bounded(s.Name, from)
	case <-late.C:
		return glance{err: fmt.Errorf("it did not return within %s", sensor.Patience)}
	}
}

// guarded looks, and takes a panic for an error.
func guarded(ctx context.Context, s sensor.Sensor, now time.Time, from json.RawMessage) (g glance) {
	defer func() {
		if p := recover(); p != nil {
			g = glance{err: fmt.Errorf("it panicked: %.200v", p)}
		}
	}()
	g.observations, g.next, g.err = s.Look(ctx, now, bytes.Clone(from))
	return g
}

// bounded returns a glance within the bounds of sensors.
func (g glance) bounded(name string, from json.RawMessage) glance {
	if g.err != nil {
		return glance{err: g.err}
	}
	next, err := canonical(g.next)
	switch {
	case err != nil:
		return glance{err: errors.New("its cursor is no JSON")}
	case len(next) > sensor.MaxCursor:
		return glance{err: fmt.Errorf("its cursor has %d bytes, and may have %d", len(next), sensor.MaxCursor)}
	case len(next) == 0:
		next = from
	}
	g.next = next
	all := g.observations[:min(len(g.observations), sensor.MaxLook)]
	g.observations = nil
	for _, o := range all {
		if o = bound(o); o.Content != "" {
			o.Sensor = name
			g.observations = append(g.observations, o)
		}
	}
	return g
}

// maxSource is how long the Source of an observation may be, in bytes.
const maxSource = 500

// bound returns an observation within its bounds, as it may be shown.
func bound(o ponder.Observation) ponder.Observation {
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

// canonical returns a cursor as it comes back from the thread; nil if there is none.
func canonical(c json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(c)) == 0 || len(c) > 2*sensor.MaxCursor {
		if len(c) > 2*sensor.MaxCursor {
			return c, nil // and is too long
		}
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, c); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
