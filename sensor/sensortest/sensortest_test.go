package sensortest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"ponder"
	"ponder/sensor"
)

// A newCounter is the smallest sensor: it tells each number once.
func newCounter(world *int) sensor.Sensor {
	type cursor struct{ Told int }
	return sensor.Sensor{Name: "counter", Look: func(ctx context.Context, _ time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
		var c cursor
		if json.Unmarshal(raw, &c) != nil || c.Told < 0 {
			c, raw = cursor{}, nil
		}
		if c.Told >= *world {
			return nil, raw, ctx.Err()
		}
		var told []ponder.Observation
		for c.Told < *world && len(told) < sensor.MaxLook {
			c.Told++
			told = append(told, ponder.Observation{Content: fmt.Sprint("There is ", c.Told, "."), Subject: fmt.Sprint(c.Told), State: "new"})
		}
		next, err := json.Marshal(c)
		return told, next, err
	}}
}

func TestRun(t *testing.T) {
	world := 0
	Run(t, func() sensor.Sensor { return newCounter(&world) },
		Step{Name: "nothing", Reports: []string{}},
		Step{Name: "two", Do: func() { world = 2 }, Reports: []string{"new 1", "new 2"}},
		Step{Name: "time passes", Pass: time.Hour, Reports: []string{}},
		Step{Name: "many", Do: func() { world = 120 }},
	)
}

func TestFault(t *testing.T) {
	good := ponder.Observation{Content: "A thing.", Subject: "a", State: "new", Level: 3}
	if fault := Violation(good); fault != "" {
		t.Fatal(fault)
	}
	for name, spoil := range map[string]func(o *ponder.Observation){
		"sensor":  func(o *ponder.Observation) { o.Sensor = "x" },
		"subject": func(o *ponder.Observation) { o.Subject = "" },
		"long":    func(o *ponder.Observation) { o.Content = string(make([]byte, sensor.MaxText+1)) },
		"level":   func(o *ponder.Observation) { o.Level = 11 },
		"escape":  func(o *ponder.Observation) { o.Content = "a\x1b[2J" },
		"bytes":   func(o *ponder.Observation) { o.Source = "\xff" },
		"bidi":    func(o *ponder.Observation) { o.Content = "a\u202eb" },
	} {
		o := good
		if spoil(&o); Violation(o) == "" {
			t.Errorf("%s: not found", name)
		}
	}
}
