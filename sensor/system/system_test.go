package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/sensor"
	"ponder/sensor/sensortest"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// calmMetrics returns a reading without problems.
func calmMetrics() Metrics {
	return Metrics{Cores: 4, Load: 1, Memory: 40, Swap: 0, Disks: map[string]float64{"/": 50}, Units: true}
}

// A machine is a settable reading with a sensor that looks every 5 minutes.
type machine struct {
	t      *testing.T
	now    time.Time
	is     Metrics
	err    error
	s      sensor.Sensor
	cursor json.RawMessage
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, now: start, is: calmMetrics()}
	m.s = New(Options{Read: func(context.Context) (Metrics, error) { return m.is, m.err }})
	return m
}

// lookNext returns the observations after five minutes as "subject|state|level".
func (m *machine) lookNext() []string {
	m.t.Helper()
	m.now = m.now.Add(5 * time.Minute)
	seen, next, err := m.s.Look(m.t.Context(), m.now, m.cursor)
	if err != nil {
		m.t.Fatal(err)
	}
	again, twice, _ := m.s.Look(m.t.Context(), m.now, m.cursor)
	if diff := cmp.Diff(seen, again); diff != "" || string(next) != string(twice) {
		m.t.Errorf("the same look gives another result: %s", diff)
	}
	if len(seen) == 0 && m.cursor != nil && string(next) != string(m.cursor) {
		m.t.Errorf("nothing is seen, and the cursor is another: %s, was %s", next, m.cursor)
	}
	m.cursor = next
	var out []string
	for _, o := range seen {
		out = append(out, fmt.Sprintf("%s|%s|%d", o.Subject, o.State, o.Level))
	}
	return out
}

func (m *machine) expectStates(want ...string) {
	m.t.Helper()
	if diff := cmp.Diff(want, m.lookNext()); diff != "" {
		m.t.Errorf("at %s: %s", m.now.Format("15:04"), diff)
	}
}

func TestThresholds(t *testing.T) {
	m := newMachine(t)
	m.expectStates()
	m.is.Memory = 89
	m.expectStates()
	m.is.Memory = 90
	m.expectStates("memory|high 1|6")
	m.is.Memory = 95
	m.expectStates()
	m.is.Memory = 81
	m.expectStates()
	m.is.Memory = 79
	m.expectStates("memory|ok 2|2")
	m.is.Memory = 92
	m.expectStates("memory|high 3|6")
	m.is.Load = 8
	m.is.Disks["/"] = 97
	m.expectStates("load|high 1|6", "disk /|critical 1|8")
	m.is.Disks["/"] = 94.9
	m.expectStates() // held back
	m.expectStates() // held back
	m.expectStates("disk /|high 2|6")
	m.is.Disks["/"] = 84
	m.is.Load = 4.9
	m.expectStates()
	m.is.Load = 4.7
	m.expectStates("load|ok 2|2")
}

func TestFirstLookReportsHigh(t *testing.T) {
	m := newMachine(t)
	m.is.Disks["/"] = 91
	m.is.Swap = 95
	m.is.Failed = []string{"cups.service"}
	m.expectStates("swap|high 1|6", "disk /|high 1|6", "unit cups.service|failed 1|7")
	m.expectStates()
}

func TestUnits(t *testing.T) {
	m := newMachine(t)
	m.is.Failed = []string{"b.service", "a.service"}
	m.expectStates("unit a.service|failed 1|7", "unit b.service|failed 1|7")
	m.is.Units, m.is.Failed = false, nil // systemctl failed
	m.expectStates()
	m.is.Units = true
	m.expectStates()
	m.expectStates("unit a.service|ok 2|2", "unit b.service|ok 2|2")
	m.is.Failed = []string{"a.service"}
	m.expectStates("unit a.service|failed 3|7")
}

func TestManyUnits(t *testing.T) {
	m := newMachine(t)
	for i := range 300 {
		m.is.Failed = append(m.is.Failed, fmt.Sprintf("u%03d.service", i))
	}
	if got := m.lookNext(); len(got) != maxUnits {
		t.Errorf("%d units are reported, want %d", len(got), maxUnits)
	}
	m.is.Failed = append(m.is.Failed, "a.service")
	m.expectStates()
}

// TestFlapping checks that a value around a threshold gives few reports.
func TestFlapping(t *testing.T) {
	m := newMachine(t)
	rng := rand.New(rand.NewPCG(1, 2))
	told := 0
	for range 288 {
		m.is.Memory = 70 + 30*rng.Float64()
		m.is.Disks["/"] = 96 + 2*rng.Float64()
		told += len(m.lookNext())
	}
	if told > 288/2 {
		t.Errorf("%d observations in a day", told)
	}
	m = newMachine(t)
	told = 0
	for i := range 288 {
		m.is.Memory = 89 + 2*float64(i%2)
		told += len(m.lookNext())
	}
	if told != 1 {
		t.Errorf("%d observations of what hovers around a threshold, want 1", told)
	}
}

func TestHealthy(t *testing.T) {
	m := newMachine(t)
	for range 288 {
		m.expectStates()
	}
}

func TestConforms(t *testing.T) {
	m := newMachine(t)
	open := func() sensor.Sensor {
		return New(Options{Read: func(context.Context) (Metrics, error) { return m.is, nil }})
	}
	sensortest.Run(t, open,
		sensortest.Step{Name: "well", Reports: []string{}},
		sensortest.Step{Name: "full", Pass: time.Hour, Do: func() { m.is.Disks["/"] = 98 }, Reports: []string{"critical 1 disk /"}},
		sensortest.Step{Name: "still", Pass: time.Hour, Reports: []string{}},
		sensortest.Step{Name: "well again", Pass: time.Hour, Do: func() { m.is.Disks["/"] = 50 }, Reports: []string{"ok 2 disk /"}},
		sensortest.Step{Name: "full again", Pass: time.Hour, Do: func() { m.is.Disks["/"] = 98 }, Reports: []string{"critical 3 disk /"}},
	)
}

func TestErrorsAndCursors(t *testing.T) {
	m := newMachine(t)
	m.err = errors.New("no /proc")
	if _, _, err := m.s.Look(t.Context(), m.now, nil); err == nil || !strings.Contains(err.Error(), "no /proc") {
		t.Errorf("error %v", err)
	}
	m.err = nil
	m.is.Memory = 99
	for _, raw := range []string{"", "null", "7", `"x"`, "{", `{"told":null}`} {
		seen, next, err := m.s.Look(t.Context(), m.now, json.RawMessage(raw))
		if err != nil || len(seen) != 1 || !json.Valid(next) {
			t.Errorf("cursor %q: %d observations, next %s, error %v", raw, len(seen), next, err)
		}
	}
}

func TestHostileNames(t *testing.T) {
	m := newMachine(t)
	m.is.Disks = map[string]float64{"/mnt/%d\x1b[2J" + strings.Repeat("x", 400): 99}
	m.is.Failed = []string{"evil\nunit.service"}
	seen, _, err := m.s.Look(t.Context(), m.now, nil)
	if err != nil || len(seen) != 2 {
		t.Fatalf("%v, %v", seen, err)
	}
	for _, o := range seen {
		if len(o.Content) > sensor.MaxText || len(o.Subject) > sensor.MaxSubject || strings.ContainsAny(o.Content+o.Subject, "\x1b\n") || strings.Contains(o.Content, "%!") {
			t.Errorf("%+v", o)
		}
	}
}

func TestManySubjects(t *testing.T) {
	m := newMachine(t)
	for day := range 30 {
		m.is.Disks = map[string]float64{}
		for i := range 16 {
			m.is.Disks[fmt.Sprintf("/mnt/%d-%d", day, i)] = 91
		}
		m.lookNext()
		for k := range m.is.Disks {
			m.is.Disks[k] = 10
		}
		m.now = m.now.Add(23 * time.Hour)
		m.lookNext()
	}
	if len(m.cursor) > sensor.MaxCursor/2 {
		t.Errorf("the cursor has %d bytes", len(m.cursor))
	}
}

// TestRead reads the machine that runs the tests.
func TestRead(t *testing.T) {
	seen, next, err := New(Options{Mounts: []string{t.TempDir(), "/no/such/folder"}}).Look(t.Context(), start, nil)
	if err != nil || next == nil {
		t.Fatalf("%v, %s, %v", seen, next, err)
	}
	r, err := reader{mounts: []string{"."}}.readMetrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Memory <= 0 || r.Memory > 100 || r.Disks["."] <= 0 || r.Cores < 1 {
		t.Errorf("%+v", r)
	}
}

func TestParseUnits(t *testing.T) {
	list := "cups.service loaded failed failed CUPS\n● nginx.service loaded failed failed a web server\n\nnothing\n"
	if diff := cmp.Diff([]string{"cups.service", "nginx.service"}, parseUnits(strings.NewReader(list))); diff != "" {
		t.Error(diff)
	}
}
