package mindrunner

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ponder/sensor"
	"ponder/sensor/notify"
	"ponder/store/memory"
)

// TestRetry has a channel that fails. Its retries become rarer and end after a week. The
// other channel gets no repetition.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, good, bad := memory.New(), &sensorSource{}, &channelRecorder{}, &channelRecorder{fail: true}
		c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}}
		c.Channels = []notify.Channel{good.newChannel("desktop"), bad.newChannel("mail"), {Name: "panics", Send: func(context.Context, notify.Message) error { panic("x") }}}
		r := startProcess(t, store, &roleModel{}, c)
		w.addThing("room 1")
		if got := r.mustTick(false); got.Sent != 1 || got.Unsent != 2 {
			t.Errorf("report %+v", got)
		}
		for range 8 * 24 * 4 {
			time.Sleep(15 * time.Minute)
			r.mustTick(false)
		}
		if len(good.got) != 1 || len(bad.got) < 10 || len(bad.got) > 30 || len(slices.Compact(bad.messageIDs())) != 1 {
			t.Errorf("told %d and %d times: %q", len(good.got), len(bad.got), bad.messageIDs())
		}
		if d := bad.at[len(bad.at)-1].Sub(bad.at[0]); d > deliveryTime {
			t.Errorf("it is tried for %s", d)
		}
		bad.fail = false
		n := len(bad.got)
		r.mustTick(false)
		if len(bad.got) != n {
			t.Error("it is told after more than a week")
		}
	})
}

// TestRecovers has a channel that fails twice.
func TestRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p := &sensorSource{}, &channelRecorder{fail: true}
		c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}, Channels: []notify.Channel{p.newChannel("mail")}}
		store := memory.New()
		r := startProcess(t, store, &roleModel{}, c)
		w.addThing("room 1")
		r.mustTick(false)
		time.Sleep(2 * time.Minute)
		r = startProcess(t, store, &roleModel{}, c) // another process
		r.mustTick(false)
		p.fail = false
		time.Sleep(5 * time.Minute)
		if got := r.mustTick(false); got.Sent != 1 {
			t.Errorf("report %+v", got)
		}
		r.mustTick(false)
		if len(p.got) != 3 {
			t.Errorf("tried %d times", len(p.got))
		}
	})
}

// TestQuiet delays messages that are not urgent until the quiet hours are over.
func TestQuiet(t *testing.T) {
	for name, test := range map[string]struct {
		importance int
		untrusted  bool
		held       bool
	}{"important": {8, false, true}, "urgent": {9, false, false}, "strangers": {10, true, true}} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local)
			w, p := &sensorSource{}, &channelRecorder{}
			c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}, Channels: []notify.Channel{p.newChannel("mail")}}
			c.Quiet = Hours{now.Sub(midnight), now.Sub(midnight) + 2*time.Hour}
			r := startProcess(t, memory.New(), &roleModel{}, c)
			w.addThing("room 1")
			if got := r.mustTick(false); got.Decided != 1 {
				t.Fatalf("report %+v", got)
			}
			r.fold.deliveries[0].Importance, r.fold.deliveries[0].Untrusted = test.importance, test.untrusted
			r.mustTick(false)
			time.Sleep(2 * time.Hour)
			r.mustTick(false)
			if len(p.got) != 1 {
				t.Errorf("%s: told %q", name, p.messageIDs())
			}
			if held := p.at[0].Sub(now) >= 2*time.Hour; held != test.held {
				t.Errorf("%s: told after %s", name, p.at[0].Sub(now))
			}
		})
	}
}
