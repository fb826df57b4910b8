package mindrunner

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"ponder/sensor"
	"ponder/sensor/notify"
	"ponder/store/memory"
)

// A runner that starts from a checkpoint at any event continues like one that read the
// whole thread.
func TestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, p := memory.New(), &sensorSource{}, &channelRecorder{}
		c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}, Channels: []notify.Channel{p.newChannel("desktop")}}
		r := startProcess(t, store, &roleModel{}, c)
		for i := range 6 {
			w.addThing(fmt.Sprint("room ", i))
			p.fail = i%2 == 0
			r.mustTick(false)
			time.Sleep(20 * time.Minute)
		}
		all := mindEvents(t, store)
		fresh := func() *Runner {
			m, err := New(Config{Store: store, Placement: r.Placement, Now: c.Now})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		whole := fresh()
		for _, ev := range all {
			whole.view = whole.view.Apply(ev)
			whole.fold.applyEvent(ev)
		}
		want, err := encodeCheckpoint(whole.view, &whole.fold)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range all {
			m := fresh()
			for i, ev := range all {
				if i == cut {
					js, err := encodeCheckpoint(m.view, &m.fold)
					if err != nil {
						t.Fatal(err)
					}
					if m.view, m.fold, err = decodeCheckpoint(js, m.fold.head, nil); err != nil {
						t.Fatal(err)
					}
				}
				m.view = m.view.Apply(ev)
				m.fold.applyEvent(ev)
			}
			got, err := encodeCheckpoint(m.view, &m.fold)
			if err != nil || string(got) != string(want) || m.fold.head != whole.fold.head {
				t.Fatalf("kept before event %d (%v):\n%s\nwant\n%s", cut, err, got, want)
			}
		}
		if len(all) < checkpointEvery {
			t.Fatalf("only %d events", len(all))
		}
		if at, js, err := store.LoadCheckpoint(t.Context(), Thread("local"), checkpointFold, checkpointVersion); at == 0 || len(js) == 0 || err != nil {
			t.Errorf("nothing is kept: %v", err)
		}
		m := fresh()
		if m.loadCheckpoint(t.Context()); m.fold.head == 0 || m.saved != m.fold.head {
			t.Errorf("it begins at %d", m.fold.head)
		}
		if err := m.readThread(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := encodeCheckpoint(m.view, &m.fold); err != nil || string(got) != string(want) {
			t.Errorf("read from the checkpoint (%v):\n%s\nwant\n%s", err, got, want)
		}
	})
}
