// Package system is the sensor of the machine: its load, memory, swap and disks, and
// the units of systemd that failed.
//
// A measure is "ok", "high" or, of a disk, "critical", and is told once as it turns
// from one to another. To go back it must fall clearly below where it went up, and what
// has just turned for the worse is not called well for a while; so what hovers around a
// threshold says nothing. The first word of a State is one of those, or "failed"; a
// number after it counts how often the subject has turned, so that a later "high" is
// another state.
//
// Its cursor is a [cursor]: what was last told of each measure that was ever told of.
package system

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/sensor"
)

// Options say what is looked at. The zero value works.
type Options struct {
	Mounts []string // folders whose disks are watched, at most 16; the working folder's if empty
	Read   func(ctx context.Context) (Reading, error)
}

// A Reading is how the machine is doing. What could not be read is left out.
type Reading struct {
	Cores  int                // at least 1, if Load is known
	Load   float64            // of the last 5 minutes, of all cores; negative: unknown
	Memory float64            // percent in use; negative: unknown
	Swap   float64            // percent in use; negative: unknown, or there is none
	Disks  map[string]float64 // percent in use, by folder
	Failed []string           // units of systemd
	Units  bool               // Failed is known
}

// Bounds.
const (
	maxMounts = 16
	maxUnits  = 20               // that are told of at a time
	hold      = 15 * time.Minute // after a turn for the worse, before the subject is called well
)

// Levels of observations.
const (
	levelOK       = 2
	levelHigh     = 6
	levelFailed   = 7
	levelCritical = 8
)

// Words of states.
const (
	stateOK       = "ok"
	stateHigh     = "high"
	stateCritical = "critical"
	stateFailed   = "failed"
)

// A cursor is what was last told, by subject.
type cursor struct {
	Told map[string]told `json:"told"`
}

// A told is the last state of a subject that was told.
type told struct {
	State string `json:"state"`
	Turns int    `json:"turns"`
	At    int64  `json:"at"` // Unix seconds
}

// New returns the sensor, which is called "system".
func New(o Options) sensor.Sensor {
	mounts := o.Mounts
	if len(mounts) == 0 {
		mounts = []string{"."}
	}
	if o.Read == nil {
		o.Read = reader{mounts: mounts[:min(len(mounts), maxMounts)]}.read
	}
	return sensor.Sensor{Name: "system", Look: o.look}
}

func (o Options) look(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	reading, err := o.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read how the system is doing: %w", err)
	}
	var c cursor
	if json.Unmarshal(raw, &c) != nil || c.Told == nil {
		c.Told, raw = map[string]told{}, nil
	}
	var seen []ponder.Observation
	for _, m := range measures(reading) {
		if obs, ok := c.turn(m, now); ok {
			seen = append(seen, obs)
		}
	}
	seen = append(seen, c.units(reading, now)...)
	if len(seen) == 0 && raw != nil {
		return nil, raw, nil
	}
	c.forget(now)
	next, err := json.Marshal(c)
	return seen, next, err
}

// A measure is a number that has thresholds.
type measure struct {
	subject, says    string // says has a verb for the number
	value            float64
	high, back       float64 // it is high from high on, until it is below back
	critical, easier float64 // the same of critical; 0: it never is
	source           string
}

// measures returns what a reading has, in order of their subjects.
func measures(r Reading) []measure {
	var ms []measure
	if r.Load >= 0 && r.Cores > 0 {
		ms = append(ms, measure{subject: "load", says: "The load of the last 5 minutes is %.1f for each core", value: r.Load / float64(r.Cores), high: 2, back: 1.2})
	}
	if r.Memory >= 0 {
		ms = append(ms, measure{subject: "memory", says: "Memory is %.0f %% full", value: r.Memory, high: 90, back: 80})
	}
	if r.Swap >= 0 {
		ms = append(ms, measure{subject: "swap", says: "Swap is %.0f %% full", value: r.Swap, high: 90, back: 80})
	}
	for _, mount := range slices.Sorted(maps.Keys(r.Disks)) {
		says := strings.ReplaceAll(sensor.Line(mount, 200), "%", "%%")
		ms = append(ms, measure{subject: sensor.Subject("disk " + mount), says: "The disk of " + says + " is %.0f %% full",
			value: r.Disks[mount], high: 90, back: 85, critical: 97, easier: 95, source: sensor.Line(mount, 500)})
	}
	return ms
}

// state returns what a measure is, if it was another before.
func (m measure) state(before string) string {
	switch {
	case m.critical > 0 && (m.value >= m.critical || before == stateCritical && m.value >= m.easier):
		return stateCritical
	case m.value >= m.high || before != stateOK && m.value >= m.back:
		return stateHigh
	}
	return stateOK
}

// turn tells of a measure that has turned.
func (c *cursor) turn(m measure, now time.Time) (ponder.Observation, bool) {
	before := c.before(m.subject)
	state := m.state(before.State)
	if !c.note(m.subject, state, now) {
		return ponder.Observation{}, false
	}
	text, level := fmt.Sprintf(m.says, m.value), levelHigh
	switch state {
	case stateOK:
		text, level = text+" again.", levelOK
	case stateCritical:
		text, level = text+", which is critical.", levelCritical
	default:
		text += ", which is high."
	}
	return ponder.Observation{Content: text, Subject: m.subject, State: c.Told[m.subject].text(), Level: level, Source: m.source}, true
}

// units tells of the units that have failed, or no longer are.
func (c *cursor) units(r Reading, now time.Time) []ponder.Observation {
	if !r.Units {
		return nil
	}
	failed, open := map[string]string{}, 0
	for _, unit := range r.Failed {
		failed[sensor.Subject("unit "+unit)] = sensor.Line(unit, 200)
	}
	subjects := slices.Collect(maps.Keys(failed))
	for subject, t := range c.Told {
		if t.State == stateFailed {
			open++
		}
		if _, ok := failed[subject]; !ok && strings.HasPrefix(subject, "unit ") {
			subjects = append(subjects, subject)
		}
	}
	slices.Sort(subjects)
	var seen []ponder.Observation
	for _, subject := range subjects {
		unit, is := failed[subject]
		switch {
		case is && open < maxUnits && c.note(subject, stateFailed, now):
			open++
			seen = append(seen, ponder.Observation{Content: "The unit " + unit + " failed.", Subject: subject, State: c.Told[subject].text(), Level: levelFailed})
		case !is && c.note(subject, stateOK, now):
			unit = strings.TrimPrefix(subject, "unit ")
			seen = append(seen, ponder.Observation{Content: "The unit " + unit + " is no longer failed.", Subject: subject, State: c.Told[subject].text(), Level: levelOK})
		}
	}
	return seen
}

func (c *cursor) before(subject string) told {
	if t, ok := c.Told[subject]; ok {
		return t
	}
	return told{State: stateOK}
}

// note notes the state of a subject, and whether it has turned. What has just turned
// for the worse does not turn back yet.
func (c *cursor) note(subject, state string, now time.Time) bool {
	before := c.before(subject)
	if before.State == state || severity(state) < severity(before.State) && now.Sub(time.Unix(before.At, 0)) < hold {
		return false
	}
	c.Told[subject] = told{State: state, Turns: before.Turns + 1, At: now.Unix()}
	return true
}

func severity(state string) int {
	return slices.Index([]string{stateOK, stateHigh, stateFailed, stateCritical}, state)
}

func (t told) text() string { return fmt.Sprintf("%s %d", t.State, t.Turns) }

// forget drops the subjects that have been well for longest, where there are too many.
func (c *cursor) forget(now time.Time) {
	const most, young = 200, 24 * time.Hour
	if len(c.Told) <= most {
		return
	}
	subjects := slices.SortedFunc(maps.Keys(c.Told), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Told[a].At, c.Told[b].At), cmp.Compare(a, b))
	})
	for _, s := range subjects {
		t := c.Told[s]
		if len(c.Told) > most && t.State == stateOK && now.Sub(time.Unix(t.At, 0)) > young {
			delete(c.Told, s)
		}
	}
}
