package mindrunner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/store/memory"
)

// A lookupSource is a source of look-ups.
type lookupSource struct {
	mu    sync.Mutex
	asked []string // owner, role and query
	at    []time.Time
	find  func(ctx context.Context, text string) ([]ponder.Observation, error)
}

func (s *lookupSource) lookUp(ctx context.Context, owner, role, text string) ([]ponder.Observation, error) {
	s.mu.Lock()
	s.asked, s.at = append(s.asked, owner+" "+role+": "+text), append(s.at, time.Now())
	s.mu.Unlock()
	return s.find(ctx, text)
}

// lookupModel is a model that finds nothing, and always returns a new want and hints for all
// roles.
func lookupModel() *roleModel {
	v := &roleModel{takes: time.Second}
	v.report = func(req *llm.Request) string {
		v.mu.Lock()
		defer v.mu.Unlock()
		return fmt.Sprintf(`{"findings":[],"escalate":false,"look_up":"what number %d is","hints":{"librarian":"leases %d","oracle":"leases %d","dreamer":"leases %d"}}`, v.calls, v.calls, v.calls, v.calls)
	}
	return v
}

// librarianAlone returns options with the librarian as the only role.
func librarianAlone() subconscious.Options {
	return subconscious.Options{Roles: subconscious.DefaultRoles()[1:2]}
}

// lookUpResults returns the observations of look-ups.
func lookUpResults(evs []ponder.Event) (list []ponder.Observation) {
	for _, ev := range evs {
		if o, ok := ev.Body.(ponder.Observation); ok && strings.HasPrefix(o.Sensor, "lookup:") {
			list = append(list, o)
		}
	}
	return list
}

// TestLookUp has the librarian want something, and shows it the results at the next tick.
func TestLookUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v := memory.New(), &sensorSource{}, &roleModel{}
		var shown []string
		v.report = func(req *llm.Request) string {
			text := req.Messages[0].Text()
			shown = append(shown, text)
			if strings.Contains(text, "lookup:") {
				return `{"findings":[],"look_up":"more of that"}`
			}
			return `{"findings":[],"look_up":"lease of the \u001b[31mflat"}`
		}
		s := &lookupSource{find: func(context.Context, string) (list []ponder.Observation, err error) {
			for i := range 9 {
				list = append(list, ponder.Observation{Content: fmt.Sprintf("Lease %d\x1b[2J%s", i, strings.Repeat(" of the flat", 100)), Source: "notes.md", Subject: "x", State: "y", Level: 10, Due: time.Now()})
			}
			return list, nil
		}}
		r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("own")}, LookUp: s.lookUp, Options: librarianAlone()})
		w.addThing("room 1")
		r.mustTick(false)
		if n := len(shown); n != 1 || len(s.asked) != 0 {
			t.Fatalf("%d calls, asked %q", n, s.asked)
		}
		time.Sleep(5 * time.Minute)
		news := r.view.News
		if got := r.mustTick(false); !got.Ran || len(shown) != 2 || len(s.asked) != 1 || s.asked[0] != "local librarian: lease of the flat" {
			t.Fatalf("%+v, asked %q", got, s.asked)
		}
		got := lookUpResults(mindEvents(t, store))
		for _, o := range got {
			if o.Sensor != "lookup:librarian" || o.Subject != "lease of the flat" || o.State != "found" || o.Source != "notes.md" || o.Level != 0 || !o.Due.IsZero() || len(o.Content) > sensor.MaxText || strings.Contains(o.Content, "\x1b") {
				t.Errorf("%+v", o)
			}
		}
		if len(got) != maxLookUp || strings.Count(shown[1], "<observation ") != maxLookUp || !r.view.News.Equal(news) {
			t.Errorf("%d observations, news %s, and it was shown\n%s", len(got), r.view.News, shown[1])
		}
		for range 40 {
			time.Sleep(5 * time.Minute)
			r.mustTick(false)
		}
		if len(shown) != 2 || len(s.asked) != 1 {
			t.Errorf("%d calls, asked %q", len(shown), s.asked)
		}
	})
}

// TestLookUpFails checks that a want gets one answer if nothing is found or the look-up
// fails, and that such an answer triggers no role.
func TestLookUpFails(t *testing.T) {
	for name, tt := range map[string]struct {
		find func(context.Context, string) ([]ponder.Observation, error)
		want string
	}{
		"nothing": {func(context.Context, string) ([]ponder.Observation, error) { return nil, nil }, "Nothing was found of: what number 1 is"},
		"empty": {func(context.Context, string) ([]ponder.Observation, error) {
			return []ponder.Observation{{Source: "x"}}, nil
		}, "Nothing was found of: what number 1 is"},
		"error": {func(context.Context, string) ([]ponder.Observation, error) { return nil, errors.New("no\nnetwork") }, "It could not be looked up: no network"},
		"panic": {func(context.Context, string) ([]ponder.Observation, error) { panic("oh") }, "It could not be looked up: it panicked: oh"},
		"late":  {func(ctx context.Context, _ string) ([]ponder.Observation, error) { <-ctx.Done(); return nil, ctx.Err() }, "It could not be looked up: context deadline exceeded"},
		"deaf":  {func(context.Context, string) ([]ponder.Observation, error) { time.Sleep(time.Hour); return nil, nil }, "It could not be looked up: it took longer than 20s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, w, v, s := memory.New(), &sensorSource{}, lookupModel(), &lookupSource{find: tt.find}
				r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("own")}, LookUp: s.lookUp, Options: librarianAlone()})
				w.addThing("room 1")
				for range 5 {
					r.mustTick(false)
					time.Sleep(5 * time.Minute)
				}
				got := lookUpResults(mindEvents(t, store))
				synctest.Wait()
				if len(got) != 1 || got[0].Content != tt.want || got[0].State != "nothing" || len(s.asked) != 1 || v.countCalls() != 1 {
					t.Errorf("asked %q, %d calls, %+v", s.asked, v.countCalls(), got)
				}
				time.Sleep(2 * time.Hour) // until all look-ups have returned
			})
		})
	}
}

// TestLookUpEnds lets a day pass after one change, with models that always return wants and
// hints.
func TestLookUpEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v := memory.New(), &sensorSource{}, lookupModel()
		s := &lookupSource{find: func(_ context.Context, text string) ([]ponder.Observation, error) {
			return []ponder.Observation{{Content: "Of " + text + " there is this."}}, nil
		}}
		r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("own"), w.newSensor("calendar")}, LookUp: s.lookUp})
		w.addThing("room 1")
		ticks, last := 0, 0
		for n := range 288 {
			if r.mustTick(false).Ran {
				ticks, last = ticks+1, n
			}
			time.Sleep(5 * time.Minute)
		}
		if ticks > 6 || last > 8 || v.countCalls() > 16 || len(s.asked) > 3 || len(s.asked) == 0 {
			t.Errorf("%d ticks, the last the %dth, %d calls, %d looked up\n%s", ticks, last, v.countCalls(), len(s.asked), describeEvents(mindEvents(t, store)))
		}
		t.Logf("%d ticks, %d calls, looked up %q", ticks, v.countCalls(), s.asked)
	})
}

// TestLookUpSeldom lets a day pass with news at each tick.
func TestLookUpSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v := memory.New(), &sensorSource{}, lookupModel()
		s := &lookupSource{find: func(context.Context, string) ([]ponder.Observation, error) {
			return []ponder.Observation{{Content: "There is this."}}, nil
		}}
		r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("own"), w.newSensor("calendar")}, LookUp: s.lookUp})
		for n := range 288 {
			w.addThing(fmt.Sprint("room ", n))
			r.mustTick(false)
			time.Sleep(5 * time.Minute)
		}
		before := map[string]time.Time{}
		for i, asked := range s.asked {
			role, _, _ := strings.Cut(asked, ":")
			if at, ok := before[role]; ok && s.at[i].Sub(at) < time.Hour {
				t.Errorf("%s: again after %s", asked, s.at[i].Sub(at))
			}
			before[role] = s.at[i]
		}
		if len(before) != 3 || len(s.asked) > 3*24 || len(s.asked) < 3*20 {
			t.Errorf("%d looked up, for %v", len(s.asked), before)
		}
	})
}

// TestLookUpTwice has two processes answer the same want.
func TestLookUpTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v := memory.New(), &sensorSource{}, lookupModel()
		s := &lookupSource{find: func(context.Context, string) ([]ponder.Observation, error) {
			return []ponder.Observation{{Content: "This."}, {Content: "That."}}, nil
		}}
		c := Config{Sensors: []sensor.Sensor{w.newSensor("own")}, LookUp: s.lookUp, Options: librarianAlone()}
		one, two := startProcess(t, store, v, c), startProcess(t, store, v, c)
		w.addThing("room 1")
		one.mustTick(false)
		if _, err := two.Sense(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*rig{one, two} {
			if err := r.answerWants(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(lookUpResults(mindEvents(t, store))); n != 2 || len(s.asked) != 2 {
			t.Errorf("%d observations, asked %q", n, s.asked)
		}
		one.mustTick(false)
		two.mustTick(false)
		if len(s.asked) != 2 {
			t.Errorf("and then %q", s.asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if len(one.openWants()) != 0 || one.answerWants(ctx) != nil {
			t.Error("there is something to look up still")
		}
	})
}

// A runner without LookUp answers no want, and no runner answers a want after a day.
func TestLookUpOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v := memory.New(), &sensorSource{}, lookupModel()
		r := startProcess(t, store, v, Config{Sensors: []sensor.Sensor{w.newSensor("own")}, Options: librarianAlone()})
		w.addThing("room 1")
		r.mustTick(false)
		r.mustTick(false)
		s := &lookupSource{}
		r.LookUp = s.lookUp
		if len(r.openWants()) != 1 || len(lookUpResults(mindEvents(t, store))) != 0 {
			t.Errorf("%d wants", len(r.openWants()))
		}
		time.Sleep(25 * time.Hour)
		r.mustTick(false)
		if len(s.asked) != 0 {
			t.Errorf("asked %q", s.asked)
		}
	})
}

// TestLookUpKilled kills the runner before and after each call of its store during a
// look-up. Another process answers the want once.
func TestLookUpKilled(t *testing.T) {
	for _, after := range []bool{false, true} {
		ended, n := false, 0
		for ; n < 100 && !ended; n++ {
			synctest.Test(t, func(t *testing.T) { ended = lookUpKilledAt(t, n+1, after) })
		}
		if t.Logf("killed at %d calls", n); !ended || n < 5 {
			t.Error("the process is never through, or always")
		}
	}
}

// lookUpKilledAt kills a process at its nth call, and reports whether the process ended
// before.
func lookUpKilledAt(t *testing.T, n int, after bool) bool {
	base, w, v := memory.New(), &sensorSource{}, lookupModel()
	s := &lookupSource{find: func(context.Context, string) ([]ponder.Observation, error) {
		return []ponder.Observation{{Content: "This."}, {Content: "That."}}, nil
	}}
	c := Config{Sensors: []sensor.Sensor{w.newSensor("own")}, LookUp: s.lookUp, Options: librarianAlone()}
	w.addThing("room 1")
	wants := startProcess(t, base, v, c)
	wants.mustTick(false)
	wants.stopProcess()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := c
	store := &killedStore{Store: base, left: n, after: after}
	first.Store = store
	r := startProcess(t, base, v, first)
	store.kill = func() {
		cancel()
		go r.place.Close(context.Background())
	}
	_, err := r.Tick(ctx, false)
	synctest.Wait()
	r.stopProcess()

	again := startProcess(t, base, v, c)
	for range 5 {
		again.mustTick(false)
		time.Sleep(time.Minute)
	}
	evs := mindEvents(t, base)
	merged := 0
	for _, ev := range evs {
		if _, ok := ev.Body.(ponder.Subconscious); ok {
			merged++
		}
	}
	if got := lookUpResults(evs); len(got) != 2 || merged != 2 || len(s.asked) > 2 {
		t.Errorf("killed at %d: %d observations, %d ticks, asked %q\n%s", n, len(got), merged, s.asked, describeEvents(evs))
	}
	return err == nil
}
