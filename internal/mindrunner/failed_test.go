package mindrunner

import (
	"testing"
	"testing/synctest"

	"ponder/llm"
	"ponder/sensor"
	"ponder/store/memory"
)

// A report names the roles that failed.
func TestFailedRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v := &sensorSource{}, &roleModel{report: func(*llm.Request) string { return "Nothing that can be read." }}
		r := startProcess(t, memory.New(), v, Config{Sensors: []sensor.Sensor{w.newSensor("system")}})
		w.addThing("room 1")
		if got := r.mustTick(true); !got.Ran || !got.AllFailed || len(got.Failed) == 0 {
			t.Errorf("all fail: %+v", got)
		}
		v.report = nil
		w.addThing("room 2")
		if got := r.mustTick(true); !got.Ran || got.AllFailed || len(got.Failed) > 0 {
			t.Errorf("none fails: %+v", got)
		}
	})
}
