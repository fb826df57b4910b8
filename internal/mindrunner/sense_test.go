package mindrunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/racetest"
	"ponder/sensor"
	"ponder/store/memory"
)

// observedStates returns the observations of a sensor, as "subject state".
func observedStates(t *testing.T, store ponder.Log, name string) (list []string) {
	t.Helper()
	for _, ev := range mindEvents(t, store) {
		if o, ok := ev.Body.(ponder.Observation); ok && o.Sensor == name {
			list = append(list, strings.TrimSpace(o.Subject+" "+o.State))
		}
	}
	return list
}

// mustSense calls Sense. An error fails the test.
func (r *rig) mustSense() int {
	r.t.Helper()
	n, err := r.Sense(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// TestSensorsMisbehave has sensors that panic, hang and fail, and a correct one. They do
// not delay the correct sensor beyond their time limit.
func TestSensorsMisbehave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		well, looks, down := &sensorSource{}, 0, true
		well.addThing("room 1")
		sensors := []sensor.Sensor{
			{Name: "panics", Look: func(context.Context, time.Time, json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
				panic("oh \x1b[31mno")
			}},
			{Name: "hangs", Look: func(context.Context, time.Time, json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
				looks++
				<-release
				return nil, nil, nil
			}},
			{Name: "fails", Look: func(context.Context, time.Time, json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
				if down {
					return nil, nil, errors.New("set MAIL_PASSWORD")
				}
				return nil, nil, nil
			}},
			well.newSensor("system"),
		}
		store := memory.New()
		r := startProcess(t, store, nil, Config{Sensors: sensors})
		begun := time.Now()
		if n := r.mustSense(); n != 1 {
			t.Errorf("%d observations, want 1", n)
		}
		if d := time.Since(begun); d > sensor.LookTimeout+grace {
			t.Errorf("a look takes %s", d)
		}
		for range 6 {
			r.mustSense()
		}
		synctest.Wait()
		if looks != 1 {
			t.Errorf("a sensor that hangs is asked %d times", looks)
		}
		if got := observedStates(t, store, sensorsName); len(got) != 3 || got[2] != "fails failing" {
			t.Errorf("observed %q", got)
		}
		for i, want := range []string{"panicked", "not returned", "MAIL_PASSWORD", ""} {
			if s := r.Status()[i]; want == "" && s.Error != "" || !strings.Contains(s.Error, want) || strings.Contains(s.Error, "\x1b") {
				t.Errorf("status %+v, want %q", s, want)
			}
		}
		down = false
		r.mustSense()
		r.mustSense()
		if got := observedStates(t, store, sensorsName); len(got) != 4 || got[3] != "fails ok" {
			t.Errorf("observed %q", got)
		}
		other := startProcess(t, store, nil, Config{Sensors: sensors[2:3]})
		down = true
		for range 4 {
			other.mustSense()
		}
		if got := observedStates(t, store, sensorsName); len(got) != 5 || got[4] != "fails failing" {
			t.Errorf("observed %q", got)
		}
	})
}

// fakeSensor returns a sensor whose result is a function of its cursor.
func fakeSensor(name string, f func(cursor string) ([]ponder.Observation, string)) sensor.Sensor {
	return sensor.Sensor{Name: name, Look: func(_ context.Context, _ time.Time, c json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
		list, next := f(string(c))
		return list, json.RawMessage(next), nil
	}}
}

// TestWrongCursors has sensors with wrong cursors. The thread does not grow without end, and
// no observation is lost.
func TestWrongCursors(t *testing.T) {
	fire := []ponder.Observation{{Content: "fire", Subject: "house", State: "burns"}}
	n := 0
	for name, test := range map[string]struct {
		f           func(string) ([]ponder.Observation, string)
		events, err int
	}{
		"same cursor each time": {func(string) ([]ponder.Observation, string) { return fire, `"a"` }, 2, 0},
		"no cursor at all":      {func(string) ([]ponder.Observation, string) { return fire, "" }, 1, 0},
		"no JSON":               {func(string) ([]ponder.Observation, string) { return fire, "{" }, 0, 1},
		"too long":              {func(string) ([]ponder.Observation, string) { return nil, `"` + strings.Repeat("x", 300_000) + `"` }, 0, 1},
		"spaces":                {func(string) ([]ponder.Observation, string) { return nil, fmt.Sprintf(`{ "a": %*d}`, 1+n%3, 1) }, 1, 0},
		"another each time":     {func(string) ([]ponder.Observation, string) { n++; return nil, fmt.Sprint(n) }, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New()
			r := startProcess(t, store, nil, Config{Sensors: []sensor.Sensor{fakeSensor("files", test.f)}})
			for range 5 {
				if _, err := r.senseRunning(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			var got int
			for _, ev := range mindEvents(t, store) {
				if o := ev.Body.(ponder.Observation); o.Sensor != sensorsName {
					got++
				}
			}
			if got != test.events || (r.Status()[0].Error != "") != (test.err > 0) {
				t.Errorf("%s: %d events, want %d; status %+v\n%s", name, got, test.events, r.Status()[0], describeEvents(mindEvents(t, store)))
			}
		})
	}
}

// senseRunning looks as a tick in a running process does, without storing idle cursors.
func (r *rig) senseRunning() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Runner.senseAll(r.t.Context(), false)
}

// TestToggle has a state that returns with its old cursor. The thread has each change.
func TestToggle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, high := memory.New(), false
		r := startProcess(t, store, nil, Config{Sensors: []sensor.Sensor{fakeSensor("system", func(c string) ([]ponder.Observation, string) {
			state := map[bool]string{true: `"high"`, false: `"ok"`}[high]
			if c == state || c == "" {
				return nil, state
			}
			return []ponder.Observation{{Content: "The load is " + state, Subject: "load", State: state}}, state
		})}})
		for range 3 {
			r.mustSense()
			high = !high
		}
		for range 3 {
			r.mustSense()
			r.mustSense()
			high = !high
		}
		if got := len(observedStates(t, store, "system")); got != 5 {
			t.Errorf("told %d times: %q", got, observedStates(t, store, "system"))
		}
	})
}

// TestBounds exceeds each limit.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		r := startProcess(t, store, nil, Config{Sensors: []sensor.Sensor{fakeSensor("feed:x", func(string) ([]ponder.Observation, string) {
			var list []ponder.Observation
			for i := range 200 {
				list = append(list, ponder.Observation{
					Content: strings.Repeat("é\x1b[2J\n", 1000), Subject: fmt.Sprint(i, strings.Repeat("\x00s", 1000)), State: strings.Repeat("x", 999),
					Sensor: "mail", Level: 99, Source: strings.Repeat("y", 9999), Cursor: json.RawMessage(`1`),
				})
			}
			return append([]ponder.Observation{{}}, list...), `{"n":1}`
		})}})
		if n := r.mustSense(); n != sensor.MaxLook-1 {
			t.Errorf("%d observations", n)
		}
		evs := mindEvents(t, store)
		for i, ev := range evs {
			o := ev.Body.(ponder.Observation)
			if len(o.Content) > sensor.MaxText || len(o.Subject) > sensor.MaxSubject || len(o.State) > maxName || len(o.Source) > maxSource ||
				o.Level != 10 || o.Sensor != "feed:x" || strings.ContainsAny(o.Content+o.Subject, "\x1b\x00\n") || len(o.Cursor) > 0 != (i == len(evs)-1) {
				t.Fatalf("observation %d is %+v", i, o)
			}
		}
		if got := string(evs[len(evs)-1].Body.(ponder.Observation).Cursor); got != `{"n":1}` {
			t.Errorf("cursor is %s", got)
		}
	})
}

// TestSameLook has two processes store the same look. The thread has its observations once.
func TestSameLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w := memory.New(), &sensorSource{}
		a := startProcess(t, store, nil, Config{Sensors: []sensor.Sensor{w.newSensor("files")}})
		b := startProcess(t, store, nil, Config{Sensors: []sensor.Sensor{w.newSensor("files")}})
		w.addThing("x")
		w.addThing("y")
		a.mustSense()
		if err := b.prepareThread(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.addThing("z")
		g := b.readSensor(t.Context(), b.Sensors[0], b.cursorFor("files")) // before a stores the same look
		w.addThing("later")
		a.mustSense()
		b.mu.Lock()
		n, err := b.storeObservations(t.Context(), "files", g, false)
		b.mu.Unlock()
		if n != 0 || err != nil {
			t.Errorf("kept %d, %v", n, err)
		}
		b.mustSense()
		a.mustSense()
		if got := observedStates(t, store, "files"); len(got) != 4 {
			t.Errorf("observed %q", got)
		}
	})
}

// A sensor that has returned may look again at once.
func TestLooksAgainAtOnce(t *testing.T) {
	m := startProcess(t, memory.New(), nil, Config{Sensors: []sensor.Sensor{(&sensorSource{}).newSensor("system")}})
	for range 50_000 / racetest.Stride(10) {
		if g := m.readSensor(t.Context(), m.Sensors[0], nil); g.err != nil {
			t.Fatal(g.err)
		}
	}
}
