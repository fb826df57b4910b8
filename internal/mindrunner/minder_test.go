package mindrunner

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/sensor/notify"
	"ponder/store/memory"
)

func TestThread(t *testing.T) {
	form := regexp.MustCompile(`^thr_[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
	for _, owner := range []string{"", "local", "anna", "béa"} {
		if id := Thread(owner); !form.MatchString(string(id)) || id != Thread(owner) {
			t.Errorf("thread of %q is %s", owner, id)
		}
	}
	if Thread("a") == Thread("b") {
		t.Error("two owners have one thread")
	}
}

func TestCron(t *testing.T) {
	for every, want := range map[time.Duration]string{
		5 * time.Minute: "* * * * *", 2 * time.Minute: "* * * * *", time.Minute: "*/30 * * * * *",
		10 * time.Second: "*/5 * * * * *", time.Second: "* * * * * *",
	} {
		if got := cronOf(every); got != want {
			t.Errorf("%s: %q, want %q", every, got, want)
		}
	}
}

func TestHours(t *testing.T) {
	night := Hours{22 * time.Hour, 7 * time.Hour}
	for clock, want := range map[string]bool{"21:59": false, "22:00": true, "23:59": true, "00:00": true, "06:59": true, "07:00": false} {
		at, _ := time.ParseInLocation("15:04", clock, time.Local)
		if got := night.Contain(at); got != want {
			t.Errorf("%s: %t", clock, got)
		}
		if (Hours{}).Contain(at) || !(Hours{0, 24 * time.Hour}).Contain(at) {
			t.Errorf("%s: none or all of the day", clock)
		}
	}
}

func TestNew(t *testing.T) {
	store, pl := memory.New(), startProcess(t, memory.New(), nil, Config{}).place
	s := (&sensorSource{}).newSensor("files")
	ch := (&channelRecorder{}).newChannel("mail")
	for name, c := range map[string]Config{
		"no store":      {Placement: pl},
		"no place":      {Store: store},
		"same sensors":  {Store: store, Placement: pl, Sensors: []sensor.Sensor{s, s}},
		"reserved":      {Store: store, Placement: pl, Sensors: []sensor.Sensor{(&sensorSource{}).newSensor("subconscious:x")}},
		"looked up":     {Store: store, Placement: pl, Sensors: []sensor.Sensor{(&sensorSource{}).newSensor("lookup:librarian")}},
		"no look":       {Store: store, Placement: pl, Sensors: []sensor.Sensor{{Name: "x"}}},
		"same channels": {Store: store, Placement: pl, Channels: []notify.Channel{ch, ch}},
		"colon":         {Store: store, Placement: pl, Channels: []notify.Channel{(&channelRecorder{}).newChannel("a:b")}},
		"too often":     {Store: store, Placement: pl, Every: time.Millisecond},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestTick follows an observation from a sensor to the user.
func TestTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v, p := memory.New(), &sensorSource{}, &roleModel{takes: 3 * time.Second}, &channelRecorder{}
		r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("system")}, Channels: []notify.Channel{p.newChannel("mail")}})
		w.addThing("room 1")
		got := r.mustTick(false)
		raised, decided := escalationOutcomes(mindEvents(t, store))
		if !got.Ran || got.Observations != 1 || got.Decided != 1 || got.Sent != 1 || len(raised) != 1 || decided[raised[0]] != messageOutcome {
			t.Fatalf("report %+v, raised %q, decided %v\n%s", got, raised, decided, describeEvents(mindEvents(t, store)))
		}
		if ids := p.messageIDs(); !slices.Equal(ids, raised) || p.got[0].Text != "You should look at this." {
			t.Errorf("sent %+v", p.got)
		}
		view, err := r.View(t.Context())
		if err != nil || view.Open || len(view.Undecided) > 0 || view.Delivered[raised[0]]["mail"].IsZero() {
			t.Errorf("view %+v, %v", view, err)
		}
		before := len(mindEvents(t, store))
		if again := r.mustTick(false); again.Ran || again.Observations+again.Decided+again.Sent != 0 || len(mindEvents(t, store)) != before {
			t.Errorf("once more: %+v\n%s", again, describeEvents(mindEvents(t, store)[before:]))
		}
		if forced := r.mustTick(true); !forced.Ran || forced.Why != "requested by the user" {
			t.Errorf("forced: %+v", forced)
		}
	})
}

// TestStatic lets a day pass without changes.
func TestStatic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v := memory.New(), &sensorSource{}, &roleModel{quiet: true}
		w.addThing("room 1")
		r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("system"), (&sensorSource{}).newSensor("files")}})
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		time.AfterFunc(time.Hour, func() {
			before, calls := len(mindEvents(t, store)), v.countCalls()
			context.AfterFunc(ctx, func() {
				if n := len(mindEvents(t, store)); n != before || v.countCalls() != calls {
					t.Errorf("%d events and %d calls, and then %d and %d\n%s", before, calls, n, v.countCalls(), describeEvents(mindEvents(t, store)[before:]))
				}
			})
		})
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w.looks < 40 {
			t.Errorf("%d looks in a day", w.looks)
		}
	})
}

// TestTicksOfOneDay makes the ticks of a day at the default interval.
func TestTicksOfOneDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w := memory.New(), &sensorSource{}
		w.addThing("room 1")
		r := startProcess(t, store, &roleModel{quiet: true}, Config{Sensors: []sensor.Sensor{w.newSensor("system")}})
		r.mustTick(false)
		before := len(mindEvents(t, store))
		for range 287 { // a whole day without news leads to one more look
			time.Sleep(5 * time.Minute)
			r.mustTick(false)
		}
		if n := len(mindEvents(t, store)); n != before {
			t.Errorf("%d events more\n%s", n-before, describeEvents(mindEvents(t, store)[before:]))
		}
	})
}

// TestPace checks the intervals of ticks, which are six times longer at night.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &sensorSource{}
		now := time.Now()
		midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local)
		at := now.Sub(midnight)
		night := Hours{at + time.Hour, at + 3*time.Hour}
		r := startProcess(t, memory.New(), nil, Config{Sensors: []sensor.Sensor{w.newSensor("system")}, Night: night})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		var byHour [3]int
		for i := range byHour {
			time.AfterFunc(time.Duration(i+1)*time.Hour-time.Second, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				byHour[i], w.looks = w.looks, 0
			})
		}
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if byHour[0] < 6 || byHour[1] > 3 || byHour[2] != 2 {
			t.Errorf("looks by the hour: %v, want 6 or more in the first and 2 in the last", byHour)
		}
	})
}

// TestCeiling runs four roles at once, whose cost together may not exceed the daily
// ceiling.
func TestCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 25_000
		store, w, v := memory.New(), &sensorSource{}, &roleModel{takes: time.Second}
		r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("system")}, TokensPerDay: most})
		unaided := 0
		for i := range 60 {
			w.addThing(string(rune('a'+i%26)) + " cellar")
			if r.mustTick(true).WithoutModel {
				unaided++
			}
			time.Sleep(5 * time.Minute)
		}
		days, said := map[string]int{}, map[string]int{}
		for _, ev := range mindEvents(t, store) {
			switch b := ev.Body.(type) {
			case ponder.CallFinished:
				days[localDay(ev.Time)] += b.Spent.Tokens
			case ponder.Observation:
				if b.Sensor == ceilingName {
					said[b.Subject]++
				}
			}
		}
		if len(days) == 0 || unaided == 0 {
			t.Fatalf("spent %v, %d ticks without a model", days, unaided)
		}
		for d, n := range days {
			if n > most {
				t.Errorf("%s: %d tokens, of %d", d, n, most)
			}
			if said[d] > 1 {
				t.Errorf("%s: said %d times", d, said[d])
			}
		}
	})
}

// TestNoModel asks no model on a day with a budget of zero, and delivers a message.
func TestNoModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v, p := memory.New(), &sensorSource{}, &roleModel{}, &channelRecorder{}
		r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("system")}, Channels: []notify.Channel{p.newChannel("mail")}, TokensPerDay: -1})
		w.addThing("room 1")
		if got := r.mustTick(false); !got.WithoutModel || got.Sent != 1 || v.countCalls() != 0 {
			t.Errorf("report %+v, %d calls\n%s", got, v.countCalls(), describeEvents(mindEvents(t, store)))
		}
	})
}

// TestPaused has a tick that the user paused. The runner does not wait for it, and starts
// no other tick until it resumes.
func TestPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w := memory.New(), &sensorSource{}
		r := startProcess(t, store, &roleModel{}, Config{Sensors: []sensor.Sensor{w.newSensor("system")}})
		r.mustTick(false)
		const run = "run_paused"
		put := func(body ponder.Body) {
			if _, err := store.Append(t.Context(), Thread("local"), 0, ponder.Event{Run: run, Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		put(ponder.RunStarted{Mode: "subconscious"})
		put(ponder.RunPaused{Reason: "not now"})
		w.addThing("room 1")
		if got := r.mustTick(true); got.Ran || got.Observations != 1 || got.Why != "the tick run_paused is paused" {
			t.Errorf("paused: %+v", got)
		}
		put(ponder.RunResumed{})
		if got := r.mustTick(false); got.Decided != 1 {
			t.Errorf("resumed: %+v\n%s", got, describeEvents(mindEvents(t, store)))
		}
	})
}

// TestDecisionFails cancels decisions. The runner repeats them, without a model from the
// third attempt on, until the user gets the message.
func TestDecisionFails(t *testing.T) {
	if a, b := Decision("esc_1", 1), Decision("esc_1", 2); a == b || a != Decision("esc_1", 1) || len(a) != 30 {
		t.Errorf("runs are %s and %s", a, b)
	}
	synctest.Test(t, func(t *testing.T) {
		store, w, p := memory.New(), &sensorSource{}, &channelRecorder{}
		c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}, Channels: []notify.Channel{p.newChannel("mail")}}
		r := startProcess(t, store, &roleModel{}, c)
		cancellingPlace := &cancellingPlace{Placement: r.place, store: store, maxCancelled: 2*maxAsked - 1}
		r.Placement = cancellingPlace
		w.addThing("room 1")
		for range 8 {
			if _, err := r.Tick(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
		}
		raised, decided := escalationOutcomes(mindEvents(t, store))
		if len(raised) != 1 || len(decided) != 1 || cancellingPlace.n != cancellingPlace.maxCancelled {
			t.Errorf("raised %q, decided %v, after %d attempts", raised, decided, cancellingPlace.n)
		}
		if len(p.got) != 1 || !strings.Contains(p.got[0].Text, "far too warm") || !strings.Contains(p.got[0].Text, "No model decided") {
			t.Errorf("told %+v", p.got)
		}
	})
}

// cancellingPlace is a Place that cancels decisions before they start.
type cancellingPlace struct {
	Placement
	store        ponder.Store
	n            int
	maxCancelled int // decisions to cancel
}

func (s *cancellingPlace) Start(ctx context.Context, thread ponder.ThreadID) error {
	open := map[ponder.RunID]bool{}
	for ev, err := range s.store.Events(ctx, thread, 0) {
		if err != nil {
			return err
		}
		switch b := ev.Body.(type) {
		case ponder.RunStarted:
			open[ev.Run] = b.Mode == "escalation"
		case ponder.RunFinished:
			delete(open, ev.Run)
		}
	}
	for run, decides := range open {
		if decides && s.n < s.maxCancelled {
			s.n++
			if _, err := s.store.Append(ctx, thread, 0, ponder.Event{Run: run, Body: ponder.Steer{Do: ponder.Cancel}}); err != nil {
				return err
			}
		}
	}
	return s.Placement.Start(ctx, thread)
}

// TestTickAll checks that a forced tick runs all roles, also if a tick is due anyway.
func TestTickAll(t *testing.T) {
	for _, news := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store, w := memory.New(), &sensorSource{}
			r := startProcess(t, store, &roleModel{}, Config{Sensors: []sensor.Sensor{w.newSensor("system")}})
			if news {
				w.addThing("room 1")
			}
			r.mustTick(true)
			for _, ev := range mindEvents(t, store) {
				b, ok := ev.Body.(ponder.RunStarted)
				if !ok || b.Mode != subconscious.Name {
					continue
				}
				var in subconscious.TickInput
				if err := json.Unmarshal(b.Options, &in); err != nil || !in.All {
					t.Errorf("news %v: the tick has options %s", news, b.Options)
				}
			}
			for _, tick := range r.view.Ticks {
				for _, role := range tick.Roles {
					if role.Skipped != "" {
						t.Errorf("news %v: %s was skipped: %s", news, role.Role, role.Skipped)
					}
				}
			}
			if len(r.view.Ticks) != 1 {
				t.Errorf("news %v: %d ticks", news, len(r.view.Ticks))
			}
		})
	}
}
