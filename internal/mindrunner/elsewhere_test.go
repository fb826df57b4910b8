package mindrunner

import (
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/sensor"
	"ponder/store/memory"
)

// TestCostOfOtherThreads checks that the cost of other threads reduces the budget of ticks.
func TestCostOfOtherThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spent := ponder.Cost{}
		w, v := &sensorSource{}, &roleModel{quiet: true}
		r := startProcess(t, memory.New(), v, Config{
			Sensors: []sensor.Sensor{w.newSensor("system")}, TokensPerDay: 1_000_000, MoneyPerDay: 1_000_000,
			ExternalCost: func(time.Time) ponder.Cost { return spent },
		})
		for _, more := range []ponder.Cost{{}, {Tokens: 1_000_000}, {Money: 1_000_000}} {
			spent = more
			before := v.countCalls()
			w.addThing("room")
			got := r.mustTick(true)
			if want := more != (ponder.Cost{}); got.WithoutModel != want || want && v.countCalls() != before || !want && v.countCalls() == before {
				t.Errorf("%+v are spent elsewhere: %+v, %d calls", more, got, v.countCalls()-before)
			}
		}
	})
}
