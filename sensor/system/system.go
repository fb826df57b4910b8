// Package system implements the sensor of the machine: load, memory, swap, disks and failed units
// of systemd.
//
// A measure is "ok", "high" or, for a disk, "critical". The sensor reports each change once. A
// measure returns to a better state only clearly below the threshold and some time after it got
// worse, so that it does not flap. A State is one of these words or "failed", then the number of
// changes, which distinguishes repeated states.
//
// The cursor is a [cursor]: the last reported state of each measure.
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

// Options configure the sensor. The zero value is valid.
type Options struct {
	Mounts []string // folders whose disks are watched, at most 16; default the current one
	Read   func(ctx context.Context) (Metrics, error)
}

// A Metrics is the state of the machine. Unknown values are left out.
type Metrics struct {
	Cores  int                // at least 1 if Load is known
	Load   float64            // 5-minute average over all cores; negative if unknown
	Memory float64            // percent used; negative if unknown
	Swap   float64            // percent used; negative if unknown or absent
	Disks  map[string]float64 // percent used, by folder
	Failed []string           // failed units of systemd
	Units  bool               // whether Failed is known
}

// Limits.
const (
	maxMounts    = 16
	maxUnits     = 20               // open failures
	recoveryTime = 15 * time.Minute // time after a change for the worse before "ok"
)

// Levels of observations.
const (
	levelOK       = 2
	levelHigh     = 6
	levelFailed   = 7
	levelCritical = 8
)

// First words of states.
const (
	stateOK       = "ok"
	stateHigh     = "high"
	stateCritical = "critical"
	stateFailed   = "failed"
)

// A cursor has the last reported states by subject.
type cursor struct {
	Reported map[string]reportedState `json:"told"`
}

// A reportedState is the last report of a subject.
type reportedState struct {
	State string `json:"state"`
	Turns int    `json:"turns"`
	At    int64  `json:"at"` // Unix seconds
}

// New returns the sensor "system".
func New(o Options) sensor.Sensor {
	mounts := o.Mounts
	if len(mounts) == 0 {
		mounts = []string{"."}
	}
	if o.Read == nil {
		o.Read = reader{mounts: mounts[:min(len(mounts), maxMounts)]}.readMetrics
	}
	return sensor.Sensor{Name: "system", Look: o.look}
}

func (o Options) look(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	reading, err := o.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read the state of the system: %w", err)
	}
	var c cursor
	if json.Unmarshal(raw, &c) != nil || c.Reported == nil {
		c.Reported, raw = map[string]reportedState{}, nil
	}
	var seen []ponder.Observation
	for _, m := range listMeasures(reading) {
		if obs, ok := c.observeMeasure(m, now); ok {
			seen = append(seen, obs)
		}
	}
	seen = append(seen, c.observeUnits(reading, now)...)
	if len(seen) == 0 && raw != nil {
		return nil, raw, nil
	}
	c.dropOldest(now)
	next, err := json.Marshal(c)
	return seen, next, err
}

type measure struct {
	subject, format         string // says contains a format verb
	value                   float64
	high, highUntil         float64 // high from high until below back
	critical, criticalUntil float64 // the same for critical; 0: never critical
	source                  string
}

func listMeasures(r Metrics) []measure {
	var ms []measure
	if r.Load >= 0 && r.Cores > 0 {
		ms = append(ms, measure{subject: "load", format: "The load of the last 5 minutes is %.1f for each core", value: r.Load / float64(r.Cores), high: 2, highUntil: 1.2})
	}
	if r.Memory >= 0 {
		ms = append(ms, measure{subject: "memory", format: "Memory is %.0f %% full", value: r.Memory, high: 90, highUntil: 80})
	}
	if r.Swap >= 0 {
		ms = append(ms, measure{subject: "swap", format: "Swap is %.0f %% full", value: r.Swap, high: 90, highUntil: 80})
	}
	for _, mount := range slices.Sorted(maps.Keys(r.Disks)) {
		says := strings.ReplaceAll(sensor.Line(mount, 200), "%", "%%")
		ms = append(ms, measure{subject: sensor.Subject("disk " + mount), format: "The disk of " + says + " is %.0f %% full",
			value: r.Disks[mount], high: 90, highUntil: 85, critical: 97, criticalUntil: 95, source: sensor.Line(mount, 500)})
	}
	return ms
}

// nextState returns the state, given the previous one.
func (m measure) nextState(before string) string {
	switch {
	case m.critical > 0 && (m.value >= m.critical || before == stateCritical && m.value >= m.criticalUntil):
		return stateCritical
	case m.value >= m.high || before != stateOK && m.value >= m.highUntil:
		return stateHigh
	}
	return stateOK
}

// observeMeasure returns an observation if the measure changed its state.
func (c *cursor) observeMeasure(m measure, now time.Time) (ponder.Observation, bool) {
	before := c.lastReport(m.subject)
	state := m.nextState(before.State)
	if !c.updateState(m.subject, state, now) {
		return ponder.Observation{}, false
	}
	text, level := fmt.Sprintf(m.format, m.value), levelHigh
	switch state {
	case stateOK:
		text, level = text+" again.", levelOK
	case stateCritical:
		text, level = text+", which is critical.", levelCritical
	default:
		text += ", which is high."
	}
	return ponder.Observation{Content: text, Subject: m.subject, State: c.Reported[m.subject].stateText(), Level: level, Source: m.source}, true
}

// observeUnits reports failed and recovered units.
func (c *cursor) observeUnits(r Metrics, now time.Time) []ponder.Observation {
	if !r.Units {
		return nil
	}
	failed, open := map[string]string{}, 0
	for _, unit := range r.Failed {
		failed[sensor.Subject("unit "+unit)] = sensor.Line(unit, 200)
	}
	subjects := slices.Collect(maps.Keys(failed))
	for subject, t := range c.Reported {
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
		case is && open < maxUnits && c.updateState(subject, stateFailed, now):
			open++
			seen = append(seen, ponder.Observation{Content: "The unit " + unit + " failed.", Subject: subject, State: c.Reported[subject].stateText(), Level: levelFailed})
		case !is && c.updateState(subject, stateOK, now):
			unit = strings.TrimPrefix(subject, "unit ")
			seen = append(seen, ponder.Observation{Content: "The unit " + unit + " is no longer failed.", Subject: subject, State: c.Reported[subject].stateText(), Level: levelOK})
		}
	}
	return seen
}

func (c *cursor) lastReport(subject string) reportedState {
	if t, ok := c.Reported[subject]; ok {
		return t
	}
	return reportedState{State: stateOK}
}

// updateState records a state and reports whether it changed. A recent change for the worse does not
// change back yet.
func (c *cursor) updateState(subject, state string, now time.Time) bool {
	before := c.lastReport(subject)
	if before.State == state || stateSeverity(state) < stateSeverity(before.State) && now.Sub(time.Unix(before.At, 0)) < recoveryTime {
		return false
	}
	c.Reported[subject] = reportedState{State: state, Turns: before.Turns + 1, At: now.Unix()}
	return true
}

func stateSeverity(state string) int {
	return slices.Index([]string{stateOK, stateHigh, stateFailed, stateCritical}, state)
}

func (t reportedState) stateText() string { return fmt.Sprintf("%s %d", t.State, t.Turns) }

// dropOldest drops the subjects that have been ok longest beyond the limit.
func (c *cursor) dropOldest(now time.Time) {
	const max, young = 200, 24 * time.Hour
	if len(c.Reported) <= max {
		return
	}
	subjects := slices.SortedFunc(maps.Keys(c.Reported), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Reported[a].At, c.Reported[b].At), cmp.Compare(a, b))
	})
	for _, s := range subjects {
		t := c.Reported[s]
		if len(c.Reported) > max && t.State == stateOK && now.Sub(time.Unix(t.At, 0)) > young {
			delete(c.Reported, s)
		}
	}
}
