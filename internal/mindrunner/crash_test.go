package mindrunner

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/mode/subconscious"
	"ponder/sensor"
	"ponder/store/memory"
)

var errKilled = errors.New("the process was killed")

// A killedStore is a store whose process is killed before or after one of its calls. All later
// calls fail.
type killedStore struct {
	ponder.Store
	kill  func()
	after bool

	mu   sync.Mutex
	left int // calls before the kill
}

// storeFor returns the store of the mind: this one, or the one below that never fails.
func (s *killedStore) storeFor(whole bool) ponder.Store {
	if whole {
		return s
	}
	return s.Store
}

// countCall counts a call. It reports whether the store makes the call, and whether it is the
// last.
func (s *killedStore) countCall() (make, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left--
	switch {
	case s.left > 0:
		return true, false
	case s.left < 0:
		return false, false
	}
	s.kill()
	return s.after, true
}

func (s *killedStore) Append(ctx context.Context, thread ponder.ThreadID, fence ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	do, last := s.countCall()
	if !do {
		return nil, errKilled
	}
	added, err := s.Store.Append(context.WithoutCancel(ctx), thread, fence, evs...)
	if last {
		return nil, errKilled
	}
	return added, err
}

func (s *killedStore) Create(ctx context.Context, thread ponder.Thread, evs ...ponder.Event) error {
	do, last := s.countCall()
	if !do {
		return errKilled
	}
	err := s.Store.Create(context.WithoutCancel(ctx), thread, evs...)
	if last {
		return errKilled
	}
	return err
}

func (s *killedStore) Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	if do, last := s.countCall(); !do || last {
		return func(yield func(ponder.Event, error) bool) { yield(ponder.Event{}, errKilled) }
	}
	return s.Store.Events(ctx, thread, after)
}

// TestKilled kills the runner before and after each call of its store, and starts another
// process. Nothing is lost. Only a message that was sent at the kill is sent twice, with
// the same id.
func TestKilled(t *testing.T) {
	for _, whole := range []bool{false, true} { // whether the mind dies too
		ended, n := false, 0
		for ; n < 200 && !ended; n++ {
			for _, after := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) { ended = killAt(t, n+1, after, whole) })
			}
		}
		if t.Logf("killed at %d calls", n); !ended {
			t.Error("the process is never through")
		}
	}
}

// killAt kills a process at its nth call, and reports whether the process ended before.
func killAt(t *testing.T, n int, after, whole bool) bool {
	base, w, v, p := memory.New(), &sensorSource{}, &roleModel{takes: time.Second}, &channelRecorder{}
	w.addThing("room 1")
	c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}}
	c.Channels = append(c.Channels, p.newChannel("mail"), p.newChannel("desktop"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := c
	store := &killedStore{Store: base, left: n, after: after}
	first.Store = store
	r := startProcess(t, store.storeFor(whole), v, first)
	store.kill = func() {
		cancel()
		go r.place.Close(context.Background())
	}
	_, err := r.Tick(ctx, false)
	synctest.Wait()
	r.stopProcess()

	again := startProcess(t, base, v, c)
	for range 10 { // an interrupted attempt is repeated after a while
		again.mustTick(false)
		time.Sleep(time.Minute)
	}
	checkTold(t, n, base, p)
	return err == nil
}

// checkTold checks that the observation was escalated once, decided, and sent on both
// channels.
func checkTold(t *testing.T, n int, store ponder.Store, p *channelRecorder) {
	t.Helper()
	evs := mindEvents(t, store)
	raised, decided := escalationOutcomes(evs)
	if len(raised) != 1 || len(decided) != 1 {
		t.Fatalf("killed at %d: raised %q, decided %v\n%s", n, raised, decided, describeEvents(evs))
	}
	var seen, ticks, noted int
	for _, ev := range evs {
		switch b := ev.Body.(type) {
		case ponder.Observation:
			if b.Subject == "room 1" {
				seen++
			}
			if b.Sensor == subconscious.Delivery {
				noted++
			}
		case ponder.Subconscious:
			ticks++
		}
	}
	if seen != 1 || noted != 2 || ticks == 0 {
		t.Errorf("killed at %d: seen %d times, noted %d, %d ticks\n%s", n, seen, noted, ticks, describeEvents(evs))
	}
	ids := p.messageIDs()
	if len(ids) < 2 || len(ids) > 4 || len(slices.Compact(ids)) != 1 || ids[0] != raised[0] {
		t.Errorf("killed at %d: told %q, want %s on both channels", n, ids, raised[0])
	}
}

// TestTwoProcesses has two processes tick at the same times on one store.
func TestTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v, p := memory.New(), &sensorSource{}, &roleModel{takes: 5 * time.Second}, &channelRecorder{}
		c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}}
		c.Channels = append(c.Channels, p.newChannel("mail"))
		a, b := startProcess(t, store, v, c), startProcess(t, store, v, c)
		for i := range 5 {
			w.addThing([]string{"boiler", "garage door", "north window", "aquarium", "printer"}[i])
			var wg sync.WaitGroup
			for _, r := range []*rig{a, b} {
				wg.Go(func() {
					if _, err := r.Tick(t.Context(), false); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			time.Sleep(20 * time.Minute)
		}
		evs, open := mindEvents(t, store), 0
		for _, ev := range evs {
			switch b := ev.Body.(type) {
			case ponder.RunStarted:
				if b.Mode == subconscious.Name {
					open++
				}
			case ponder.RunFinished:
				if ev.Run.Parent() == "" && open > 0 {
					open--
				}
			}
			if open > 1 {
				t.Fatalf("two ticks at once at %d\n%s", ev.Seq, describeEvents(evs))
			}
		}
		ids := slices.Sorted(slices.Values(p.messageIDs()))
		if len(ids) == 0 || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Errorf("told %q", ids)
		}
	})
}

// TestRunTwice has two processes run one subconscious.
func TestRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, w, v, p := memory.New(), &sensorSource{}, &roleModel{takes: 5 * time.Second}, &channelRecorder{}
		c := Config{Sensors: []sensor.Sensor{w.newSensor("system")}}
		c.Channels = append(c.Channels, p.newChannel("mail"))
		a, b := startProcess(t, store, v, c), startProcess(t, store, v, c)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		time.AfterFunc(90*time.Minute, func() { w.addThing("boiler") })
		var wg sync.WaitGroup
		for _, r := range []*rig{a, b} {
			wg.Go(func() {
				if err := r.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if raised, _ := escalationOutcomes(mindEvents(t, store)); len(raised) != 1 || !slices.Equal(p.messageIDs(), raised) {
			t.Errorf("raised %q, told %q", raised, p.messageIDs())
		}
	})
}
