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
		w, v := &world{}, &voice{quiet: true}
		r := open(t, memory.New(), v, Config{
			Sensors: []sensor.Sensor{w.sensor("system")}, TokensPerDay: 1_000_000, MoneyPerDay: 1_000_000,
			Elsewhere: func(time.Time) ponder.Cost { return spent },
		})
		for _, more := range []ponder.Cost{{}, {Tokens: 1_000_000}, {Money: 1_000_000}} {
			spent = more
			before := v.count()
			w.add("room")
			got := r.tick(true)
			if want := more != (ponder.Cost{}); got.Unaided != want || want && v.count() != before || !want && v.count() == before {
				t.Errorf("%+v are spent elsewhere: %+v, %d calls", more, got, v.count()-before)
			}
		}
	})
}
