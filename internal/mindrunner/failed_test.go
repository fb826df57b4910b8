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
		w, v := &world{}, &voice{report: func(*llm.Request) string { return "Nothing that can be read." }}
		r := open(t, memory.New(), v, Config{Sensors: []sensor.Sensor{w.sensor("system")}})
		w.add("room 1")
		if got := r.tick(true); !got.Ran || !got.AllFailed || len(got.Failed) == 0 {
			t.Errorf("all fail: %+v", got)
		}
		v.report = nil
		w.add("room 2")
		if got := r.tick(true); !got.Ran || got.AllFailed || len(got.Failed) > 0 {
			t.Errorf("none fails: %+v", got)
		}
	})
}
